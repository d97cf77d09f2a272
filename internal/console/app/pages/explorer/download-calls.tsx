import { useRef, useState } from 'preact/hooks'
import { linkTo } from '../../../figures/address.js'
import { csvOf } from '../../../figures/csv.js'
import { type Filter, filterParams } from '../../../figures/filters.js'
import type { Period } from '../../../figures/period.js'
import { callsShown, countShown } from '../../../figures/shown.js'
import { ask } from '../../api/ask.js'
import { readUsage } from '../../api/usage.js'
import type { ListPage } from '../../api/use-list.js'
import type { RecordRow } from '../../card/record.js'
import { messageOf } from '../../parts/change.js'
import { saveCsv } from '../../parts/download-csv.js'
import { hasScope } from '../../session/session.js'
import type { CallColumn } from './columns.js'

/** What one file holds at most; an export has any number. */
const ROWS_MAX = 10_000
const ROWS_A_PAGE = '200'

interface DownloadProps {
  /** Of the list: its filters and its order. */
  readonly query: URLSearchParams
  readonly columns: readonly CallColumn[]
  readonly period: Period
  /** Of the page, without the times of the period. */
  readonly filters: readonly Filter[]
  readonly params: URLSearchParams
}

/** Saves the calls of the list, unrounded, in its order and with the columns that are shown, as far as a file goes. */
export function DownloadCalls({ query, columns, period, filters, params }: DownloadProps) {
  const [said, setSaid] = useState('')
  const [hasMore, setMore] = useState(false)
  const reading = useRef<AbortController | undefined>(undefined)
  const [isReading, setReading] = useState(false)
  const save = async (): Promise<void> => {
    const abort = new AbortController()
    reading.current = abort
    setReading(true)
    setMore(false)
    try {
      const { rows, isCut } = await readCalls(query, abort.signal, (count) => setSaid(`${countShown(count)} read …`))
      const files = columns.flatMap(({ csv }) => Object.entries(csv))
      saveCsv(
        'calls',
        csvOf(
          ['id', 'event_time', ...files.map(([head]) => head)],
          rows.map((row) => [row.id, row.event_time, ...files.map(([, of]) => of(row))]),
        ),
      )
      const whole = isCut ? await countCalls(period, filters, abort.signal) : rows.length
      setMore(isCut)
      setSaid(
        isCut
          ? `The first ${countShown(rows.length)} of ${whole === undefined ? 'more' : callsShown(whole)} are in the file.`
          : `All ${callsShown(rows.length)} are in the file.`,
      )
    } catch (cause) {
      setSaid(abort.signal.aborted ? 'Stopped: nothing was saved.' : `Nothing was saved: ${messageOf(cause)}`)
    } finally {
      setReading(false)
    }
  }
  return (
    <span class="download">
      {isReading ? (
        <button type="button" class="quiet" onClick={() => reading.current?.abort()}>
          Stop
        </button>
      ) : (
        <button type="button" class="quiet" onClick={() => void save()}>
          CSV
        </button>
      )}
      <span role="status">
        {said} {hasMore && hasScope('export:create') && <a href={linkTo('exports', params)}>An export has all</a>}
      </span>
    </span>
  )
}

/** Reads the list page by page, as of its first one. @param onRead called with the number of rows so far */
async function readCalls(query: URLSearchParams, signal: AbortSignal, onRead: (count: number) => void) {
  const rows: RecordRow[] = []
  const asked = new URLSearchParams(query)
  asked.set('limit', ROWS_A_PAGE)
  for (;;) {
    const { data, page } = await ask<ListPage<RecordRow>>(`/v1/attribution?${asked}`, { signal })
    rows.push(...data)
    onRead(rows.length)
    const isCut = page.next_cursor !== undefined
    if (!isCut || rows.length >= ROWS_MAX) return { rows, isCut }
    asked.set('cursor', page.next_cursor ?? '')
  }
}

/** How many calls the filters select; undefined where reports cannot tell, as of filters that too few people match. */
async function countCalls({ fromMs, toMs }: Period, filters: readonly Filter[], signal: AbortSignal) {
  const span = { from: new Date(fromMs).toISOString(), to: new Date(toMs).toISOString() }
  try {
    const { rows, suppressed } = await readUsage({ ...span, ...filterParams(filters) }, signal)
    return suppressed === undefined ? rows.reduce((sum, { calls }) => sum + calls, 0) : undefined
  } catch {
    return undefined
  }
}
