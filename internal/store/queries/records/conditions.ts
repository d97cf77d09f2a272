import { containing, foldCase, foldCaseSql } from '../../../filters/contains.js'
import { FILTER_FIELDS, type FieldName, type FieldType, type Operator } from '../../../filters/filter-fields.js'
import type { Condition } from '../../../filters/parse.js'
import { isTagField, keyOfTagField, NOT_DECLARED, pairOf, pairStart } from '../../../records/dimensions.js'
import { providerName } from '../../../records/provider-names.js'
import { hasValues, VALUES_OF_TAGS } from '../../tables/attribution-values.js'
import { columnOf } from '../../tables/sorted-copies.js'
import { isProviderSql, providerSql } from './provider-sql.js'

/** Filters as SQL conditions. Names come from the allowlist, values are bound: no client input becomes SQL. */

/** The parameters of one query, by name. */
export class Bindings {
  readonly params: Record<string, unknown> = {}

  /** @returns the placeholder */
  bind(value: string | number, type: string): string {
    const name = `p${Object.keys(this.params).length}`
    this.params[name] = value
    return `{${name}:${type}}`
  }
}

/** A condition over a record table; `false` if no record can match, `true` if all do. */
export type Clause = string | boolean

export function clauseOf(condition: Condition, bindings: Bindings): Clause {
  const { field, operator, values } = condition
  if (isTagField(field)) return tagClause(keyOfTagField(field), operator, values, bindings)
  const column = columnOf(field)
  if (field === 'provider') return providerClause(operator, values, bindings)
  const { type } = FILTER_FIELDS[field] as { readonly type: FieldType }
  switch (type.kind) {
    case 'confidence':
      return confidenceClause(operator, values, bindings)
    case 'choice':
      if (operator === 'contains') {
        const found = type.values.filter(containing(values[0] ?? ''))
        return found.length === 0 ? false : compare(column, 'in', found, (value) => bindings.bind(value, 'String'))
      }
      break
    case 'text':
      if (operator === 'contains') return containsClause(field, values[0] ?? '', bindings)
  }
  return compare(column, operator, values, (value) => operandOf(type.kind, value, bindings))
}

/** An operand in its column's own type: a float literal, for example, would not use the index. */
export function operandOf(kind: FieldType['kind'], value: string, bindings: Bindings): string {
  switch (kind) {
    case 'text':
    case 'tag':
    case 'choice':
      return bindings.bind(value, 'String')
    case 'amount':
      return bindings.bind(value, 'Decimal(38, 18)')
    case 'confidence':
      return bindings.bind(value, 'Decimal(5, 4)')
    case 'instant':
      return `fromUnixTimestamp64Milli(${bindings.bind(withinColumn(value), 'Int64')})`
    case 'id':
      return `CAST(unhex(${bindings.bind(value, 'String')}) AS FixedString(16))`
  }
}

const COMPARISONS = { eq: '=', ne: '!=', gt: '>', gte: '>=', lt: '<', lte: '<=' } as const

function compare(
  column: string,
  operator: Operator,
  values: readonly string[],
  operand: (value: string) => string,
): string {
  if (operator === 'in') return `${column} IN (${values.map(operand).join(', ')})`
  return `${column} ${COMPARISONS[operator as keyof typeof COMPARISONS]} ${operand(values[0] ?? '')}`
}

/** Any spelling of a provider finds all its records. The column's few values are searched, not its rows. */
function providerClause(operator: Operator, values: readonly string[], bindings: Bindings): string {
  const isNamed =
    operator === 'contains'
      ? [providerSql('value'), 'value']
          .map((text) => `position(${foldCaseSql(text)}, ${bindings.bind(foldCase(values[0] ?? ''), 'String')}) > 0`)
          .join(' OR ')
      : isProviderSql('value', values.map(providerName), (name) => bindings.bind(name, 'String'))
  return `provider ${operator === 'ne' ? 'NOT IN' : 'IN'} (
    SELECT value FROM attribution_values
    WHERE tenant_id = {tenant:String} AND field = 'provider' AND (${isNamed}))`
}

