import { useState } from 'preact/hooks'
import { countShown } from '../../../figures/shown.js'
import { answerShown } from '../../../figures/targets.js'
import { wordOf } from '../../../figures/words.js'
import { useList } from '../../api/use-list.js'
import { usePolling } from '../../api/use-polling.js'
import { Instant } from '../../parts/instant.js'
import { ListSection } from '../../parts/list-section.js'
import { Id } from '../../parts/name.js'
import { type Delivery, type Endpoint, WEBHOOKS_PATH } from './endpoint.js'

const HEAD = ['at', 'event', 'answer', 'outcome', '#attempt', '#ms', 'id', '#sequence', '']
const OUTCOMES = { '': 'all attempts', acknowledged: 'acknowledged', retried: 'retried', dead_lettered: 'dead letters' }

interface DeliveriesProps {
  readonly endpoint: Endpoint
  readonly zone: string
  readonly onReplay: (eventId: string) => void
}

const LOOK_EVERY_MS = 2_000

/** Every attempt at an endpoint, the newest first, as they are made. */
export function Deliveries({ endpoint, zone, onReplay }: DeliveriesProps) {
  const [outcome, setOutcome] = useState('')
  const list = useList<Delivery>(`${WEBHOOKS_PATH}/${endpoint.id}/deliveries`, {
    limit: '25',
    ...(outcome !== '' && { outcome }),
  })
  // Rows would move under the eyes of a person who reads on.
  usePolling(list.answer, list.isFirstPage, LOOK_EVERY_MS)
  return (
    <ListSection
      title="Delivery log"
      what="the deliveries"
      actions={
        <>
          <label>
            <span class="hidden">Outcome</span>
            <select value={outcome} onChange={({ currentTarget }) => setOutcome(currentTarget.value)}>
              {Object.entries(OUTCOMES).map(([value, words]) => (
                <option key={value} value={value}>
                  {words}
                </option>
              ))}
            </select>
          </label>
          {!list.isFirstPage && (
            <button type="button" class="quiet" onClick={list.answer.reload}>
              Read it again
            </button>
          )}
        </>
      }
      list={list}
      head={HEAD}
      empty={outcome === '' ? 'Nothing has been sent yet.' : 'No such attempts.'}
      row={(delivery) => (
        <tr key={`${delivery.delivery_id} ${delivery.attempt} ${delivery.attempted_at}`}>
          <td>
            <Instant ms={Date.parse(delivery.attempted_at)} zone={zone} hasSeconds />
          </td>
          <td>
            {delivery.event_type}
            {delivery.replayed && <span class="muted"> (replay)</span>}
          </td>
          <td>{answerShown(delivery)}</td>
          <td>
            {wordOf(delivery.outcome)}
            {delivery.next_attempt_at !== null && (
              <span class="muted">
                {' '}
                next <Instant ms={Date.parse(delivery.next_attempt_at)} zone={zone} hasSeconds />
              </span>
            )}
          </td>
          <td class="number">{delivery.attempt}</td>
          <td class="number">{countShown(delivery.latency_ms)}</td>
          <td>
            <Id>{delivery.event_id}</Id>
          </td>
          <td class="number">{countShown(delivery.sequence)}</td>
          <td>
            {delivery.event_type !== 'webhook.verification' && endpoint.status === 'verified' && (
              <button type="button" class="quiet" onClick={() => onReplay(delivery.event_id)}>
                Send it again
              </button>
            )}
          </td>
        </tr>
      )}
    />
  )
}
