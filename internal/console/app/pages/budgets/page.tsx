import type { Webhook } from 'attribution-service/sdk/api'
import { Fragment } from 'preact'
import { useState } from 'preact/hooks'
import { groupsReached, isSending, reachedOf, reachedShown } from '../../../figures/crossings.js'
import { countShown, decimalShown, decimalsOf, percentShown } from '../../../figures/shown.js'
import { heardBy, type Target, targetsOf } from '../../../figures/targets.js'
import { useList } from '../../api/use-list.js'
import { usePolling } from '../../api/use-polling.js'
import { Does } from '../../parts/does.js'
import { ListSection } from '../../parts/list-section.js'
import { Name } from '../../parts/name.js'
import { Inside, type Opening, Opens, openingOf } from '../../parts/opens.js'
import { hasScope } from '../../session/session.js'
import type { PageProps } from '../page-props.js'
import { WEBHOOKS_PATH } from '../webhooks/endpoint.js'
import { Alerts } from './alerts.js'
import { BUDGETS_PATH, type Budget, callsOf } from './budget.js'
import { Details } from './details.js'
import { BudgetForm } from './form.js'
import { Scale } from './scale.js'

const HEAD = [
  'budget',
  '#spent USD',
  '#ceiling USD',
  'of the ceiling',
  '#forecast',
  'crossed',
  'calls that count',
  'per',
  'heard by',
]

const LOOK_EVERY_MS = 5_000
const WHILE_SENDING_MS = 1_000

/** Ceilings on the cost of calls, and how far each is spent. */
export function Page({ params, zone }: PageProps) {
  const list = useList<Budget>(BUDGETS_PATH)
  // A crossing shows when spend reaches it, and its event soon after.
  const isSoon = list.rows.some(({ current }) => current !== undefined && isSending(current))
  usePolling(list.answer, list.isFirstPage, isSoon ? WHILE_SENDING_MS : LOOK_EVERY_MS)
  const maySeeTargets = hasScope('webhooks:manage')
  const webhooks = useList<Webhook>(maySeeTargets ? WEBHOOKS_PATH : '').answer.value?.data
  const targetsFor = ({ thresholds }: Budget) => webhooks && targetsOf(webhooks, thresholds)
  const [isAdding, setAdding] = useState(false)
  const opening = openingOf(params, 'budget')
  const decimals = decimalsOf(
    list.rows.flatMap(({ ceiling_usd: ceiling, current }) => [ceiling, current?.spent_usd ?? '0']),
  )
  return (
    <>
      <ListSection
        title="Budgets"
        what="the budgets"
        about="A budget blocks nothing: it shows what is spent, implausible costs aside, and sends an event at each threshold."
        actions={
          <Does name="budget" onDo={() => setAdding(true)}>
            Add a budget
          </Does>
        }
        list={list}
        head={HEAD}
        empty="None yet. A budget is a ceiling on the cost of some or all calls of a day, week, month or quarter."
        row={(budget) => (
          <Fragment key={budget.id}>
            <Row budget={budget} targets={targetsFor(budget)} opening={opening} decimals={decimals} />
            {opening.isOpen(budget.id) && (
              <Inside columns={HEAD.length}>
                <Details
                  budget={budget}
                  targets={targetsFor(budget)}
                  params={params}
                  zone={zone}
                  onChanged={list.answer.reload}
                />
              </Inside>
            )}
          </Fragment>
        )}
      />
      {webhooks !== undefined && <Alerts webhooks={webhooks} params={params} />}
      {isAdding && <BudgetForm budget={undefined} onClose={() => setAdding(false)} onSaved={list.answer.reload} />}
    </>
  )
}

interface RowProps {
  readonly budget: Budget
  readonly targets: readonly Target[] | undefined
  readonly opening: Opening
  readonly decimals: number
}

function Row({ budget, targets, opening, decimals }: RowProps) {
  const { current } = budget
  return (
    <tr>
      <th scope="row">
        <Opens id={budget.id} opening={opening}>
          <Name>{budget.name}</Name>
        </Opens>
      </th>
      <td class="number">{current === undefined ? '–' : decimalShown(current.spent_usd, decimals)}</td>
      <td class="number">{decimalShown(budget.ceiling_usd, decimals)}</td>
      <td>
        {current?.percent != null && (
          <Scale percent={current.percent} spent={current.spent_usd} thresholds={budget.thresholds} />
        )}
        {current?.groups !== undefined && `of each of ${countShown(current.groups.count)}`}
      </td>
      <td class="number">
        {current?.forecast_percent == null ? (
          <span title="Too early in the period, or one of each group">–</span>
        ) : (
          percentShown(current.forecast_percent, current.spent_usd)
        )}
      </td>
      <td>
        {current?.groups === undefined
          ? reachedShown(reachedOf(current?.crossings ?? [], current?.percent ?? null))
          : groupsReached(current.groups)
              .filter(({ count }) => count > 0)
              .map(({ threshold, count }) => `${threshold} % by ${countShown(count)}`)
              .join(', ') || 'none'}
      </td>
      <td class="wide">{callsOf(budget.filter)}</td>
      <td>{budget.per === null ? budget.period : `${budget.period} and ${budget.per}`}</td>
      <td class="name">{targets === undefined ? '–' : heardBy(targets, budget.thresholds)}</td>
    </tr>
  )
}
