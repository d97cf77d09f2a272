import { FILTER_FIELDS, type Field, OPERATORS, type Operator, TAG_FIELD } from '../../filters/filter-fields.js'
import type { Period } from './period.js'
import { fieldShown } from './words.js'

/** Filters of records as the address has them: `filter[<field>][<operator>]=<value>`, the API's own form. */
export interface Filter {
  readonly field: string
  readonly operator: Operator
  /** As in the address; of `in`, a comma-separated list. */
  readonly value: string
}

const NAME = /^filter\[([^\]]+)\]\[(\w+)\]$/

/** Fields by which something can be filtered, beside the tag keys. */
export type Fields = Readonly<Record<string, Field>>

/** @returns the filters in their order; what is no filter by these fields is left out */
export const filtersOf = (params: URLSearchParams, fields: Fields = FILTER_FIELDS): readonly Filter[] =>
  [...params].flatMap(([name, value]) => filterOf(name, value, fields) ?? [])

/** Parameters that state a filter which cannot hold, as they are in the address: another field, operator or form. */
export const unheldFilters = (params: URLSearchParams, fields: Fields = FILTER_FIELDS): readonly string[] =>
  [...params]
    .filter(([name, value]) => name.startsWith('filter') && filterOf(name, value, fields) === undefined)
    .map(([name, value]) => `${name}=${value}`)

function filterOf(name: string, value: string, fields: Fields): Filter | undefined {
  const [, field = '', operator = ''] = NAME.exec(name) ?? []
  const known = OPERATORS.find((each) => each === operator)
  if (known === undefined || fieldNamed(field, fields)?.operators.includes(known) !== true) return undefined
  return { field, operator: known, value }
}

export const filterName = ({ field, operator }: Pick<Filter, 'field' | 'operator'>): string =>
  `filter[${field}][${operator}]`

/** Undefined for a field by which there can be no filter. */
export const fieldNamed = (name: string, fields: Fields = FILTER_FIELDS): Field | undefined => {
  if (name.startsWith('tags.')) return TAG_FIELD
  return Object.hasOwn(fields, name) ? fields[name] : undefined
}

/** The filters as parameters of a report, in which one may repeat. */
export function filterParams(filters: readonly Filter[]): Readonly<Record<string, readonly string[]>> {
  const valuesOf = (name: string): readonly string[] =>
    filters.filter((filter) => filterName(filter) === name).map(({ value }) => value)
  return Object.fromEntries(filters.map(filterName).map((name) => [name, valuesOf(name)]))
}

/** The parameters with other filters in place of theirs. */
export function withFilters(params: URLSearchParams, filters: readonly Filter[]): URLSearchParams {
  const next = new URLSearchParams([...params].filter(([name]) => !name.startsWith('filter')))
  for (const filter of filters) next.append(filterName(filter), filter.value)
  return next
}

/** The filters, and those that select the calls of a period. */
export const within = ({ fromMs, toMs }: Pick<Period, 'fromMs' | 'toMs'>, filters: readonly Filter[]) => [
  { field: 'event_time', operator: 'gte', value: new Date(fromMs).toISOString() } as const,
  { field: 'event_time', operator: 'lt', value: new Date(toMs).toISOString() } as const,
  ...filters,
]

/** What is asked, to tell it from what was asked before: a period that ends now stays the same while its end moves. */
export const askedIn = ({ fromMs, label }: Pick<Period, 'fromMs' | 'label'>, filters: readonly Filter[]): string =>
  JSON.stringify([fromMs, label, filters])

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
