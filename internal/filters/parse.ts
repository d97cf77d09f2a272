import { createHash } from 'node:crypto'
import type { Problem } from '../problems/problem-catalogue.js'
import { type Dimension, isTagField, keyOfTagField, tagFieldOf } from '../records/dimensions.js'
import { badParameter, namedOnce, readPairs } from '../text/query-string.js'
import {
  FILTER_FIELDS,
  FILTERS_MAX,
  type Field,
  type FilterField,
  LIST_MAX,
  OPERATORS,
  type Operator,
  SORT_FIELDS,
  type SortField,
  withTags,
} from './filter-fields.js'
import { describeOperand, readOperand, splitList } from './operand.js'

/** The filter and sort grammar: pure, and closed against everything that `filter-fields.ts` does not allow. */

/** One filter; a record must match all filters of a query. */
export interface Condition<F extends string = FilterField> {
  readonly field: F
  readonly operator: Operator
  /** As `readOperand` gives them: one, or for `in` one or more, each once. */
  readonly values: readonly string[]
}

export interface Sort {
  readonly field: SortField
  readonly isDescending: boolean
}

export const DEFAULT_SORT: Sort = { field: 'event_time', isDescending: true }

/** An invalid parameter: why, and where (RFC 6901, as if the query were an object). Never repeats the sent value. */
export interface Fault {
  readonly pointer: string
  readonly detail: string
}

export type Read<T> = { readonly ok: true; readonly value: T } | { readonly ok: false; readonly fault: Fault }

/** Whether a parameter of this name is meant as a filter, valid or not. */
export const isFilterName = (name: string): boolean => name === 'filter' || name.startsWith('filter[')

/**
 * @param parameters name and value of each, decoded; filters may repeat
 * @param fields that may be filtered by; default: those of records
 * @returns the filters in the order of the parameters
 */
export function parseFilters(parameters: readonly (readonly [name: string, value: string])[]): Read<Condition[]>
export function parseFilters<F extends string>(
  parameters: readonly (readonly [name: string, value: string])[],
  fields: Readonly<Record<F, Field>>,
): Read<Condition<F>[]>
export function parseFilters(
  parameters: readonly (readonly [name: string, value: string])[],
  fields: Readonly<Record<string, Field>> = FILTER_FIELDS,
): Read<Condition<string>[]> {
  if (parameters.length > FILTERS_MAX) {
    return wrong('/filter', `At most ${FILTERS_MAX} filters are allowed.`)
  }
  const conditions: Condition<string>[] = []
  for (const [name, text] of parameters) {
    const read = parseFilter(name, text, fields)
    if (!read.ok) return read
    conditions.push(read.value)
  }
  return { ok: true, value: conditions }
}

const FILTER_NAME = /^filter\[([^[\]]*)\]\[([^[\]]*)\]$/

function parseFilter(name: string, text: string, fields: Readonly<Record<string, Field>>): Read<Condition<string>> {
  const [, written = '', operatorName = ''] = FILTER_NAME.exec(name) ?? []
  const field = isTagField(written) ? tagFieldOf(keyOfTagField(written)) : written
  // Own members only: `constructor` is not a field.
  const found = Object.hasOwn(fields, field) ? fields[field] : undefined
  if (found === undefined) return unknownField(field, fields, FILTER_NAME.test(name))
  const { type, operators } = found
  const operator = OPERATORS.find((known) => known === operatorName && operators.includes(known))
  if (operator === undefined) {
    return wrong(`/filter/${field}`, `Operators of ${field}: ${operators.join(', ')}.`)
  }
  const pointer = `/filter/${field}/${operator}`
  // The text to look for may be a fragment that is not a valid value of the field.
  const operandType = operator === 'contains' ? ({ kind: 'text' } as const) : type
  const texts = operator === 'in' ? splitList(text) : [text]
  if (texts.length > LIST_MAX) return wrong(pointer, `A list may contain at most ${LIST_MAX} values.`)
  const values = new Set<string>()
  for (const one of texts) {
    const value = readOperand(operandType, one)
    if (value === undefined) {
      const what = describeOperand(operandType)
      return wrong(pointer, operator === 'in' ? `Each value must be ${what}.` : `The value must be ${what}.`)
    }
    values.add(value)
  }
  return { ok: true, value: { field, operator, values: [...values] } }
}

