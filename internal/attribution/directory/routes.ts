import type { z } from 'zod'
import type { Caller } from '../../auth/authenticate.js'
import type { Exchange } from '../../http/exchange.js'
import type { MutationRequest, Reply } from '../../http/mutations/mutation.js'
import type { Mutate } from '../../http/mutations/mutations.js'
import { pageOf, pageOfSorted, readPage } from '../../http/resource/collection.js'
import { noSuch, refusalOfId } from '../../http/resource/own-id.js'
import type { CursorCodec } from '../../http/resource/pages.js'
import type { TenantRoute } from '../../http/route.js'
import type { TenantIds } from '../../ids/ids.js'
import { type Problem, problem } from '../../problems/catalogue.js'
import { directoryOperations } from './contract.js'
import { type DirectoryKind, ENTRIES_MAX } from './entries.js'
import { ENTRY_PREFIXES, type EntriesOf, entryId } from './entry-index.js'
import { directoryKey } from './import-directory.js'
import { type EntryKind, IDENTITIES, PRINCIPALS, SERVICES, SOURCES } from './kinds.js'
import type { OpenDirectory } from './open-directory.js'

export interface DirectoryRoutesDeps extends OpenDirectory {
  readonly mutate: Mutate
  readonly cursors: CursorCodec
  readonly idsOf: (tenantId: string) => TenantIds
  readonly clock: () => number
}

/** `/api/v1/directory/{services,identities,principals,sources}`: what a tenant tells of itself, for stage A. */
export const directoryRoutes = (deps: DirectoryRoutesDeps): readonly TenantRoute[] => [
  ...routesOf(SERVICES, deps),
  ...routesOf(IDENTITIES, deps),
  ...routesOf(PRINCIPALS, deps),
  ...routesOf(SOURCES, deps),
]

function routesOf<K extends DirectoryKind, F, C>(
  kind: EntryKind<K, F, C>,
  deps: DirectoryRoutesDeps,
): readonly TenantRoute[] {
  const path = `/api/v1/directory/${kind.kind}`
  const operations = directoryOperations(kind)
  const declared = { access: 'admin:config', rateClass: 'control' } as const
  const body = <T>(schema: z.ZodType<T>, example: object) => ({ schema, example })
  const { mutate } = deps
  return [
    {
      ...declared,
      method: 'get',
      path,
      operation: operations.list,
      handle: (exchange, caller) => list(exchange, caller, path, kind, deps),
    },
    {
      ...declared,
      method: 'get',
      path: `${path}/:id`,
      operation: operations.get,
      handle: (exchange, caller) => get(exchange, caller, kind, deps),
    },
    mutate({
      ...declared,
      method: 'post',
      path,
      action: 'directory.put',
      operation: operations.create,
      body: body(kind.fields, kind.example.fields),
      handle: (request) => create(request, path, kind, deps),
    }),
    mutate({
      ...declared,
      method: 'patch',
      path: `${path}/:id`,
      action: 'directory.put',
      operation: operations.update,
      body: body(kind.changes, kind.example.changes),
      handle: (request) => update(request, kind, deps),
    }),
    mutate({
      ...declared,
      method: 'del',
      path: `${path}/:id`,
      action: 'directory.delete',
      operation: operations.delete,
      handle: (request) => remove(request, kind, deps),
    }),
  ]
}

function list<K extends DirectoryKind, F, C>(
  exchange: Exchange,
  caller: Caller,
  path: string,
  kind: EntryKind<K, F, C>,
  deps: DirectoryRoutesDeps,
): void {
  const { tenantId } = caller
  const read = readPage(exchange, caller, path, deps, [kind.nameField])
  if (!read.ok) return exchange.replyProblem(read.problem)
  const all = deps.entries.of(tenantId, kind.kind)
  const name = read.request.filters[kind.nameField]
  const show = ([id, entry]: readonly [string, EntriesOf[K]]) => kind.show(id, entry)
  if (name === undefined) return exchange.replyJson('200 OK', pageOfSorted(read.request, all.sorted, 'ascending', show))
  const id = entryId(kind.kind, name, deps.idsOf(tenantId))
  const named = all.get(id)
  const rows = named === undefined || read.request.after !== undefined ? [] : [[id, named] as const]
  exchange.replyJson(
    '200 OK',
    pageOf(read.request, rows, ([id]) => [name, id], show),
  )
}

