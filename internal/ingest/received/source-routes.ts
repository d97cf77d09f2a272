import type { Caller } from '../../auth/authenticate.js'
import type { Exchange } from '../../http/exchange.js'
import { pageOfAll, readPage } from '../../http/resource/collection.js'
import { answerFromStore } from '../../http/resource/from-store.js'
import type { CursorCodec } from '../../http/resource/pages.js'
import type { Route } from '../../http/route.js'
import { formatId } from '../../ids/ids.js'
import { TOO_MANY_QUERIES } from '../../store/failures.js'
import type { Records } from '../../store/queries/records/open-records.js'
import { type LastRecord, recordedSources } from '../../store/queries/reports/recorded-sources.js'
import { adviceFor } from './advice.js'
import { countedFromMs, type ReceivedCounts } from './received-counts.js'
import { LIST_SOURCES, PATH, type ShownSource } from './source-contract.js'
import { type ReasonCount, type SourceRow, sourcesOf, totalOf } from './sources.js'

export interface SourceRoutesDeps {
  readonly received: Pick<ReceivedCounts, 'read'>
  readonly records: Pick<Records, 'ask'>
  readonly watermark: { latest(): Promise<number> }
  /** Names of a tenant's credentials, by id. */
  readonly credentialNames: (tenantId: string) => ReadonlyMap<string, string>
  readonly cursors: CursorCodec
  readonly clock: () => number
}

/** `GET /api/v1/sources`. */
export const sourceRoutes = (deps: SourceRoutesDeps): readonly Route[] => [
  {
    method: 'get',
    path: PATH,
    operation: LIST_SOURCES,
    access: 'read:attribution',
    rateClass: 'read',
    handle: (exchange, caller) => list(exchange, caller, deps),
  },
]

async function list(exchange: Exchange, caller: Caller, deps: SourceRoutesDeps): Promise<void> {
  const read = readPage(exchange, caller, PATH, deps)
  if (!read.ok) return exchange.replyProblem(read.problem)
  const { tenantId } = caller
  await answerFromStore(exchange, async (signal) => {
    const nowMs = deps.clock()
    const sinceMs = countedFromMs(nowMs)
    const snapshotMs = await deps.watermark.latest()
    const [received, recorded] = await Promise.all([
      deps.received.read(tenantId, nowMs),
      deps.records.ask(tenantId, signal, (store) => recordedSources(store, { tenantId, sinceMs, snapshotMs }, signal)),
    ])
    if (recorded === undefined) return exchange.replyProblem(TOO_MANY_QUERIES)
    const rows = sourcesOf(received, recorded.value)
    const keyOf = ({ principal, intake, sender }: SourceRow): readonly string[] => [principal, intake, sender]
    const names = deps.credentialNames(tenantId)
    const page = pageOfAll(read.request, rows, keyOf, 'ascending', (row) => shown(row, names))
    exchange.replyJson('200 OK', { ...page, since: new Date(sinceMs).toISOString() })
  })
}

const shown = (row: SourceRow, names: ReadonlyMap<string, string>): ShownSource => ({
  credential: row.principal === '' ? null : row.principal,
  credential_name: names.get(row.principal) ?? null,
  intake: row.intake === '' ? 'api' : row.intake,
  sender: row.sender === '' ? null : row.sender,
  versions: listed(row.versions),
  services: listed(row.services),
  last_received_at: instantOf(row.lastReceivedAtMs),
  last_call_at: instantOf(row.lastCallAtMs),
  last_record: row.last === undefined ? null : lastOf(row.last),
  received: row.received,
  calls: row.calls,
  merged: row.merged + row.duplicates,
  passed_over: shownReasons(row.passedOver),
  rejected: shownReasons(row.rejected),
  refused_requests: shownReasons(row.refusedRequests),
  unpriced: row.unpriced,
  without_service: row.withoutService,
  perhaps_twice: row.perhapsTwice,
  lacks: lacksOf(row.lacking),
  field_names: listed(row.fieldNames),
  advice: [...adviceFor(row)],
})

const lastOf = ({ id, receivedAtMs }: LastRecord): ShownSource['last_record'] => ({
  id: formatId('attr', id),
  received_at: new Date(receivedAtMs).toISOString(),
})

/** Of names, of one source. */
const LISTED_MAX = 24
const listed = (names: ReadonlySet<string>): string[] => [...names].sort().slice(0, LISTED_MAX)

const instantOf = (ms: number): string | null => (ms === 0 ? null : new Date(ms).toISOString())

/** Reasons by service of one source: those beyond are in the count. */
const REASONS_MAX = 50

const shownReasons = (counts: readonly ReasonCount[]): ShownSource['rejected'] => ({
  count: totalOf(counts),
  reasons: [...counts]
    .sort((one, other) => other.count - one.count)
    .slice(0, REASONS_MAX)
    .map(({ reason, service, count, lastAtMs }) => ({
      reason,
      service: service === '' ? null : service,
      count,
      last_at: new Date(lastAtMs).toISOString(),
    })),
})

function lacksOf(lacking: readonly ReasonCount[]): ShownSource['lacks'] {
  const sums = new Map<string, number>()
  for (const { reason, count } of lacking) sums.set(reason, (sums.get(reason) ?? 0) + count)
  return [...sums].map(([what, count]) => ({ what, count })).sort((one, other) => other.count - one.count)
}
