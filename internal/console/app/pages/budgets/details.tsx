import { useState } from 'preact/hooks'
import { burnDown } from '../../../figures/burn-down.js'
import { reachedOf } from '../../../figures/crossings.js'
import { usdShown } from '../../../figures/shown.js'
import type { Target } from '../../../figures/targets.js'
import { readUsage } from '../../api/usage.js'
import { useAnswer } from '../../api/use-answer.js'
import { change } from '../../parts/change.js'
import { FormDialog } from '../../parts/form-dialog.js'
import { Instant } from '../../parts/instant.js'
import { Shown } from '../../parts/states.js'
import { hasScope } from '../../session/session.js'
import { BUDGETS_PATH, type Budget, type Current, callsOf, pairsOf } from './budget.js'
import { BurnDownChart, BurnDownTable } from './burn-down.js'
import { BudgetForm } from './form.js'
import { Groups } from './groups.js'
import { Heard } from './heard.js'

interface DetailsProps {
  readonly budget: Budget
  /** Undefined: the person may not see them. */
  readonly targets: readonly Target[] | undefined
  readonly params: URLSearchParams
  readonly zone: string
  readonly onChanged: () => void
}

/** One budget: how it is spent, and what can be done about it. */
export function Details({ budget, targets, params, zone, onChanged }: DetailsProps) {
  const { current } = budget
  const [open, setOpen] = useState<'change' | 'remove' | undefined>()
  const close = (): void => setOpen(undefined)
  const remove = async (): Promise<void> => {
    await change('DELETE', `${BUDGETS_PATH}/${budget.id}`)
    onChanged()
  }
  return (
    <>
      <p>
        Of <span class="strong">{callsOf(budget.filter)}</span>, per {budget.period} in {budget.time_zone}.
      </p>
      {current !== undefined &&
        (budget.per === null ? (
          <OverTime budget={budget} current={current} zone={zone} />
        ) : (
          <Groups budget={budget} per={budget.per} onChanged={onChanged} />
        ))}
      <Heard budget={budget} targets={targets} params={params} />
      <p class="actions">
        <button type="button" onClick={() => setOpen('change')}>
          Change it
        </button>
        <button type="button" onClick={() => setOpen('remove')}>
          Remove it
        </button>
      </p>
      {open === 'change' && <BudgetForm budget={budget} onClose={close} onSaved={onChanged} />}
      {open === 'remove' && (
        <FormDialog title={`Remove ${budget.name}`} verb="Remove the budget" onClose={close} send={remove}>
          <p>Its events stop. Calls and their costs stay as they are.</p>
        </FormDialog>
      )}
    </>
  )
}

const INTERVALS = { day: 'hour', week: 'hour', month: 'day', quarter: 'day' } as const

/** The burn-down. Reports fold what shows few people, which the page says. */
function OverTime({ budget, current, zone }: Pick<DetailsProps, 'budget' | 'zone'> & { readonly current: Current }) {
  const isAllowed = hasScope('read:reporting')
  const question = {
    from: current.from,
    to: current.to,
    time_zone: budget.time_zone,
    interval: INTERVALS[budget.period],
    // As budgets count: a stated cost that is implausible crosses no ceiling.
    'filter[export_eligibility][ne]': 'implausible_cost',
    ...Object.fromEntries(pairsOf(budget.filter).map(([field, value]) => [`filter[${field}][eq]`, value])),
  }
  const answer = useAnswer(isAllowed ? JSON.stringify([question, current.spent_usd]) : '', (signal) =>
    readUsage(question, signal, 4),
  )
  if (!isAllowed) {
    return (
      <p class="notice">
        How it was spent over time needs the scope <code>read:reporting</code>.
      </p>
    )
  }
  return (
    <Shown answer={answer} what="what was spent over time" placeholder={<div class="placeholder chart-place" />}>
      {({ rows, suppressed }) => {
        // Figures of a larger group: a line of them would be of another budget.
        const figures = burnDown({ ...budget, ...current }, suppressed === undefined ? rows : [])
        return (
          <>
            <BurnDownChart budget={budget} current={current} figures={figures} zone={zone} />
            {suppressed !== undefined ? (
              <p class="notice">
                Too few people made these calls to be shown apart: the line has only the start and now, not what is
                between.
              </p>
            ) : (
              figures.together !== '0' && (
                <p class="notice">
                  USD {usdShown(figures.together)} was spent in times that are shown together, as one at least has too
                  few people: it is in the last point of the line alone.
                </p>
              )
            )}
            <BurnDownTable figures={figures} zone={zone} />
            <Crossings current={current} zone={zone} />
          </>
        )
      }}
    </Shown>
  )
}

function Crossings({ current, zone }: { readonly current: Current; readonly zone: string }) {
  const reached = new Map(
    reachedOf(current.crossings ?? [], current.percent).map(({ threshold, at }) => [threshold, at]),
  )
  return (
    <ul class="crossings">
      {(current.crossings ?? []).map(({ threshold }) => {
        const at = reached.get(threshold)
        return (
          <li key={threshold}>
            {threshold} %{' '}
            {at === undefined ? (
              <span class="muted">not crossed</span>
            ) : at === null ? (
              'crossed: its event is being sent'
            ) : (
              <>
                crossed, announced <Instant ms={Date.parse(at)} zone={zone} />
              </>
            )}
          </li>
        )
      })}
    </ul>
  )
}