function get<K extends DirectoryKind, F, C>(
  exchange: Exchange,
  { tenantId }: Caller,
  kind: EntryKind<K, F, C>,
  deps: DirectoryRoutesDeps,
): void {
  const found = find(exchange.parameter, tenantId, kind, deps)
  if ('code' in found) return exchange.replyProblem(found)
  exchange.replyJson('200 OK', kind.show(exchange.parameter, found.entry))
}

/** The entry that an id in a path names. */
function find<K extends DirectoryKind, F, C>(
  id: string,
  tenantId: string,
  { kind, word }: EntryKind<K, F, C>,
  { entries, idsOf }: DirectoryRoutesDeps,
): { readonly entry: EntriesOf[K] } | Problem {
  const refusal = refusalOfId(ENTRY_PREFIXES[kind], id, idsOf(tenantId), word.toLowerCase())
  if (refusal !== undefined) return refusal
  const entry = entries.of(tenantId, kind).get(id)
  return entry === undefined ? noSuch(word.toLowerCase()) : { entry }
}

async function create<K extends DirectoryKind, F, C>(
  { caller: { tenantId }, body, isRepeat }: MutationRequest<F>,
  path: string,
  kind: EntryKind<K, F, C>,
  deps: DirectoryRoutesDeps,
): Promise<Reply | Problem> {
  const { records, entries, idsOf } = deps
  const entry = kind.make(body)
  const name = kind.nameOf(entry)
  const id = entryId(kind.kind, name, idsOf(tenantId))
  const known = entries.of(tenantId, kind.kind)
  if (known.get(id) === undefined && known.size >= ENTRIES_MAX[kind.kind]) {
    return problem('CONFLICT', `The directory holds ${known.size} ${kind.kind}, as many as it may.`)
  }
  const refusal = kind.refuse(tenantId, entry, deps)
  if (refusal !== undefined) return refusal
  const found = await records.createOnce(directoryKey(tenantId, kind.kind, name), entry)
  const wasMadeBefore = isRepeat && JSON.stringify(found) === JSON.stringify(entry)
  if (found !== entry && !wasMadeBefore) {
    return problem('CONFLICT', `The directory holds this ${kind.word.toLowerCase()} already.`)
  }
  return {
    status: 201,
    body: kind.show(id, entry),
    location: `${path}/${id}`,
    target: id,
    changes: { after: kind.audited(entry) },
  }
}

async function update<K extends DirectoryKind, F, C>(
  { caller: { tenantId }, body, parameter: id }: MutationRequest<C>,
  kind: EntryKind<K, F, C>,
  deps: DirectoryRoutesDeps,
): Promise<Reply | Problem> {
  const found = find(id, tenantId, kind, deps)
  if ('code' in found) return found
  let refusal: Problem | undefined
  let before = found.entry
  const changed = await deps.records.change(directoryKey(tenantId, kind.kind, kind.nameOf(before)), (entry) => {
    before = entry as EntriesOf[K]
    const next = kind.change(before, body)
    refusal = kind.refuse(tenantId, next, deps)
    return refusal === undefined ? next : undefined
  })
  if (refusal !== undefined) return refusal
  if (changed === undefined) return noSuch(kind.word.toLowerCase())
  const after = changed as EntriesOf[K]
  return {
    status: 200,
    body: kind.show(id, after),
    target: id,
    changes: { before: kind.audited(before), after: kind.audited(after) },
  }
}

async function remove<K extends DirectoryKind, F, C>(
  { caller: { tenantId }, parameter: id, isRepeat }: MutationRequest<undefined>,
  kind: EntryKind<K, F, C>,
  deps: DirectoryRoutesDeps,
): Promise<Reply | Problem> {
  const found = find(id, tenantId, kind, deps)
  // An attempt of the same request that nobody was told of may have removed it.
  if ('code' in found) return isRepeat && found.code === 'NOT_FOUND' ? { status: 204, target: id } : found
  await deps.records.delete(directoryKey(tenantId, kind.kind, kind.nameOf(found.entry)))
  return { status: 204, target: id, changes: { before: kind.audited(found.entry) } }
}
