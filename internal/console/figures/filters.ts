import { FIELDS, type Field, OPERATORS, type Operator, TAG_FIELD } from '../../filters/fields.js'
import { fieldShown } from './words.js'

/** Filters of records as the address has them: `filter[<field>][<operator>]=<value>`, the API's own form. */
export interface Filter {
  readonly field: string
  readonly operator: Operator
  /** As in the address; of `in`, a comma-separated list. */
  readonly value: string
}

const NAME = /^filter\[([^\]]+)\]\[(\w+)\]$/

/** @returns the filters in their order; what is no filter of records is left out */
export function filtersOf(params: URLSearchParams): readonly Filter[] {
  return [...params].flatMap(([name, value]) => {
    const [, field = '', operator = ''] = NAME.exec(name) ?? []
    const known = OPERATORS.find((each) => each === operator)
    return known === undefined || fieldNamed(field)?.operators.includes(known) !== true
      ? []
      : [{ field, operator: known, value }]
  })
}

export const filterName = ({ field, operator }: Pick<Filter, 'field' | 'operator'>): string =>
  `filter[${field}][${operator}]`

/** Undefined for a field by which records cannot be filtered. */
export const fieldNamed = (name: string): Field | undefined => {
  if (name.startsWith('tags.')) return TAG_FIELD
  return Object.hasOwn(FIELDS, name) ? FIELDS[name as keyof typeof FIELDS] : undefined
}

/** The parameters with other filters in place of theirs. */
export function withFilters(params: URLSearchParams, filters: readonly Filter[]): URLSearchParams {
  const next = new URLSearchParams([...params].filter(([name]) => !name.startsWith('filter[')))
  for (const filter of filters) next.append(filterName(filter), filter.value)
  return next
}

export const OPERATOR_WORDS: Readonly<Record<Operator, string>> = {
  eq: 'is',
  ne: 'is not',
  gt: 'more than',
  gte: 'at least',
  lt: 'less than',
  lte: 'at most',
  in: 'is one of',
  contains: 'contains',
}

/** A filter as bodies of the API state it: with its values as a list. */
export const statedFilter = ({ field, operator, value }: Filter) => ({
  field,
  operator,
  values: operator === 'in' ? value.split(/(?<!\\),/).map((each) => each.replaceAll('\\,', ',')) : [value],
})

/** A stated filter in words, as its parts: names from outside are shown by themselves. */
export const filterWords = (field: string, operator: string, values: readonly string[]): string =>
  `${fieldShown(field)} ${OPERATOR_WORDS[operator as Operator] ?? operator} ${values.join(', ')}`
