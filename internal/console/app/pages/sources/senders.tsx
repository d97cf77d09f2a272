import { layersShown } from '../../../figures/layers.js'
import type { Key } from '../../api/keys.js'
import type { List } from '../../api/use-list.js'
import { Ago, Instant } from '../../parts/instant.js'
import { ShowMore } from '../../parts/more.js'
import { Name } from '../../parts/name.js'
import { Shown } from '../../parts/states.js'
import { Table } from '../../parts/table.js'

const HEAD = ['key', 'may send', 'believed', 'last used', 'created']

interface SendersProps {
  readonly keys: List<Key>
  readonly zone: string
}

/** The keys with which sources send. */
export function Senders({ keys: { answer, rows, more }, zone }: SendersProps) {
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
