import type { WatchedRecords } from '../../broker/watched-records.js'
import type { IdPrefix, TenantIds } from '../../ids/ids.js'
import type { Problem } from '../../problems/catalogue.js'
import type { CanonicalValue } from '../../text/canonical-json.js'
import type { MutationRequest, Reply } from '../mutations/mutation.js'
import { noSuch, refusalOfId } from './own-id.js'

/** A kind of record whose changes are made and told in the same way. */
export interface ChangedKind<T> {
  readonly prefix: IdPrefix
  /** Names it in a sentence. */
  readonly what: string
  readonly records: Pick<WatchedRecords<T>, 'get' | 'change' | 'delete'>
  readonly idsOf: (tenantId: string) => TenantIds
  /** As the audit log shows it. */
  readonly audited: (record: T) => CanonicalValue
}

/** Changes the tenant's record that the path names, and shows what it is then. */
export async function updateRecord<T>(
  { caller: { tenantId }, parameter: id }: MutationRequest<unknown>,
  change: (record: T) => T,
  show: (record: T) => unknown,
  { prefix, what, records, idsOf, audited }: ChangedKind<T>,
): Promise<Reply | Problem> {
  const refusal = refusalOfId(prefix, id, idsOf(tenantId), what)
  if (refusal !== undefined) return refusal
  let before: T | undefined
  const after = await records.change(id, (record) => {
    before = record
    return change(record)
  })
  if (after === undefined || before === undefined) return noSuch(what)
  return { status: 200, body: show(after), changes: { before: audited(before), after: audited(after) } }
}

/** Deletes the tenant's record that the path names. One that an earlier attempt has deleted is gone as it should be. */
export async function removeRecord<T>(
  { caller: { tenantId }, parameter: id, isRepeat }: MutationRequest<unknown>,
  { prefix, what, records, idsOf, audited }: ChangedKind<T>,
): Promise<Reply | Problem> {
  const refusal = refusalOfId(prefix, id, idsOf(tenantId), what)
  if (refusal !== undefined) return refusal
  const before = records.get(id)
  const isDeleted = await records.delete(id)
  if (!isDeleted && !isRepeat) return noSuch(what)
  return { status: 204, ...(before !== undefined && { changes: { before: audited(before) } }) }
}
