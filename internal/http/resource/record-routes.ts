import type { Caller } from '../../auth/authenticate.js'
import type { RateClass } from '../../auth/rate-limits.js'
import type { Scope } from '../../auth/scopes.js'
import type { IdPrefix, TenantIds } from '../../ids/ids.js'
import type { Operation } from '../contract/operation.js'
import type { Exchange } from '../exchange.js'
import type { Route } from '../route.js'
import { pageOfAll, readPage } from './collection.js'
import { noSuch, refusalOfId } from './own-id.js'
import type { CursorCodec } from './pages.js'

/** A kind of record that tenants have, each under an id of its own, and look at: one by one, and as a list. */
export interface RecordKind<T, W> {
  /** Of the collection. */
  readonly path: string
  readonly prefix: IdPrefix
  /** Names it in a sentence. */
  readonly what: string
  /** `admin:config` where it says nothing, and `control` as its class. */
  readonly access?: Scope
  readonly rateClass?: RateClass
  readonly list: Operation
  readonly get: Operation
  /** All of a tenant, in no order. */
  readonly of: (tenantId: string) => Iterable<T>
  readonly find: (id: string) => T | undefined
  /** As it goes out. */
  readonly show: (record: T) => W
}

export interface RecordRoutesDeps {
  readonly idsOf: (tenantId: string) => TenantIds
  readonly cursors: CursorCodec
  readonly clock: () => number
}

interface TenantRecord {
  readonly id: string
  readonly tenant_id: string
  readonly created_at: string
}

/** The routes that show records of a kind: the list, the newest first, and each by its id. */
export function recordRoutes<T extends TenantRecord, W>(
  kind: RecordKind<T, W>,
  deps: RecordRoutesDeps,
): readonly Route[] {
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

function showPage<T extends TenantRecord, W>(
  exchange: Exchange,
  caller: Caller,
  { path, of, show }: RecordKind<T, W>,
  deps: RecordRoutesDeps,
): void {
  const read = readPage(exchange, caller, path, deps)
  if (!read.ok) return exchange.replyProblem(read.problem)
  const keyOf = ({ created_at, id }: T) => [created_at, id]
  exchange.replyJson('200 OK', pageOfAll(read.request, of(caller.tenantId), keyOf, 'descending', show))
}

function showOne<T extends TenantRecord, W>(
  exchange: Exchange,
  { tenantId }: Caller,
  { prefix, what, find, show }: RecordKind<T, W>,
  { idsOf }: RecordRoutesDeps,
): void {
  const refusal = refusalOfId(prefix, exchange.parameter, idsOf(tenantId), what)
  if (refusal !== undefined) return exchange.replyProblem(refusal)
  const record = find(exchange.parameter)
  if (record?.tenant_id !== tenantId) return exchange.replyProblem(noSuch(what))
  exchange.replyJson('200 OK', show(record))
}
