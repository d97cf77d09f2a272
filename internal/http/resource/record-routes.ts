import type { Caller } from '../../auth/authenticate.js'
import type { RateClass } from '../../auth/rate-limits.js'
import type { Scope } from '../../auth/scopes.js'
import { containing } from '../../filters/contains.js'
import type { IdPrefix, TenantIds } from '../../ids/ids.js'
import type { Problem } from '../../problems/problem-catalogue.js'
import type { Operation } from '../contract/operation.js'
import type { Exchange } from '../exchange.js'
import type { Route } from '../route.js'
import { type PageRequest, pageOfAll, readPage, wanted } from './collection.js'
import { replyFromStore } from './from-store.js'
import { noSuch, refusalOfId } from './own-id.js'
import type { CursorCodec, Page } from './pages.js'

interface ReadContract {
  /** Path of the collection. */
  readonly path: string
  readonly prefix: IdPrefix
  /** The kind's name in a sentence: `API key`. */
  readonly what: string
  /** Default: `admin:config`. */
  readonly access?: 'any' | Scope
  /** Default: `control`. */
  readonly rateClass?: RateClass
  readonly list: Operation
  readonly get: Operation
}

/**
 * Completes the records of an answer with figures that are not held in memory.
 *
 * @returns the records in the same order; undefined when the tenant has too many queries in flight
 */
export type CompleteRecords = (
  tenantId: string,
  records: readonly object[],
  signal: AbortSignal,
) => Promise<{ readonly value: readonly object[] } | undefined>

/** How a kind of record is read, in wire form. */
export interface ReadKind extends ReadContract {
  readonly complete?: CompleteRecords
  /** Names of the query parameters that filter the collection. */
  readonly filters?: readonly string[]
  /** A problem: of what the filters say. */
  readonly page: (request: PageRequest<string>, caller: Caller) => Page<object> | Problem
  readonly find: (caller: Caller, id: string) => object | undefined
}

/** A kind of record that is held in memory, each under an id of its own. */
export interface RecordKind<T, W> extends ReadContract {
  /** All records of a tenant, in any order. */
  readonly of: (tenantId: string) => Iterable<T>
  readonly find: (id: string) => T | undefined
  /** With it, the collection has the parameter `contains`. */
  readonly nameOf?: (record: T) => string
  /** The record in wire form. */
  readonly show: (record: T) => W
}

export interface RecordRoutesDeps {
  readonly idsOf: (tenantId: string) => TenantIds
  readonly cursors: CursorCodec
  readonly clock: () => number
}

export interface TenantRecord {
  readonly id: string
  readonly tenant_id: string
  readonly created_at: string
}

/** The routes that list records of a kind, newest first, and get each by its id. */
export const recordRoutes = <T extends TenantRecord, W extends object>(
  { of, find, nameOf, show, ...contract }: RecordKind<T, W>,
  deps: RecordRoutesDeps,
): readonly Route[] =>
  readRoutes(
    {
      ...contract,
      filters: nameOf === undefined ? [] : ['contains'],
      page(request, { tenantId }) {
        const { contains = '' } = request.filters
        const isNamed = containing(contains)
        const records = wanted(of(tenantId), (record) => nameOf === undefined || isNamed(nameOf(record)))
        return pageOfAll(request, records, ({ created_at, id }) => [created_at, id], 'descending', show)
      },
      find({ tenantId }, id) {
        const record = find(id)
        return record?.tenant_id === tenantId ? show(record) : undefined
      },
    },
    deps,
  )

/** The routes that list and get records of a kind. */
export function readRoutes(kind: ReadKind, deps: RecordRoutesDeps): readonly Route[] {
  const { path, access = 'admin:config', rateClass = 'control', list, get } = kind
  const declared = { access, rateClass, method: 'get' } as const
  return [
    { ...declared, path, operation: list, handle: (exchange, caller) => showPage(exchange, caller, kind, deps) },
    {
      ...declared,
      path: `${path}/:id`,
      operation: get,
      handle: (exchange, caller) => showOne(exchange, caller, kind, deps),
    },
  ]
}

function showPage(
  exchange: Exchange,
  caller: Caller,
  { path, filters, page, complete }: ReadKind,
  deps: RecordRoutesDeps,
): void | Promise<void> {
  const read = readPage(exchange, caller, path, deps, filters)
  if (!read.ok) return exchange.replyProblem(read.problem)
  const shown = page(read.request, caller)
  if ('code' in shown) return exchange.replyProblem(shown)
  if (complete === undefined) return exchange.replyJson('200 OK', shown)
  return replyFromStore(exchange, async (signal) => {
    const data = await complete(caller.tenantId, shown.data, signal)
    return data && { value: { ...shown, data: data.value } }
  })
}

function showOne(
  exchange: Exchange,
  caller: Caller,
  { prefix, what, find, complete }: ReadKind,
  { idsOf }: RecordRoutesDeps,
): void | Promise<void> {
  const { tenantId } = caller
  const refusal = refusalOfId(prefix, exchange.parameter, idsOf(tenantId), what)
  if (refusal !== undefined) return exchange.replyProblem(refusal)
  const shown = find(caller, exchange.parameter)
  if (shown === undefined) return exchange.replyProblem(noSuch(what))
  if (complete === undefined) return exchange.replyJson('200 OK', shown)
  return replyFromStore(exchange, async (signal) => {
    const records = await complete(tenantId, [shown], signal)
    return records && { value: records.value[0] }
  })
}