function unknownField(field: string, fields: Readonly<Record<string, Field>>, isWellFormed: boolean) {
  const known = Object.keys(fields)
  if (isTagField(field)) {
    const keys = known.filter(isTagField).map(keyOfTagField)
    return wrong('/filter/tags', `The tag key is not declared. Declared keys: ${keys.join(', ') || 'none'}.`)
  }
  const fault = isWellFormed
    ? 'This field cannot be filtered by.'
    : 'A filter must have the form filter[<field>][<operator>]=<value>.'
  return wrong('/filter', `${fault} Fields: ${known.join(', ')}.`)
}

/** @param text a field, prefixed with `-` for descending order; undefined: newest events first */
export function parseSort(text: string | undefined): Read<Sort> {
  if (text === undefined) return { ok: true, value: DEFAULT_SORT }
  const isDescending = text.startsWith('-')
  const name = isDescending ? text.slice(1) : text
  const field = SORT_FIELDS.find((known) => known === name)
  if (field === undefined) {
    return wrong('/sort', `sort must be one of ${SORT_FIELDS.join(', ')}, prefixed with - for descending order.`)
  }
  return { ok: true, value: { field, isDescending } }
}

export const formatSort = ({ field, isDescending }: Sort): string => (isDescending ? `-${field}` : field)

/** Equal for the same set of filters regardless of order and spelling, different for different sets. */
export function digestOf(conditions: readonly Condition<string>[]): string {
  const texts = conditions.map(({ field, operator, values }) => JSON.stringify([field, operator, values.toSorted()]))
  const distinct = [...new Set(texts)].sort()
  return createHash('sha256').update(distinct.join('\n')).digest('base64url').slice(0, DIGEST_CHARACTERS)
}

/** 132 bits. */
const DIGEST_CHARACTERS = 22

const wrong = (pointer: string, detail: string) => ({ ok: false, fault: { pointer, detail } }) as const

export interface FilteredQuery {
  readonly conditions: readonly Condition[]
  readonly sort: Sort
  readonly limit: string | undefined
  readonly cursor: string | undefined
  /** Identifies sort and filters: a cursor is valid only for the digest it was issued with. */
  readonly digest: string
}

export type ReadFilteredQuery =
  | { readonly ok: true; readonly query: FilteredQuery }
  | { readonly ok: false; readonly problem: Problem }

/**
 * Reads the query string of a collection that can be filtered and sorted; rejects unknown parameters.
 *
 * @param declared the tag keys that the tenant has declared
 */
export function readFilteredQuery(text: string, declared: readonly Pick<Dimension, 'key'>[]): ReadFilteredQuery {
  const read = readPairs(text)
  if (!read.ok) return read
  const filters = parseFilters(
    read.pairs.filter(([name]) => isFilterName(name)),
    withTags(FILTER_FIELDS, declared),
  )
  if (!filters.ok) return { ok: false, problem: badParameter(filters.fault.pointer, filters.fault.detail) }
  const others = namedOnce(
    read.pairs.filter(([name]) => !isFilterName(name)),
    ['limit', 'cursor', 'sort'],
  )
  if (!others.ok) return others
  const sort = parseSort(others.values.sort)
  if (!sort.ok) return { ok: false, problem: badParameter(sort.fault.pointer, sort.fault.detail) }

  const digest = `${formatSort(sort.value)} ${digestOf(filters.value)}`
  const { limit, cursor } = others.values
  return { ok: true, query: { conditions: filters.value, sort: sort.value, limit, cursor, digest } }
}
