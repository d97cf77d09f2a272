import type { Caller } from '../../auth/authenticate.js'
import type { Problem } from '../../problems/problem-catalogue.js'
import { badParameter, readQuery } from '../../text/query-string.js'
import { CONTAINS_MAX, LIMIT_MAX } from '../contract/page.js'
import type { Exchange } from '../exchange.js'
import { type CursorCodec, type Page, readLimit } from './pages.js'
import { compareKeys, type Order, type SortedRecords } from './sorted-records.js'

/** Size and start of a page of a collection. */
export interface PagePosition {
  readonly limit: number
  /** Sort key of the last record of the previous page; undefined on the first page. */
  readonly after: readonly string[] | undefined
  /** All pages show the collection as of this instant, milliseconds since the epoch. */
  readonly snapshotMs: number
  /** The cursor to the records after one. @param lastKey its sort key */
  readonly cursorAfter: (lastKey: readonly string[]) => string
}

/** A validated request for a page. */
export interface PageRequest<F extends string = never> extends PagePosition {
  readonly filters: { readonly [name in F]?: string }
}

export type ReadPosition =
  | { readonly ok: true; readonly request: PagePosition }
  | { readonly ok: false; readonly problem: Problem }

export type ReadPage<F extends string> =
  | { readonly ok: true; readonly request: PageRequest<F> }
  | { readonly ok: false; readonly problem: Problem }

/**
 * Reads `limit`, `cursor` and the filters from the query; any other parameter is refused.
 *
 * @param name of the collection and its order; a cursor of another collection or with other filters is refused
 */
export function readPage<const F extends string = never>(
  exchange: Exchange,
  { tenantId }: Caller,
  name: string,
  deps: {
    readonly cursors: CursorCodec
    readonly clock: () => number
    /** The snapshot time of a first page. Default: now. */
    readonly newestMs?: number
  },
  filterNames: readonly F[] = [],
): ReadPage<F> {
  const read = readQuery<F | 'limit' | 'cursor'>(exchange.query, ['limit', 'cursor', ...filterNames])
  if (!read.ok) return read
  const { limit, cursor, ...filters } = read.values as Record<string, string | undefined>
  if (filters['contains'] !== undefined && [...filters['contains']].length > CONTAINS_MAX) {
    const detail = `contains must have at most ${CONTAINS_MAX} characters.`
    return { ok: false, problem: badParameter('/contains', detail) }
  }
  const stated = filterNames.flatMap((filter) => (filters[filter] === undefined ? [] : [[filter, filters[filter]]]))
  const query = stated.length === 0 ? name : `${name} ${JSON.stringify(stated)}`
  const { cursors } = deps
  const nowMs = deps.clock()
  const snapshotMs = deps.newestMs ?? nowMs
  const page = readPosition({ limit, cursor }, { tenantId, query }, { cursors, nowMs, snapshotMs })
  return page.ok ? { ok: true, request: { ...page.request, filters: filters as PageRequest<F>['filters'] } } : page
}

/**
 * Validates `limit` and `cursor`.
 *
 * @param query whose records, and which: a cursor is valid for no other
 * @param from its `snapshotMs` is the snapshot time of a first page, milliseconds since the epoch
 */
export function readPosition(
  { limit: limitText, cursor }: { readonly limit?: string | undefined; readonly cursor?: string | undefined },
  { tenantId, query }: { readonly tenantId: string; readonly query: string },
  from: { readonly cursors: CursorCodec; readonly nowMs: number; readonly snapshotMs: number },
): ReadPosition {
  const { cursors, nowMs } = from
  const limit = readLimit(limitText)
  if (limit === undefined) {
    return { ok: false, problem: badParameter('/limit', `limit must be an integer from 1 to ${LIMIT_MAX}.`) }
  }
  const decoded = cursor === undefined ? undefined : cursors.decode(cursor, { tenantId, query }, nowMs)
  if (decoded?.ok === false) return decoded

  const snapshotMs = decoded?.state.snapshotMs ?? from.snapshotMs
  return {
    ok: true,
    request: {
      limit,
      after: decoded?.state.lastKey,
      snapshotMs,
      cursorAfter: (lastKey) => cursors.encode({ tenantId, query, lastKey, snapshotMs }, nowMs),
    },
  }
}

/**
 * The envelope around a page's records.
 *
 * @param rows sorted, those after `after`; one more than the limit means that there is another page
 * @param keyOf sort key of a row, ending with its id
 */
export function pageOf<T, W>(
  { limit, cursorAfter }: PagePosition,
  rows: readonly T[],
  keyOf: (row: T) => readonly string[],
  show: (row: T) => W,
): Page<W> {
  const shown = rows.slice(0, limit)
  const last = shown.at(-1)
  const hasMore = rows.length > limit
  return {
    data: shown.map(show),
    page: {
      ...(hasMore && last !== undefined ? { next_cursor: cursorAfter(keyOf(last)) } : {}),
      limit,
      has_more: hasMore,
    },
  }
}

/** One page of records held in memory and sorted. */
export const pageOfSorted = <T, W>(
  request: PagePosition,
  records: SortedRecords<T>,
  order: Order,
  show: (record: T) => W,
  isWanted?: (record: T) => boolean,
): Page<W> =>
  pageOf(
    request,
    records.after(request.after, order, request.limit + 1, isWanted),
    ({ key }) => key,
    ({ record }) => show(record),
  )

/**
 * One page of unsorted records held in memory, a few thousand at most. Every record whose key does not change is
 * returned exactly once, whatever is added or removed between two pages.
 *
 * @param records all records of the tenant, in any order
 */
export function pageOfAll<T, W>(
  request: PagePosition,
  records: Iterable<T>,
  keyOf: (record: T) => readonly string[],
  order: Order,
  show: (record: T) => W,
): Page<W> {
  const sign = order === 'ascending' ? 1 : -1
  const compare = (one: readonly string[], other: readonly string[]): number => sign * compareKeys(one, other)
  const { after, limit } = request
  // Keeps only the page sorted, not the whole collection.
  const rows: { readonly record: T; readonly key: readonly string[] }[] = []
  for (const record of records) {
    const key = keyOf(record)
    if (after !== undefined && compare(key, after) <= 0) continue
    const last = rows.at(-1)
    if (rows.length > limit && last !== undefined && compare(key, last.key) >= 0) continue
    rows.splice(insertionIndex(key, rows, compare), 0, { record, key })
    if (rows.length > limit + 1) rows.pop()
  }
  return pageOf(
    request,
    rows,
    ({ key }) => key,
    ({ record }) => show(record),
  )
}

export function* wanted<T>(records: Iterable<T>, isWanted: (record: T) => boolean): Iterable<T> {
  for (const record of records) if (isWanted(record)) yield record
}

/** The insertion index of a key among sorted rows. */
function insertionIndex(
  key: readonly string[],
  rows: readonly { readonly key: readonly string[] }[],
  compare: (one: readonly string[], other: readonly string[]) => number,
): number {
  let [low, high] = [0, rows.length]
  while (low < high) {
    const middle = (low + high) >>> 1
    if (compare(rows[middle]?.key ?? [], key) <= 0) low = middle + 1
    else high = middle
  }
  return low
}
