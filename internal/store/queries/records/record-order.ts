import { FILTER_FIELDS, type SortField } from '../../../filters/filter-fields.js'
import type { Sort } from '../../../filters/parse.js'
import { providerName } from '../../../records/provider-names.js'
import { parseSum } from '../../../units/quantity.js'
import type { StoredAttribution } from './attributions.js'

/** The order of records in a page, as the engine orders them. */

/** The sort key of a record, for its cursor. */
export function keyOf(record: StoredAttribution, field: SortField): readonly [value: string, idHex: string] {
  switch (field) {
    case 'event_time':
      return [record.event_time_ms, record.id]
    case 'materialized_at':
      return [record.valid_from_ms, record.id]
    case 'provider':
      return [providerName(record.provider), record.id]
    default:
      return [record[field], record.id]
  }
}

/** Merges two lists of the same order, up to a maximum of rows. */
export function mergeInOrder(
  one: readonly StoredAttribution[],
  other: readonly StoredAttribution[],
  sort: Sort,
  rowsMax: number,
): StoredAttribution[] {
  const merged: StoredAttribution[] = []
  let [i, j] = [0, 0]
  while (merged.length < rowsMax) {
    const [first, second] = [one[i], other[j]]
    const isFirst = second === undefined || (first !== undefined && !isBefore(second, first, sort))
    const next = isFirst ? first : second
    if (next === undefined) break
    merged.push(next)
    if (isFirst) i++
    else j++
  }
  return merged
}

function isBefore(one: StoredAttribution, other: StoredAttribution, { field, isDescending }: Sort): boolean {
  const [[value, id], [otherValue, otherId]] = [keyOf(one, field), keyOf(other, field)]
  const compared = compare(field, value, otherValue) || (id < otherId ? -1 : Number(id > otherId))
  return isDescending ? compared > 0 : compared < 0
}

function compare(field: SortField, one: string, other: string): number {
  if (one === other) return 0
  switch (FILTER_FIELDS[field].type.kind) {
    case 'instant':
      return Number(one) - Number(other)
    case 'amount':
    case 'confidence':
      return compareSteps(parseSum(one), parseSum(other))
    default:
      return Buffer.compare(Buffer.from(one), Buffer.from(other))
  }
}

const compareSteps = (one: bigint, other: bigint): number => (one < other ? -1 : Number(one > other))
