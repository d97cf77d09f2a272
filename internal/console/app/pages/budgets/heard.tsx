import type { DeliveryAttempt } from 'attribution-service/sdk/api'
import { useState } from 'preact/hooks'
import { linkTo } from '../../../figures/address.js'
import { deliveryShown, percents, type Target, unheard } from '../../../figures/targets.js'
import { useList } from '../../api/use-list.js'
import { usePolling } from '../../api/use-polling.js'
import { change } from '../../parts/change.js'
import { Choice } from '../../parts/field.js'
import { FormDialog } from '../../parts/form-dialog.js'
import { Name } from '../../parts/name.js'
import { Table } from '../../parts/table.js'
import { WEBHOOKS_PATH } from '../webhooks/endpoint.js'
import { BUDGETS_PATH, type Budget } from './budget.js'

/** A test event that was sent. */
interface Test {
  readonly event_id: string
  readonly threshold: number
}

interface HeardProps {
  readonly budget: Budget
  /** Undefined: the person may not see them. */
  readonly targets: readonly Target[] | undefined
  readonly params: URLSearchParams
}

const HEAD = ['target', 'by', 'hears at', 'test event']

/** Who hears when a threshold is crossed, and a test that says of each whether it arrives. */
export function Heard({ budget, targets, params }: HeardProps) {
  const [isAsking, setAsking] = useState(false)
  const [test, setTest] = useState<Test | undefined>()
  const send = async (fields: FormData): Promise<void> => {
    const threshold = Number(fields.get('threshold'))
    setTest(await change<Test>('POST', `${BUDGETS_PATH}/${budget.id}/test`, { threshold }))
  }
  const missed = targets === undefined ? [] : unheard(targets, budget.thresholds)
  const webhooks = <a href={linkTo('webhooks', params)}>Webhooks</a>
  return (
    <section aria-label="Who hears of it">
      <h3>Who hears of it</h3>
      {targets === undefined && (
        <p class="notice">
          Who hears of it, and whether a test arrives, shows with the scope <code>webhooks:manage</code>.
        </p>
      )}
      {targets !== undefined && targets.length > 0 && (
        <Table label="Targets of the budget" head={HEAD}>
          {targets.map((target) => (
            <tr key={target.id}>
              <th scope="row" class="wide">
                <Name>{target.address}</Name>
              </th>
              <td>{target.by}</td>
              <td>{percents(target.hears)}</td>
              <td class="wide">
                <Outcome key={test?.event_id} target={target} test={test} />
              </td>
            </tr>
          ))}
        </Table>
      )}
      {missed.length > 0 && (
        <p class="doubt">
          Nobody hears at {percents(missed)}. {webhooks} sends events to an address that is registered and verified.
        </p>
      )}
      {budget.thresholds.length === 0 && <p class="muted">It has no thresholds: nobody is notified.</p>}
      <p class="actions">
        <button type="button" onClick={() => setAsking(true)}>
          Send a test event
        </button>
      </p>
      {test !== undefined && <p role="status">A test event of {test.threshold} % is sent, with "test": true.</p>}
      {isAsking && (
        <FormDialog title="Send a test event" verb="Send it" onClose={() => setAsking(false)} send={send}>
          <p>To every target that hears of the threshold. It uses up no threshold.</p>
          <Choice
            label="Of the threshold"
            name="threshold"
            choices={Object.fromEntries(thresholdsOrOne(budget).map((each) => [each, `${each} %`]))}
          />
        </FormDialog>
      )}
    </section>
  )
}

const thresholdsOrOne = ({ thresholds }: Budget): readonly number[] => (thresholds.length === 0 ? [100] : thresholds)

interface OutcomeProps {
  readonly target: Target
  readonly test: Test | undefined
}

/** Whether the test event has arrived at a target. */
function Outcome({ target: { id, hears, isVerified, isFailing }, test }: OutcomeProps) {
  const isSent = test !== undefined && isVerified && hears.includes(test.threshold)
  const path = isSent ? `${WEBHOOKS_PATH}/${id}/deliveries` : ''
  const { answer, rows } = useList<DeliveryAttempt>(path, { limit: '1', event_id: test?.event_id ?? '' })
  const [newest] = rows
  usePolling(answer, isSent && (newest === undefined || newest.outcome === 'retried'))
  if (!isVerified) return <span class="doubt">gets nothing: its challenge is not answered</span>
  if (test === undefined) {
    return isFailing ? (
      <span class="doubt">not tested; what was sent last did not arrive</span>
    ) : (
      <span class="muted">not tested</span>
    )
  }
  if (!isSent) return <span class="muted">not sent: it does not hear at {test.threshold} %</span>
  if (answer.problem !== undefined) return <span class="doubt">{answer.problem.message}</span>
  if (newest === undefined) return <>on its way …</>
  return <span class={newest.outcome === 'acknowledged' ? undefined : 'doubt'}>{deliveryShown(newest)}</span>
}
