import { useEffect, useState } from 'preact/hooks'
import { isSending, reachedOf, reachedShown } from '../../../figures/crossings.js'
import { decimalShown, decimalsOf, percentShown, usdShown } from '../../../figures/shown.js'
import { fieldShown } from '../../../figures/words.js'
import { useList } from '../../api/use-list.js'
import { useNames } from '../../api/use-names.js'
import { usePolling } from '../../api/use-polling.js'
import { change } from '../../parts/change.js'
import { Field } from '../../parts/field.js'
import { textOf } from '../../parts/form.js'
import { FormDialog } from '../../parts/form-dialog.js'
import { ListSection } from '../../parts/list-section.js'
import { Name } from '../../parts/name.js'
import { BUDGETS_PATH, type Budget, CEILING_PATTERN, type Group } from './budget.js'
import { Scale } from './scale.js'

const HEAD = ['#spent USD', '#ceiling USD', 'of its ceiling', '#forecast', 'crossed', '']

interface GroupsProps {
  readonly budget: Budget
  readonly per: string
  readonly onChanged: () => void
}

/** The groups of a budget that is one for each of them: with one ceiling for all, or their own. */
export function Groups({ budget, per, onChanged }: GroupsProps) {
  const list = useList<Group>(`${BUDGETS_PATH}/${budget.id}/groups`)
  const [asked, setAsked] = useState<string | undefined>()
  const { current, group_ceilings_usd: own } = budget
  const { reload } = list.answer
  useEffect(() => {
    if (list.isFirstPage) reload()
  }, [current?.spent_usd, JSON.stringify(own)])
  usePolling(list.answer, list.isFirstPage && list.rows.some(isSending))
  const decimals = decimalsOf(list.rows.flatMap((group) => [group.ceiling_usd, group.spent_usd]))
  const withoutCalls = list.more.isThere
    ? []
    : Object.entries(own).filter(([value]) => list.rows.every((group) => group.value !== value))
  return (
    <ListSection
      title={`By ${fieldShown(per)}`}
      what={`the groups of ${budget.name}`}
      about={
        `${current?.groups?.count ?? 0} with calls. USD ${usdShown(budget.ceiling_usd)} for each that has no ` +
        `ceiling of its own. Pools, and what is nobody’s, are no ${fieldShown(per)}.`
      }
      actions={
        <button type="button" onClick={() => setAsked('')}>
          Give one its own ceiling
        </button>
      }
      list={list}
      head={[fieldShown(per), ...HEAD]}
      empty="No calls in this period yet."
      row={(group) => (
        <tr key={group.value}>
          <th scope="row">
            <Name>{group.value}</Name>
          </th>
          <td class="number">{decimalShown(group.spent_usd, decimals)}</td>
          <td class="number">
            {Object.hasOwn(own, group.value) && <span class="muted">own </span>}
            {decimalShown(group.ceiling_usd, decimals)}
          </td>
          <td>
            <Scale percent={group.percent ?? '0'} spent={group.spent_usd} thresholds={budget.thresholds} />
          </td>
          <td class="number">
            {group.forecast_percent === null ? '–' : percentShown(group.forecast_percent, group.spent_usd)}
          </td>
          <td>{reachedShown(reachedOf(group.crossings, group.percent))}</td>
          <td>
            <button type="button" class="quiet" onClick={() => setAsked(group.value)}>
              Its ceiling
            </button>
          </td>
        </tr>
      )}
    >
      {withoutCalls.length > 0 && (
        <p class="muted">
          Without calls yet: {withoutCalls.map(([value, usd]) => `${value} (USD ${usdShown(usd)})`).join(', ')}.
        </p>
      )}
      {asked !== undefined && (
        <GroupCeiling
          budget={budget}
          per={per}
          value={asked}
          onClose={() => setAsked(undefined)}
          onChanged={onChanged}
        />
      )}
    </ListSection>
  )
}

interface GroupCeilingProps extends GroupsProps {
  /** Empty: it is asked for. */
  readonly value: string
  readonly onClose: () => void
}

function GroupCeiling({ budget, per, value, onClose, onChanged }: GroupCeilingProps) {
  const names = useNames(per)
  const send = async (fields: FormData): Promise<void> => {
    const group = value === '' ? (textOf(fields, 'group') ?? '') : value
    const { [group]: _, ...others } = budget.group_ceilings_usd
    const ceiling = textOf(fields, 'ceiling')
    await change('PATCH', `${BUDGETS_PATH}/${budget.id}`, {
      group_ceilings_usd: ceiling === undefined ? others : { ...others, [group]: ceiling },
    })
    onChanged()
  }
  const title = value === '' ? `A ceiling for one ${fieldShown(per)}` : `The ceiling of ${value}`
  return (
    <FormDialog title={title} verb="Set the ceiling" onClose={onClose} send={send}>
      {value === '' && (
        <>
          <Field label={fieldShown(per)} name="group" required list="budget-groups" />
          <datalist id="budget-groups">
            {names.map((each) => (
              <option key={each} value={each} />
            ))}
          </datalist>
        </>
      )}
      <Field
        label="Its own ceiling"
        hint={`USD per ${budget.period}; empty: that of all, ${usdShown(budget.ceiling_usd)}`}
        name="ceiling"
        inputMode="decimal"
        pattern={CEILING_PATTERN}
        defaultValue={Object.hasOwn(budget.group_ceilings_usd, value) ? budget.group_ceilings_usd[value] : undefined}
      />
    </FormDialog>
  )
}
