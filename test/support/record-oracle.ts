/** The expected result of a record query, computed row by row in the simplest way. */
import { containing } from '../../internal/filters/contains.js'
import { type FieldType, type FilterField, fieldOf } from '../../internal/filters/filter-fields.js'
import type { Condition, Sort } from '../../internal/filters/parse.js'
import { isTagField, keyOfTagField, NOT_DECLARED, pairStart } from '../../internal/records/dimensions.js'
import { providerName } from '../../internal/records/provider-names.js'
import type { StoredAttribution } from '../../internal/store/queries/records/attributions.js'

type Value = string | bigint

const SCALE = 18
const decimal = (text: string): bigint => {
  const [whole = '0', fraction = ''] = text.split('.')
  return BigInt(whole + fraction.padEnd(SCALE, '0'))
}

/** A value that compares in the order of its type. */
const comparable = ({ kind }: FieldType, text: string): Value => {
  if (kind === 'amount' || kind === 'confidence') return decimal(text)
  return kind === 'instant' ? BigInt(text) : text
}

function textOf(record: StoredAttribution, field: FilterField): string {
  if (isTagField(field)) {
    const start = pairStart(keyOfTagField(field))
    return record.dimensions.find((pair) => pair.startsWith(start))?.slice(start.length) ?? NOT_DECLARED
  }
  switch (field) {
    case 'event_time':
      return record.event_time_ms
    case 'materialized_at':
      return record.valid_from_ms
    case 'invocation_id':
      return record.id
    default:
      // Some fields are no members of a listed record.
      return String((record as unknown as Readonly<Record<string, unknown>>)[field] ?? '')
  }
}

const order = (one: Value, other: Value): number => (one < other ? -1 : one > other ? 1 : 0)

/** ClickHouse orders text by its bytes. */
const bytewise = (one: Value, other: Value): number =>
  typeof one === 'string' && typeof other === 'string'
    ? Buffer.compare(Buffer.from(one), Buffer.from(other))
    : order(one, other)

export function meets(record: StoredAttribution, { field, operator, values }: Condition): boolean {
  const { type } = fieldOf(field)
  const text = textOf(record, field)
  if (operator === 'contains') {
    return !(isTagField(field) && text === NOT_DECLARED) && containing(values[0] ?? '')(text)
  }
  const own = comparable(type, text)
  const compared = values.map((value) => bytewise(own, comparable(type, value)))
  const [first = 0] = compared
  switch (operator) {
    case 'eq':
    case 'in':
      return compared.includes(0)
    case 'ne':
      return first !== 0
    case 'gt':
      return first > 0
    case 'gte':
      return first >= 0
    case 'lt':
      return first < 0
    case 'lte':
      return first <= 0
  }
}

export function inOrder(records: readonly StoredAttribution[], { field, isDescending }: Sort): StoredAttribution[] {
  const { type } = fieldOf(field)
  const sign = isDescending ? -1 : 1
  // Providers are sorted as they are shown.
  const shown = (text: string): string => (field === 'provider' ? providerName(text) : text)
  const keyed = records.map((record) => ({ record, key: comparable(type, shown(textOf(record, field))) }))
  return keyed
    .sort((one, other) => sign * (bytewise(one.key, other.key) || order(one.record.id, other.record.id)))
    .map(({ record }) => record)
}

export { textOf as fieldText }
