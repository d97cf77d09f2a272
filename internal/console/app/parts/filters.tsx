import { useRef, useState } from 'preact/hooks'
import { type Field, type FieldType, type Operator, withTags } from '../../../filters/filter-fields.js'
import { type Fields, type Filter, OPERATOR_WORDS } from '../../figures/filters.js'
import { fieldShown, wordOf } from '../../figures/words.js'
import { useNames } from '../api/use-names.js'
import { useTags } from '../api/use-tags.js'
import { Instant } from './instant.js'
import { Name } from './name.js'

interface FiltersProps {
  /** By which there can be filters, beside the declared tags. */
  readonly fields: Fields
  readonly filters: readonly Filter[]
  /** In which times are shown. */
  readonly zone?: string
  /** Those of the address that cannot hold; they are left out with the next change. */
  readonly unheld?: readonly string[]
  readonly onChange: (filters: readonly Filter[]) => void
}

/** The filters that hold, each with a way to remove it, and fields that add one: no form, since they may be in one. */
export function Filters({ fields: ofPage, filters, zone = 'UTC', unheld = [], onChange }: FiltersProps) {
  const fields: Fields = withTags(ofPage, useTags() ?? [])
  const remove = (at: number): void => onChange(filters.filter((_, each) => each !== at))
  return (
    <div class="filters">
      {filters.map((filter, at) => (
        <button
          key={`${filter.field} ${filter.operator} ${filter.value}`}
          type="button"
          class="chip"
          onClick={() => remove(at)}
        >
          {fieldShown(filter.field)} {OPERATOR_WORDS[filter.operator]}{' '}
          <FilterValue filter={filter} kind={fields[filter.field]?.type.kind} zone={zone} />{' '}
          <span aria-hidden="true">×</span>
          <span class="hidden">(remove)</span>
        </button>
      ))}
      {unheld.length > 0 && (
        <p class="notice unheld" role="status">
          This page cannot filter by {unheld.length === 1 ? 'this part' : 'these parts'} of its address, and shows what
          it selects without: <code>{unheld.join(' ')}</code>{' '}
          <button type="button" class="quiet" onClick={() => onChange(filters)}>
            Leave it out
          </button>
        </p>
      )}
      <AddFilter fields={fields} onAdd={(filter) => onChange([...filters, filter])} />
    </div>
  )
}

interface FilterValueProps {
  readonly filter: Filter
  readonly kind: FieldType['kind'] | undefined
  readonly zone: string
}

function FilterValue({ filter: { value }, kind, zone }: FilterValueProps) {
  if (kind === 'choice') return wordOf(value)
  const ms = kind === 'instant' ? Date.parse(value) : Number.NaN
  return Number.isNaN(ms) ? <Name>{value}</Name> : <Instant ms={ms} zone={zone} />
}

interface AddFilterProps {
  readonly fields: Fields
  readonly onAdd: (filter: Filter) => void
}

function AddFilter({ fields, onAdd }: AddFilterProps) {
  const [field, setField] = useState('service')
  const operators = fields[field]?.operators ?? []
  const [chosen, setChosen] = useState<Operator>('eq')
  const operator = operators.includes(chosen) ? chosen : 'eq'
  const [value, setValue] = useState('')
  const group = useRef<HTMLFieldSetElement>(null)
  const add = (): void => {
    if (value === '') return group.current?.querySelector<HTMLElement>('[data-filter]')?.focus()
    onAdd({ field, operator, value })
    setValue('')
  }
  const addByEnter = (event: KeyboardEvent): void => {
    if (event.key !== 'Enter' || event.isComposing) return
    event.preventDefault()
    add()
  }
  const choose = (name: string): void => {
    setField(name)
    setValue('')
  }
  return (
    <fieldset ref={group} class="add-filter" onKeyDown={addByEnter}>
      <legend class="hidden">A filter</legend>
      <label>
        <span class="hidden">Field</span>
        <select value={field} onChange={({ currentTarget }) => choose(currentTarget.value)}>
          {Object.keys(fields).map((name) => (
            <option key={name} value={name}>
              {fieldShown(name)}
            </option>
          ))}
        </select>
      </label>
      <label>
        <span class="hidden">Comparison</span>
        <select value={operator} onChange={({ currentTarget }) => setChosen(currentTarget.value as Operator)}>
          {operators.map((each) => (
            <option key={each} value={each}>
              {OPERATOR_WORDS[each]}
            </option>
          ))}
        </select>
      </label>
      <Value name={field} field={fields[field]} value={value} onInput={setValue} />
      <button type="button" onClick={add}>
        Add the filter
      </button>
    </fieldset>
  )
}

interface ValueProps {
  readonly name: string
  readonly field: Field | undefined
  readonly value: string
  readonly onInput: (value: string) => void
}

/** A list of the values where it is closed, else a text with those that the calls have. The key `/` goes here. */
function Value({ name, field, value, onInput }: ValueProps) {
  const type = field?.type
  const [isWanted, setWanted] = useState(false)
  const names = useNames(isWanted ? name : '')
  if (type?.kind === 'choice') {
    return (
      <label>
        <span class="hidden">Value</span>
        <select data-filter value={value} onChange={({ currentTarget }) => onInput(currentTarget.value)}>
          <option value="">…</option>
          {type.values.map((each) => (
            <option key={each} value={each}>
              {wordOf(each)}
            </option>
          ))}
        </select>
      </label>
    )
  }
  return (
    <label>
      <span class="hidden">Value</span>
      <input
        data-filter
        value={value}
        placeholder={field?.example ?? ''}
        list="filter-values"
        onFocus={() => setWanted(true)}
        onInput={({ currentTarget }) => onInput(currentTarget.value)}
      />
      <datalist id="filter-values">
        {names.map((each) => (
          <option key={each} value={each} />
        ))}
      </datalist>
    </label>
  )
}
