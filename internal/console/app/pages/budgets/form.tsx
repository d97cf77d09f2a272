import { thresholdsOf } from '../../../figures/burn-down.js'
import { fieldShown } from '../../../figures/words.js'
import { useNames } from '../../api/use-names.js'
import { change } from '../../parts/change.js'
import { Choice, Field } from '../../parts/field.js'
import { textOf } from '../../parts/form.js'
import { FormDialog } from '../../parts/form-dialog.js'
import { BUDGETS_PATH, type Budget, type BudgetFilter, CEILING_PATTERN } from './budget.js'

interface BudgetFormProps {
  /** Undefined: a new one. */
  readonly budget: Budget | undefined
  readonly onClose: () => void
  readonly onSaved: () => void
}

const FILTERED = ['owner', 'service', 'provider', 'served_model'] as const
const SPANS = { month: 'month', day: 'day', week: 'week', quarter: 'quarter' }

/** A budget that is new, or changed. What this form does not know of a budget stays. */
export function BudgetForm({ budget, onClose, onSaved }: BudgetFormProps) {
  const send = async (fields: FormData): Promise<void> => {
    const thresholds = thresholdsOf(textOf(fields, 'thresholds') ?? '')
    if (thresholds === undefined) throw new Error('Thresholds are whole percentages, such as 75, 100.')
    const body = {
      name: textOf(fields, 'name'),
      ceiling_usd: textOf(fields, 'ceiling'),
      period: fields.get('period'),
      time_zone: textOf(fields, 'time_zone') ?? null,
      filter: filterOf(fields, budget?.filter ?? {}),
      per: textOf(fields, 'per') ?? null,
      thresholds,
    }
    if (budget === undefined) await change('POST', BUDGETS_PATH, body)
    else await change('PATCH', `${BUDGETS_PATH}/${budget.id}`, body)
    onSaved()
  }
  const per = budget?.per ?? ''
  const pers = [...new Set([...FILTERED, ...(per === '' ? [] : [per])])]
  return (
    <FormDialog
      title={budget === undefined ? 'A new budget' : `Change ${budget.name}`}
      verb={budget === undefined ? 'Add the budget' : 'Change the budget'}
      onClose={onClose}
      send={send}
    >
      <Field label="Name" name="name" required defaultValue={budget?.name} placeholder="Support, OpenAI" />
      <div class="pair">
        <Field
          label="Ceiling"
          hint="USD"
          name="ceiling"
          required
          inputMode="decimal"
          pattern={CEILING_PATTERN}
          defaultValue={budget?.ceiling_usd}
          placeholder="2500.00"
        />
        <Choice label="Per" name="period" choices={SPANS} defaultValue={budget?.period} />
        <Field
          label="Time zone"
          hint="(the tenant's)"
          name="time_zone"
          defaultValue={budget?.time_zone}
          placeholder="Europe/Berlin"
        />
        <Field
          label="Events at"
          hint="percent"
          name="thresholds"
          defaultValue={(budget?.thresholds ?? [75, 100, 150]).join(', ')}
          placeholder="75, 100, 150"
        />
      </div>
      <fieldset>
        <legend>
          Calls that count <span class="muted">(empty: all)</span>
        </legend>
        <div class="pair">
          {FILTERED.map((name) => (
            <Named key={name} name={name} value={budget?.filter[name]} />
          ))}
        </div>
      </fieldset>
      <Choice
        label="One ceiling"
        hint="(a group may get its own, in its row)"
        name="per"
        defaultValue={per}
        choices={{
          '': 'for all of them together',
          ...Object.fromEntries(pers.map((name) => [name, `for each ${fieldShown(name)}`])),
        }}
      />
    </FormDialog>
  )
}

function Named({ name, value }: { readonly name: string; readonly value: string | undefined }) {
  const names = useNames(name)
  const id = `budget-${name}`
  return (
    <>
      <Field label={fieldShown(name)} name={name} defaultValue={value} list={id} />
      <datalist id={id}>
        {names.map((each) => (
          <option key={each} value={each} />
        ))}
      </datalist>
    </>
  )
}

const filterOf = (fields: FormData, before: BudgetFilter): object => ({
  ...before,
  ...Object.fromEntries(FILTERED.map((name) => [name, textOf(fields, name)])),
})
