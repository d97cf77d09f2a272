import type { Exchange } from '../../http/exchange.js'
import type { Problem } from '../../problems/problem-catalogue.js'
import { readPairs } from '../../text/query-string.js'
import { COUNT_MAX, type ScimBody } from './scim-contract.js'
import {
  type Filter,
  isSelected,
  type Lookup,
  lookupsOf,
  readFilter,
  readsMembers,
  type ValuesOf,
} from './scim-filter.js'
import { badRequest, listOf, NO_OBJECT, readObject } from './scim-messages.js'
import { type Projection, projected, projectionOf } from './scim-projection.js'

/** Lists: what a client asks for, and what is found without reading through all. */

export interface ScimQuery {
  readonly startIndex: number
  readonly count: number
  readonly filter: Filter | undefined
  readonly projection: Projection
}

const COUNT_DEFAULT = 100
const NO_FILTER = badRequest('invalidFilter', 'filter does not follow RFC 7644 section 3.4.2.2.')
const NO_NUMBER = badRequest('invalidValue', 'startIndex and count must be whole numbers.')
const READS_ALL = badRequest(
  'invalidFilter',
  'filter must ask for one value by eq: of userName, externalId or id; of groups also displayName or members. ' +
    'Other conditions may follow with and.',
)

/** Of a GET. */
export function queryOf({ query }: Pick<Exchange, 'query'>): ScimQuery | Problem {
  const read = readPairs(query)
  return read.ok ? queryIn(new Map(read.pairs)) : read.problem
}

/** Of a search by POST (RFC 7644 section 3.4.3). */
export function searchOf(body: Buffer): ScimQuery | Problem {
  const members = readObject(body)
  return members === undefined ? NO_OBJECT : queryIn(new Map(Object.entries(members)))
}

function queryIn(stated: ReadonlyMap<string, unknown>): ScimQuery | Problem {
  const of = (name: string): unknown => stated.get(name) ?? stated.get(name.toLowerCase())
  const text = of('filter')
  const filter = typeof text === 'string' ? readFilter(text) : undefined
  if (text !== undefined && text !== null && filter === undefined) return NO_FILTER
  if ([of('startIndex'), of('count')].some((each) => typeof each === 'object' && each !== null)) return NO_NUMBER
  return {
    // Less than 1 is 1, and less than 0 is 0 (RFC 7644 section 3.4.2.4).
    startIndex: Math.max(1, wholeNumber(of('startIndex')) ?? 1),
    count: Math.min(COUNT_MAX, Math.max(0, wholeNumber(of('count')) ?? COUNT_DEFAULT)),
    filter,
    projection: projectionOf({ attributes: of('attributes'), excluded: of('excludedAttributes') }),
  }
}

const wholeNumber = (value: unknown): number | undefined =>
  /^[+-]?\d+$/.test(String(value).trim()) ? Math.min(Number(value), Number.MAX_SAFE_INTEGER) : undefined

/** One kind of resources of a tenant. */
export interface Collection<T> {
  readonly size: number
  /** In their order, from a place on. */
  at(start: number, count: number): readonly T[]
  /** Whether they are found by an attribute; undefined: none has it. */
  isIndexed(attribute: string): boolean | undefined
  find(lookup: Lookup): readonly T[]
  valuesOf(one: T): ValuesOf
  show(one: T, projection: Projection): ScimBody
  /** How much of an answer one takes, in rows. */
  rowsOf(one: T, projection: Projection): number
}

/** A page holds no more rows, unless its first resource does: a group may have a hundred thousand members. */
const ROWS_MAX = 20_000

/** What a query finds, of one kind of resources after the other. */
export function listed(collections: readonly Collection<unknown>[], query: ScimQuery): ScimBody | Problem {
  const { startIndex, count, projection } = query
  const shown: ScimBody[] = []
  let [total, rows] = [0, 0]
  for (const collection of collections) {
    const found = foundIn(collection, query.filter)
    if ('code' in found) return found
    const start = Math.max(0, startIndex - 1 - total)
    for (const one of rows > ROWS_MAX ? [] : found.at(start, count - shown.length)) {
      rows += collection.rowsOf(one, projection)
      if (rows > ROWS_MAX && shown.length > 0) break
      shown.push(projected(collection.show(one, projection), projection))
    }
    total += found.size
  }
  return listOf(shown, total, startIndex)
}

/** Resources that a filter may be tried on: with each of its conditions, in one turn. */
const CANDIDATES_MAX = 1_000

function foundIn<T>(
  collection: Collection<T>,
  filter: Filter | undefined,
): Pick<Collection<T>, 'size' | 'at'> | Problem {
  if (filter === undefined) return collection
  const lookups = lookupsOf(filter, collection.isIndexed)
  if (lookups === undefined) return READS_ALL
  if (collection.isIndexed('members') === true && readsMembers(filter)) return READS_ALL
  const candidates = new Set<T>()
  for (const lookup of new Map(lookups.map((each) => [`${each.attribute} ${each.value}`, each])).values()) {
    for (const one of collection.find(lookup)) candidates.add(one)
    if (candidates.size > CANDIDATES_MAX) return READS_ALL
  }
  const found = [...candidates].filter((one) => isSelected(filter, collection.valuesOf(one)))
  return { size: found.length, at: (start, count) => found.slice(start, start + count) }
}
