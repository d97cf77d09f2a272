import type { Webhook } from 'attribution-service/sdk/api'
import { EVENT_CAUSES } from '../../../../events/event-catalogue.js'
import { linkTo } from '../../../figures/address.js'
import { ALERTS, listeners } from '../../../figures/targets.js'
import { Name } from '../../parts/name.js'
import { Table } from '../../parts/table.js'

interface AlertsProps {
  readonly webhooks: readonly Webhook[]
  readonly params: URLSearchParams
}

/** What else somebody should hear of, and who does. */
export const Alerts = ({ webhooks, params }: AlertsProps) => (
  <section class="list" aria-label="Other alerts">
    <header>
      <h2>Other alerts</h2>
      <p class="muted">
        Targets are chosen under <a href={linkTo('webhooks', params)}>Webhooks</a>, by their events.
      </p>
    </header>
    <Table label="Alerts and who hears of them" head={['when', 'event', 'heard by']}>
      {ALERTS.map((event) => {
        const heard = listeners(webhooks, event)
        return (
          <tr key={event}>
            <th scope="row" class="wide">
              {EVENT_CAUSES[event]}
            </th>
            <td>
              <code>{event}</code>
            </td>
            <td class="wide">
              {heard.length === 0 ? <span class="muted">nobody</span> : <Name>{heard.join(', ')}</Name>}
            </td>
          </tr>
        )
      })}
    </Table>
  </section>
)
