import { Fragment } from 'preact'
import { useState } from 'preact/hooks'
import { countShown, decimalShown, decimalsOf } from '../../../figures/shown.js'
import { useList } from '../../api/use-list.js'
import { Does } from '../../parts/does.js'
import { ListSection } from '../../parts/list-section.js'
import { Name } from '../../parts/name.js'
import { Inside, type Opening, Opens, openingOf } from '../../parts/opens.js'
import type { PageProps } from '../page-props.js'
import { BUDGETS_PATH, type Budget, callsOf } from './budget.js'
import { crossedOf, Details } from './details.js'
import { BudgetForm } from './form.js'
import { Scale } from './scale.js'

const HEAD = [
  'budget',
  'calls that count',
  'per',
  '#ceiling USD',
  '#spent USD',
  'of the ceiling',
  '#forecast',
  'crossed',
]

/** Ceilings on the cost of calls, and how far each is spent. */
export function Page({ params, zone }: PageProps) {
  const list = useList<Budget>(BUDGETS_PATH)
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
        about="A budget blocks nothing: it shows what is spent, and sends an event at each threshold."
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
            <Row budget={budget} opening={opening} decimals={decimals} />
            {opening.isOpen(budget.id) && (
              <Inside columns={HEAD.length}>
                <Details budget={budget} zone={zone} onChanged={list.answer.reload} />
              </Inside>
            )}
          </Fragment>
        )}
      />
      {isAdding && <BudgetForm budget={undefined} onClose={() => setAdding(false)} onSaved={list.answer.reload} />}
    </>
  )
}

interface RowProps {
  readonly budget: Budget
  readonly opening: Opening
  readonly decimals: number
}

function Row({ budget, opening, decimals }: RowProps) {
  const { current } = budget
  return (
    <tr>
      <th scope="row">
        <Opens id={budget.id} opening={opening}>
          <Name>{budget.name}</Name>
        </Opens>
      </th>
      <td class="wide">{callsOf(budget.filter)}</td>
      <td>{budget.per === null ? budget.period : `${budget.period} and ${budget.per}`}</td>
      <td class="number">{decimalShown(budget.ceiling_usd, decimals)}</td>
      <td class="number">{current === undefined ? '–' : decimalShown(current.spent_usd, decimals)}</td>
      <td>
        {current?.percent != null && (
          <>
            <Scale percent={current.percent} thresholds={budget.thresholds} /> {current.percent} %
          </>
        )}
        {current?.groups !== undefined && `of each of ${countShown(current.groups.count)}`}
      </td>
      <td class="number">
        {current?.forecast_percent == null ? (
          <span title="Too early in the period, or one of each group">–</span>
        ) : (
          `${current.forecast_percent} %`
        )}
      </td>
      <td>
        {current?.groups === undefined
          ? crossedOf(current?.crossings ?? [])
          : current.groups.crossed
              .filter(({ count }) => count > 0)
              .map(({ threshold, count }) => `${threshold} % by ${countShown(count)}`)
              .join(', ') || 'none'}
      </td>
    </tr>
  )
}
