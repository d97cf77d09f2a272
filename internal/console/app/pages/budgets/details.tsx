import { useState } from 'preact/hooks'
import { burnDown } from '../../../figures/burn-down.js'
import { decimalShown, decimalsOf, usdShown } from '../../../figures/shown.js'
import { fieldShown } from '../../../figures/words.js'
import { readUsage } from '../../api/usage.js'
import { useAnswer } from '../../api/use-answer.js'
import { useList } from '../../api/use-list.js'
import { change } from '../../parts/change.js'
import { Choice } from '../../parts/field.js'
import { FormDialog } from '../../parts/form-dialog.js'
import { Instant } from '../../parts/instant.js'
import { ListSection } from '../../parts/list-section.js'
import { Name } from '../../parts/name.js'
import { Shown } from '../../parts/states.js'
import { hasScope } from '../../session/session.js'
import { BUDGETS_PATH, type Budget, type Current, callsOf, type Group, pairsOf } from './budget.js'
import { BurnDownChart, BurnDownTable } from './burn-down.js'
import { BudgetForm } from './form.js'
import { Scale } from './scale.js'

interface DetailsProps {
  readonly budget: Budget
  readonly zone: string
  readonly onChanged: () => void
}

/** One budget: how it is spent, and what can be done about it. */
export function Details({ budget, zone, onChanged }: DetailsProps) {
  const { current } = budget
  const [open, setOpen] = useState<'change' | 'test' | 'remove' | undefined>()
  const [said, setSaid] = useState('')
  const close = (): void => setOpen(undefined)
  const remove = async (): Promise<void> => {
    await change('DELETE', `${BUDGETS_PATH}/${budget.id}`)
    onChanged()
  }
  const test = async (fields: FormData): Promise<void> => {
    const threshold = Number(fields.get('threshold'))
    const path = `${BUDGETS_PATH}/${budget.id}/test`
    const sent = await change<{ readonly type: string }>('POST', path, { threshold })
    setSaid(`Sent as ${sent.type} to the verified webhooks that subscribe to it, with "test": true.`)
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
          <Groups budget={budget} per={budget.per} />
        ))}
      <p class="actions">
        <button type="button" onClick={() => setOpen('change')}>
          Change it
        </button>
        <button type="button" onClick={() => setOpen('test')}>
          Send a test event
        </button>
        <button type="button" onClick={() => setOpen('remove')}>
          Remove it
        </button>
      </p>
      {said !== '' && <p role="status">{said}</p>}
      {open === 'change' && <BudgetForm budget={budget} onClose={close} onSaved={onChanged} />}
      {open === 'test' && (
        <FormDialog title="Send a test event" verb="Send it" onClose={close} send={test}>
          <p>It uses up no threshold.</p>
          <Choice
            label="Of the threshold"
            name="threshold"
            choices={Object.fromEntries(thresholdsOrOne(budget).map((each) => [each, `${each} %`]))}
          />
        </FormDialog>
      )}
      {open === 'remove' && (
        <FormDialog title={`Remove ${budget.name}`} verb="Remove the budget" onClose={close} send={remove}>
          <p>Its events stop. Calls and their costs stay as they are.</p>
        </FormDialog>
      )}
    </>
  )
}

const thresholdsOrOne = ({ thresholds }: Budget): readonly number[] => (thresholds.length === 0 ? [100] : thresholds)

const INTERVALS = { day: 'hour', week: 'hour', month: 'day', quarter: 'day' } as const

/** The burn-down. Reports fold what shows few people, which the page says. */
function OverTime({ budget, current, zone }: Pick<DetailsProps, 'budget' | 'zone'> & { readonly current: Current }) {
  const isAllowed = hasScope('read:reporting')
  const question = {
    from: current.from,
    to: current.to,
    time_zone: budget.time_zone,
    interval: INTERVALS[budget.period],
    ...Object.fromEntries(pairsOf(budget.filter).map(([field, value]) => [`filter[${field}][eq]`, value])),
  }
  const answer = useAnswer(isAllowed ? JSON.stringify([question, current.as_of]) : '', (signal) =>
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
                Fewer than five people made these calls: the line has only the start and now, not what is between.
              </p>
            ) : (
              figures.together !== '0' && (
                <p class="notice">
                  USD {usdShown(figures.together)} was spent in times with fewer than five people each: it is in the
                  last point of the line alone.
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

const Crossings = ({ current, zone }: { readonly current: Current; readonly zone: string }) => (
  <ul class="crossings">
    {(current.crossings ?? []).map(({ threshold, crossed_at: at }) => (
      <li key={threshold}>
        {threshold} %{' '}
        {at === null ? (
          <span class="muted">not crossed</span>
        ) : (
          <>
            crossed <Instant ms={Date.parse(at)} zone={zone} />
          </>
        )}
      </li>
    ))}
  </ul>
)

const GROUP_HEAD = ['', '#spent USD', 'of its ceiling', '#forecast', 'crossed']

/** The groups of a budget that is one for each of them. */
function Groups({ budget, per }: { readonly budget: Budget; readonly per: string }) {
  const list = useList<Group>(`${BUDGETS_PATH}/${budget.id}/groups`)
  const decimals = decimalsOf(list.rows.map(({ spent_usd: spent }) => spent))
  const { groups } = budget.current ?? {}
  return (
    <ListSection
      title={`By ${fieldShown(per)}`}
      what={`the groups of ${budget.name}`}
      about={`${groups?.count ?? 0} with calls. USD ${usdShown(budget.ceiling_usd)} for each.`}
      list={list}
      head={[fieldShown(per), ...GROUP_HEAD.slice(1)]}
      empty="No calls in this period yet."
      row={(group) => (
        <tr key={group.value}>
          <th scope="row">
            <Name>{group.value}</Name>
          </th>
          <td class="number">{decimalShown(group.spent_usd, decimals)}</td>
          <td>
            <Scale percent={group.percent ?? '0'} thresholds={budget.thresholds} /> {group.percent} %
          </td>
          <td class="number">{group.forecast_percent === null ? '–' : `${group.forecast_percent} %`}</td>
          <td>{crossedOf(group.crossings)}</td>
        </tr>
      )}
    />
  )
}

export const crossedOf = (crossings: Group['crossings']): string =>
  crossings
    .filter(({ crossed_at: at }) => at !== null)
    .map(({ threshold }) => `${threshold} %`)
    .join(', ') || 'none'
