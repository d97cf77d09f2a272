import type { Problem } from '../problems/problem-catalogue.js'
import type { Dimension } from '../records/dimensions.js'
import { badParameter, namedOnce, readPairs } from '../text/query-string.js'
import { FILTER_FIELDS, withTags } from './filter-fields.js'
import { type Condition, digestOf, formatSort, isFilterName, parseFilters, parseSort, type Sort } from './parse.js'

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