/** The few values of a column whose values are stored are searched, not its rows. */
const containsClause = (field: FieldName, text: string, bindings: Bindings): string =>
  !hasValues(field)
    ? `position(${foldCaseSql(columnOf(field))}, ${bindings.bind(foldCase(text), 'String')}) > 0`
    : `${columnOf(field)} IN (
    SELECT value FROM attribution_values
    WHERE tenant_id = {tenant:String} AND field = ${bindings.bind(field, 'String')}
      AND position(${foldCaseSql('value')}, ${bindings.bind(foldCase(text), 'String')}) > 0)`

/**
 * A tag is found as a pair of key and value, by the index of pairs. Records from before the declaration have no pair
 * with the key; records without the tag have a pair with an empty value.
 */
export function tagClause(
  key: string,
  operator: Operator,
  values: readonly string[],
  bindings: Pick<Bindings, 'bind'>,
): string {
  if (operator === 'contains') {
    return `hasAny(dimensions, (
      SELECT groupArray(value) FROM attribution_values
      WHERE tenant_id = {tenant:String} AND field = '${VALUES_OF_TAGS}'
        AND startsWith(value, ${bindings.bind(pairStart(key), 'String')})
        AND position(${foldCaseSql(`substring(value, ${pairStartBytes(key) + 1})`)},
          ${bindings.bind(foldCase(values[0] ?? ''), 'String')}) > 0))`
  }
  const pairs = values.filter((value) => value !== NOT_DECLARED).map((value) => pairOf(key, value))
  const found = [
    ...(pairs.length === 1 ? [`has(dimensions, ${bindings.bind(pairs[0] ?? '', 'String')})`] : []),
    ...(pairs.length > 1
      ? [`hasAny(dimensions, [${pairs.map((pair) => bindings.bind(pair, 'String')).join(', ')}])`]
      : []),
    ...(pairs.length < values.length
      ? [`NOT arrayExists(pair -> startsWith(pair, ${bindings.bind(pairStart(key), 'String')}), dimensions)`]
      : []),
  ].join(' OR ')
  return operator === 'ne' ? `NOT (${found})` : found
}

const pairStartBytes = (key: string): number => Buffer.byteLength(pairStart(key))

/** The range of DateTime64; no record is outside. */
const FIRST_MS = Date.UTC(1900, 0, 1)
const LAST_MS = Date.UTC(2299, 11, 31)
const withinColumn = (ms: string): string => String(Math.min(Math.max(Number(ms), FIRST_MS), LAST_MS))

/** Confidence is stored in ten-thousandths: an operand between two of them becomes the one with the same matches. */
function confidenceClause(operator: Operator, values: readonly string[], bindings: Bindings): Clause {
  const bind = (steps: number): string => operandOf('confidence', decimalOf(Math.min(steps, STEPS_MAX)), bindings)
  const stored = values.map(stepsOf).filter(({ isExact, floor }) => isExact && floor <= STEPS_MAX)
  const [{ floor, ceiling } = { floor: 0, ceiling: 0 }] = values.map(stepsOf)
  switch (operator) {
    case 'eq':
    case 'in':
      return stored.length === 0 ? false : `confidence IN (${stored.map((one) => bind(one.floor)).join(', ')})`
    case 'ne':
      return stored.length === 0 ? true : `confidence != ${bind(floor)}`
    case 'gt':
      return `confidence > ${bind(floor)}`
    case 'lte':
      return `confidence <= ${bind(floor)}`
    case 'gte':
      return `confidence >= ${bind(ceiling)}`
    case 'lt':
      return `confidence < ${bind(ceiling)}`
    case 'contains':
      throw new Error('no operator of a number')
  }
}

/** Of Decimal(5, 4). */
const STEPS_MAX = 99_999

/** The ten-thousandths around a decimal of at most 20 digits before the point; larger ones are all alike. */
function stepsOf(text: string): { readonly floor: number; readonly ceiling: number; readonly isExact: boolean } {
  const [whole = '0', fraction = ''] = text.split('.')
  const floor = Number(`${whole}${fraction.slice(0, 4).padEnd(4, '0')}`)
  const isExact = /^0*$/.test(fraction.slice(4))
  return { floor, ceiling: isExact ? floor : floor + 1, isExact }
}

const decimalOf = (steps: number): string => {
  const digits = String(steps).padStart(5, '0')
  return `${digits.slice(0, -4)}.${digits.slice(-4)}`
}
