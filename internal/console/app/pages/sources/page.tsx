import type { Source } from 'attribution-service/sdk/api'
import { layersShown } from '../../../figures/layers.js'
import { countShown } from '../../../figures/shown.js'
import { arrivalsByKey } from '../../../figures/sources.js'
import { KEYS_PATH, type Key } from '../../api/keys.js'
import { type List, useList } from '../../api/use-list.js'
import { usePolling } from '../../api/use-polling.js'
import { Ago, Instant } from '../../parts/instant.js'
import { ShowMore } from '../../parts/more.js'
import { Shown } from '../../parts/states.js'
import { Table } from '../../parts/table.js'
import { hasScope } from '../../session/session.js'
import type { PageProps } from '../page-props.js'
import { Connect } from './connect.js'
import { Received } from './received.js'
import { Sender } from './sender.js'

const LOOK_EVERY_MS = 2_000

/** What sends, what becomes of all that it sends, and how to connect what does not send yet. */
export function Page({ params, zone }: PageProps) {
  const maySeeKeys = hasScope('admin:config')
  const keys = useList<Key>(maySeeKeys ? KEYS_PATH : '')
  const sources = useList<Source>('/api/v1/sources', { limit: '200' })
  usePolling(sources.answer, sources.isFirstPage, LOOK_EVERY_MS)
  return (
    <>
      <Received sources={sources} params={params} />
      <Connect params={params} sources={sources.answer.value?.data} onKey={keys.answer.reload} />
      {maySeeKeys && <Senders keys={keys} sources={sources.answer.value && sources.rows} params={params} zone={zone} />}
    </>
  )
}

const HEAD = ['key', 'may send', 'believed', 'last call received', '#calls in 24 h', 'last used', 'created']

interface SendersProps {
  readonly keys: List<Key>
  /** Undefined: not known (yet). */
  readonly sources: readonly Source[] | undefined
  readonly params: URLSearchParams
  readonly zone: string
}

/** The keys with which sources send, or could. */
function Senders({ keys: { answer, rows, more }, sources, params, zone }: SendersProps) {
  const arrivals = sources && arrivalsByKey(sources)
  return (
    <section class="list" aria-label="Senders">
      <header>
        <h2>Keys that sources send with</h2>
      </header>
      <Shown answer={answer} what="the keys" placeholder={<div class="placeholder" />}>
        {() => (
          <Table label="Keys" head={HEAD}>
            {rows
              .filter(({ status }) => status === 'active')
              .map((key) => {
                const { calls = 0, lastCallAtMs } = arrivals?.get(key.id) ?? {}
                return (
                  <tr key={key.id}>
                    <th scope="row">
                      <Sender name={key.name} calls={calls} params={params} />{' '}
                      <span class="muted of-key">…{key.last_four}</span>
                    </th>
                    <td>{layersShown(key.ingestion_layers)}</td>
                    <td>{believed(key)}</td>
                    <td>{lastCallAtMs === undefined ? arrivals && 'none in 24 h' : <Ago ms={lastCallAtMs} />}</td>
                    <td class="number">{arrivals === undefined ? '–' : countShown(calls)}</td>
                    <td>{key.last_used_at === null ? 'never' : <Ago ms={Date.parse(key.last_used_at)} />}</td>
                    <td>
                      <Instant ms={Date.parse(key.created_at)} zone={zone} />
                    </td>
                  </tr>
                )
              })}
          </Table>
        )}
      </Shown>
      <ShowMore more={more} />
    </section>
  )
}

const believed = ({ is_gateway: isGateway, trusts_cost: trustsCost }: Key): string =>
  [isGateway && 'who called', trustsCost && 'stated costs'].filter(Boolean).join(', ') || 'neither callers nor costs'
