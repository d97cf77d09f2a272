import type { AuditAction } from '../../auth/audit-entry.js'
import type { Caller } from '../../auth/authenticate.js'
import type { Scope } from '../../auth/scopes.js'
import type { Records } from '../../broker/records.js'
import type { WatchedRecords } from '../../broker/watched-records.js'
import type { TenantIds } from '../../ids/ids.js'
import { type Problem, problem } from '../../problems/problem-catalogue.js'
import type { CanonicalValue } from '../../text/canonical-json.js'
import type { MutationRequest, Reply } from '../mutations/mutation.js'
import type { Mutate } from '../mutations/mutations.js'
import type { Route } from '../route.js'
import { type PageRequest, pageOfAll, wanted } from './collection.js'
import { noSuch, refusalOfId } from './own-id.js'
import type { CursorCodec, Page } from './pages.js'
import { type CompleteRecords, readRoutes, type TenantRecord } from './record-routes.js'
import { nounOf, nounsOf, type ResourceContract, resourceOperations } from './resource-operations.js'
import type { Order } from './sorted-records.js'

/** A kind of record that a tenant lists, gets, adds, updates and deletes: its contract, and its rules as functions. */
export interface Resource<T, Fields, Changes> extends ResourceContract<Fields, Changes> {
  /** Default: `admin:config`. */
  readonly access?: 'any' | Scope
  readonly actions: { readonly create: AuditAction; readonly delete: AuditAction }
  /** Which changes need a recent sign-in of a person: none unless stated. */
  readonly stepUp?: 'every_change' | 'delete'
  /** Records per tenant. */
  readonly max: number
  readonly collection: Collection<T>
  /**
   * A new record, with its id in the API and its key in the bucket.
   *
   * @param principal id of the credential that creates it
   */
  make(fields: Fields, tenantId: string, newId: MutationRequest<Fields>['newId'], principal: string): New<T>
  /** Why what a body states is refused, where that takes a look outside; nothing is then written. */
  readonly screen?: (tenantId: string, stated: Fields | Changes) => Promise<Problem | undefined>
  /**
   * Detail of the 409 when the bucket already holds another record under the new key. Absent where the id is random:
   * only an earlier attempt of the same request can then have created the record.
   */
  readonly duplicate?: string
  /** Absent: records never change, and there is no PATCH. */
  readonly update?: { readonly action: AuditAction; readonly apply: (record: T, changes: Changes) => T }
  /** Why a record conflicts with the tenant's other records; nothing is then written. */
  readonly refuse?: (tenantId: string, record: T) => Problem | undefined
  /** Whether a record exists for a caller. Absent: each of the tenant does. */
  readonly isSeenBy?: (record: T, caller: Caller) => boolean
  /** Why a caller may not change or delete a record that they see. Absent: every caller with the scope may. */
  readonly refuseChange?: (record: T, caller: Caller) => Problem | undefined
  /** The record in wire form. */
  show(record: T, id: string): object
  /** Completes the records of a GET. */
  readonly complete?: CompleteRecords
  /** The record as the audit log keeps it. */
  audited(record: T): CanonicalValue
}

export interface New<T> {
  readonly id: string
  readonly key: string
  readonly record: T
}

/** The bucket that holds a resource, and this process's copy of it to read from. */
export interface Collection<T> extends Pick<Records<T>, 'createOnce' | 'change' | 'delete'> {
  /** The key behind an id; undefined when only the copy could tell and does not know the id. */
  keyOf(tenantId: string, id: string): string | undefined
  get(tenantId: string, id: string): T | undefined
  countOf(tenantId: string): number
  /** @param isShown default: all records are */
  page<W>(
    request: PageRequest<string>,
    tenantId: string,
    show: (record: T, id: string) => W,
    isShown?: (record: T) => boolean,
  ): Page<W> | Problem
}

export interface ResourceDeps {
  readonly mutate: Mutate
  readonly idsOf: (tenantId: string) => TenantIds
  readonly cursors: CursorCodec
  readonly clock: () => number
}

/** The routes of a resource: list, get, add, update (unless its records never change) and delete. */
export function resource<T, Fields, Changes>(
  kind: Resource<T, Fields, Changes>,
  { mutate, ...deps }: ResourceDeps,
): readonly Route[] {
  const { path, prefix, collection, actions, example, changes, update: updating, access = 'admin:config' } = kind
  const { isSeenBy = () => true } = kind
  const declared = { access, rateClass: 'control' } as const
  const operations = resourceOperations(kind)
  const onePath = `${path}/:id`
  const change = { ...declared, ...(kind.stepUp === 'every_change' && { needsStepUp: true as const }) }
  return [
    ...readRoutes(
      {
        path,
        prefix,
        what: nounOf(kind),
        access,
        ...operations,
        filters: Object.keys(kind.filters ?? {}),
        page: (request, caller) =>
          collection.page(request, caller.tenantId, kind.show, (record) => isSeenBy(record, caller)),
        find(caller, id) {
          const record = collection.get(caller.tenantId, id)
          return record !== undefined && isSeenBy(record, caller) ? kind.show(record, id) : undefined
        },
        ...(kind.complete && { complete: kind.complete }),
      },
      deps,
    ),
    mutate({
      ...change,
      method: 'post',
      path,
      action: actions.create,
      operation: operations.create,
      body: { schema: kind.fields, example: example.fields },
      handle: (request) => create(request, kind),
    }),
    ...(changes === undefined || updating === undefined
      ? []
      : [
          mutate({
            ...change,
            method: 'patch',
            path: onePath,
            action: updating.action,
            operation: operations.update,
            body: { schema: changes, example: example.changes },
            handle: (request) => update(request, kind, updating.apply, deps),
          }),
        ]),
    mutate({
      ...declared,
      ...(kind.stepUp !== undefined && { needsStepUp: true as const }),
      method: 'del',
      path: onePath,
      action: actions.delete,
      operation: operations.delete,
      handle: (request) => remove(request, kind, deps),
    }),
  ]
}

