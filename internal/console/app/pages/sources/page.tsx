import { layersShown } from '../../../figures/layers.js'
import { shownPeriod } from '../../address/period.js'
import { KEYS_PATH, type Key } from '../../api/keys.js'
import { type List, useList } from '../../api/use-list.js'
import { Ago, Instant } from '../../parts/instant.js'
import { ShowMore } from '../../parts/more.js'
import { Name } from '../../parts/name.js'
import { Shown } from '../../parts/states.js'
import { Table } from '../../parts/table.js'
import { hasScope } from '../../session/session.js'
import type { PageProps } from '../page-props.js'
import { Arrivals } from './arrivals.js'
import { Connect } from './connect.js'
import { Received } from './received.js'

/** What arrives from where, and how to connect what does not send yet. */
export function Page({ params, zone }: PageProps) {
  const period = shownPeriod(params, zone)
  const maySeeKeys = hasScope('admin:config')
  const keys = useList<Key>(maySeeKeys ? KEYS_PATH : '')
  return (
    <>
      <Arrivals period={period} zone={zone} />
      {hasScope('read:attribution') && <Received keys={keys.rows} />}
      <Connect params={params} onKey={keys.answer.reload} />
      {maySeeKeys && <Senders keys={keys} zone={zone} />}
    </>
  )
}

const HEAD = ['key', 'may send', 'believed', 'last used', 'created']

interface SendersProps {
  readonly keys: List<Key>
  readonly zone: string
}

/** The keys with which sources send. */
function Senders({ keys: { answer, rows, more }, zone }: SendersProps) {
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
              .map((key) => (
                <tr key={key.id}>
                  <th scope="row">
                    <Name>{key.name}</Name>
                  </th>
                  <td>{layersShown(key.ingestion_layers)}</td>
                  <td>{believed(key)}</td>
                  <td>{key.last_used_at === null ? 'never' : <Ago ms={Date.parse(key.last_used_at)} />}</td>
                  <td>
                    <Instant ms={Date.parse(key.created_at)} zone={zone} />
                  </td>
                </tr>
              ))}
          </Table>
        )}
      </Shown>
      <ShowMore more={more} />
    </section>
  )
}

const believed = ({ is_gateway: isGateway, trusts_cost: trustsCost }: Key): string =>
  [isGateway && 'who called', trustsCost && 'stated costs'].filter(Boolean).join(', ') || 'neither callers nor costs'
