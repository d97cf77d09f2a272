import type { Records } from '../../broker/records.js'
import type { WatchedRecords } from '../../broker/watched-records.js'
import type { ServiceEntry } from '../../directory/directory.js'
import { directoryKey } from '../../directory/directory-key.js'
import { ENTRIES_MAX } from '../../directory/entries.js'
import { entryId } from '../../directory/entry-index.js'
import { type EntryKind, type Known, PRINCIPALS, SERVICES } from '../../directory/kinds.js'
import type { OpenDirectory } from '../../directory/open-directory.js'
import type { ResourceDeps } from '../../http/resource/resource.js'
import { idOfName } from '../../ids/ids.js'
import { type Problem, problem } from '../../problems/problem-catalogue.js'
import type { CanonicalValue } from '../../text/canonical-json.js'
import type { Answer, AnswerEntry, AnswerKind } from '../changes/answer.js'
import { changedPool, POOLS_MAX, type StoredPool, storedPool } from '../pools/pool.js'
import type { AnswerBody } from './reattribution-contract.js'

/** Entries by which calls are attributed, each kind by the rules of its own routes. */

export interface EntriesDeps extends OpenDirectory, Pick<ResourceDeps, 'idsOf' | 'clock'>, Pick<Known, 'isPool'> {
  readonly pools: WatchedRecords<StoredPool>
}

/** What a body asks for. */
export type Wanted = Omit<Answer, 'revision'>

/** What an entry is called in the API, and what its change is in the audit log. */
export interface Named {
  readonly what: 'service' | 'principal' | 'pool'
  readonly id: string
  readonly name: string
  readonly audited: (entry: AnswerEntry) => { readonly [member: string]: CanonicalValue | undefined }
}

/** The entry as it is and as it is to be; undefined: the body has none. */
export async function wantedOf(
  body: AnswerBody,
  tenantId: string,
  deps: EntriesDeps,
): Promise<Wanted | Problem | undefined> {
  if (body.service != null) return ofDirectory(SERVICES, body.service, tenantId, deps)
  if (body.principal != null) return ofDirectory(PRINCIPALS, body.principal, tenantId, deps)
  return body.pool == null ? undefined : ofPools(body.pool, tenantId, deps)
}

async function ofDirectory<K extends 'services' | 'principals', F extends C, C>(
  kind: EntryKind<K, F, C>,
  fields: F,
  tenantId: string,
  deps: EntriesDeps,
): Promise<Wanted | Problem> {
  const made = kind.make(fields)
  const key = directoryKey(tenantId, kind.kind, kind.nameOf(made))
  const before = await deps.recordsOf[kind.kind].read(key)
  const entry = before === undefined ? made : kind.change(before, fields)
  const after = kind.stamp?.(entry, before, deps.clock()) ?? entry
  const max = ENTRIES_MAX[kind.kind]
  if (before === undefined && deps.entries.of(tenantId, kind.kind).size >= max) {
    return problem('CONFLICT', `Limit reached: at most ${max} ${kind.plural.toLowerCase()} per tenant.`)
  }
  return kind.refuse(tenantId, after, deps) ?? { kind: kind.kind, key, before: before ?? null, after }
}

async function ofPools(
  fields: NonNullable<AnswerBody['pool']>,
  tenantId: string,
  { pools, idsOf, directory, clock }: EntriesDeps,
): Promise<Wanted | Problem> {
  const id = idOfName('pool', idsOf(tenantId), 'pools', fields.name)
  const before = await pools.read(id)
  if (before === undefined && pools.countOf(tenantId) >= POOLS_MAX) {
    return problem('CONFLICT', `Limit reached: at most ${POOLS_MAX} pools per tenant.`)
  }
  if (directory.serviceEntry(tenantId, fields.name) !== undefined) {
    return problem('CONFLICT', 'The directory has a service of this name.')
  }
  const { owner, priority, rules } = fields
  const changes = { owner, rules, ...(priority != null && { priority }) }
  const after = before === undefined ? storedPool(fields, id, tenantId, clock()) : changedPool(before, changes)
  return { kind: 'pools', key: id, before: before ?? null, after }
}

export function namedOf({ kind, before, after }: Wanted, tenantId: string, { idsOf }: EntriesDeps): Named {
  const entry = after ?? before
  switch (kind) {
    case 'services': {
      const { name } = entry as ServiceEntry
      const id = entryId(kind, name, idsOf(tenantId))
      return { what: 'service', id, name, audited: (each) => auditedOf(SERVICES, each) }
    }
    case 'principals': {
      const name = PRINCIPALS.nameOf(entry as Parameters<typeof PRINCIPALS.nameOf>[0])
      const id = entryId(kind, name, idsOf(tenantId))
      return { what: 'principal', id, name, audited: (each) => auditedOf(PRINCIPALS, each) }
    }
    case 'pools': {
      const { id, name } = entry as StoredPool
      return { what: 'pool', id, name, audited: (each) => auditedPool(each as StoredPool) }
    }
  }
}

const auditedOf = <K extends 'services' | 'principals', F, C>(
  { audited }: EntryKind<K, F, C>,
  entry: AnswerEntry,
): ReturnType<Named['audited']> => audited(entry as Parameters<typeof audited>[0]) as ReturnType<Named['audited']>

const auditedPool = ({ name, owner, priority, rules }: StoredPool) => ({
  name,
  owner,
  priority,
  rules: rules.map((rule) => ({ ...rule })),
})

export const recordsOf = (kind: AnswerKind, { recordsOf: directory, pools }: EntriesDeps): Records<AnswerEntry> =>
  (kind === 'pools' ? pools : directory[kind]) as Records<unknown> as Records<AnswerEntry>

/** The newest revision of the kind's bucket that this process holds. */
export const revisionOf = (kind: AnswerKind, { revision, pools }: EntriesDeps): number =>
  kind === 'pools' ? pools.revision() : revision()