async function create<T, F, C>(
  { caller: { tenantId, principal }, body, newId, isRepeat }: MutationRequest<F>,
  kind: Resource<T, F, C>,
): Promise<Reply | Problem> {
  const { path, max, collection, duplicate } = kind
  if (kind.screen !== undefined) {
    // What an earlier attempt of the same request has created was screened by it.
    const isThere = isRepeat && collection.get(tenantId, newId(kind.prefix)) !== undefined
    const screened = isThere ? undefined : await kind.screen(tenantId, body)
    if (screened !== undefined) return screened
  }
  const { id, key, record } = kind.make(body, tenantId, newId, principal)
  if (collection.get(tenantId, id) === undefined && collection.countOf(tenantId) >= max) {
    return problem('CONFLICT', `Limit reached: at most ${max} ${nounsOf(kind)} per tenant.`)
  }
  const refusal = kind.refuse?.(tenantId, record)
  if (refusal !== undefined) return refusal
  const found = await collection.createOnce(key, record)
  const isOwn = found === record || (isRepeat && isSame(found, record))
  if (duplicate !== undefined && !isOwn) return problem('CONFLICT', duplicate)
  return {
    status: 201,
    body: kind.show(found, id),
    location: `${path}/${id}`,
    target: id,
    changes: { after: kind.audited(found) },
  }
}

/** An earlier attempt of the same request wrote the same record at another time. */
const isSame = <T>(one: T, other: T): boolean =>
  JSON.stringify(one, withoutTimes) === JSON.stringify(other, withoutTimes)

const withoutTimes = (member: string, value: unknown): unknown =>
  member === 'created_at' || member === 'stated_at' ? '' : value

/** Why a caller may not change a record: for them it does not exist, or is not theirs. */
function refusalOfChange<T, F, C>(record: T, caller: Caller, kind: Resource<T, F, C>): Problem | undefined {
  return kind.isSeenBy?.(record, caller) === false ? noSuch(nounOf(kind)) : kind.refuseChange?.(record, caller)
}

async function update<T, F, C>(
  { caller, body, parameter: id }: MutationRequest<C>,
  kind: Resource<T, F, C>,
  apply: (record: T, changes: C) => T,
  { idsOf }: Pick<ResourceDeps, 'idsOf'>,
): Promise<Reply | Problem> {
  const { tenantId } = caller
  const what = nounOf(kind)
  const foreign = refusalOfId(kind.prefix, id, idsOf(tenantId), what)
  if (foreign !== undefined) return foreign
  const key = kind.collection.keyOf(tenantId, id)
  if (key === undefined) return noSuch(what)
  const screened = await kind.screen?.(tenantId, body)
  if (screened !== undefined) return screened
  let before: T | undefined
  let refusal: Problem | undefined
  const after = await kind.collection.change(key, (record) => {
    before = record
    const next = apply(record, body)
    refusal = refusalOfChange(record, caller, kind) ?? kind.refuse?.(tenantId, next)
    return refusal === undefined ? next : undefined
  })
  if (refusal !== undefined) return refusal
  if (after === undefined || before === undefined) return noSuch(what)
  return {
    status: 200,
    body: kind.show(after, id),
    changes: { before: kind.audited(before), after: kind.audited(after) },
  }
}

async function remove<T, F, C>(
  { caller, parameter: id, isRepeat }: MutationRequest<unknown>,
  kind: Resource<T, F, C>,
  { idsOf }: Pick<ResourceDeps, 'idsOf'>,
): Promise<Reply | Problem> {
  const { tenantId } = caller
  const what = nounOf(kind)
  const foreign = refusalOfId(kind.prefix, id, idsOf(tenantId), what)
  if (foreign !== undefined) return foreign
  const before = kind.collection.get(tenantId, id)
  const key = kind.collection.keyOf(tenantId, id)
  let refusal: Problem | undefined
  const isMeant = (record: T): boolean => {
    refusal = refusalOfChange(record, caller, kind)
    return refusal === undefined
  }
  const isDeleted = key !== undefined && (await kind.collection.delete(key, isMeant))
  if (refusal !== undefined) return refusal
  // In a repeat, an earlier attempt of the same request may have deleted it.
  if (!isDeleted && !isRepeat) return noSuch(what)
  return { status: 204, ...(before !== undefined && { changes: { before: kind.audited(before) } }) }
}

/** The collection of a bucket whose records name their tenant. By default: keyed by id, listed newest first. */
export function watchedCollection<T extends TenantRecord>(
  records: WatchedRecords<T>,
  {
    keyOf = (_tenantId: string, id: string) => id,
    sortKeyOf = ({ created_at, id }: T): readonly string[] => [created_at, id],
    order = 'descending' as Order,
  } = {},
): Collection<T> {
  return {
    createOnce: records.createOnce,
    change: records.change,
    delete: records.delete,
    keyOf,
    get(tenantId, id) {
      const record = records.get(keyOf(tenantId, id))
      return record?.tenant_id === tenantId ? record : undefined
    },
    countOf: records.countOf,
    page: (request, tenantId, show, isShown = () => true) =>
      pageOfAll(request, wanted(records.of(tenantId), isShown), sortKeyOf, order, (record) => show(record, record.id)),
  }
}
