import type { ClickHouseClient } from '@clickhouse/client'
import type { KV } from '@nats-io/kv'
import { unescapeToken } from '../../../streams/subjects.js'
import { directoryKey } from '../../directory/directory-key.js'
import { entryId } from '../../directory/entry-index.js'
import type { TenantIds } from '../../ids/ids.js'
import { ERASED_OWNER, eraseIdentity } from '../../store/erasure.js'
import { valuesNamed } from '../../store/queries/stored-values.js'

/** That a person was erased, without the name. */
export interface Erasure {
  readonly tenantId: string
  /** Of the person's entry in the directory, also if there was none. */
  readonly identityId: string
  /** Under which records had the person, 32 hex digits. */
  readonly hash: string
  readonly atMs: number
}

const keyOf = ({ tenantId, identityId }: Erasure): string => `${tenantId}.${identityId}`

/** @param bucket erasures */
export async function keepErasure(bucket: KV, erasure: Erasure): Promise<void> {
  await bucket.put(keyOf(erasure), JSON.stringify(erasure))
}

/** All erasures, by their keys. @param bucket erasures */
export async function readErasures(bucket: KV): Promise<ReadonlyMap<string, Erasure>> {
  const erasures = new Map<string, Erasure>()
  for await (const key of await bucket.keys()) {
    const entry = await bucket.get(key)
    if (entry?.operation === 'PUT') erasures.set(key, entry.json<Erasure>())
  }
  return erasures
}

export interface ErasedAgainDeps {
  readonly store: ClickHouseClient
  readonly directory: KV
  readonly erasures: KV
  readonly idsOf: (tenantId: string) => TenantIds
}

/**
 * Erases a person again from an older state. The name, which owners and tags may have, is found by its id among the
 * names that this state has: in the directory and in the read model. Where it has none, only the hash is left to erase,
 * as for a person of the name that erased owners have.
 */
export async function eraseAgain(erasure: Erasure, deps: ErasedAgainDeps): Promise<void> {
  const { tenantId, identityId, hash } = erasure
  const ids = deps.idsOf(tenantId)
  const isPerson = (name: string): boolean => entryId('identities', name, ids) === identityId
  const name =
    (await nameInDirectory(tenantId, deps.directory, isPerson)) ?? (await valuesNamed(deps.store, tenantId, isPerson))
  if (name !== undefined) await deps.directory.delete(directoryKey(tenantId, 'identities', name))
  await eraseIdentity(deps.store, { tenantId, hash, name: name ?? ERASED_OWNER })
  await keepErasure(deps.erasures, erasure)
}

async function nameInDirectory(
  tenantId: string,
  directory: KV,
  isPerson: (name: string) => boolean,
): Promise<string | undefined> {
  const prefix = `${tenantId}.identities.`
  for await (const key of await directory.keys(`${prefix}>`)) {
    const name = unescapeToken(key.slice(prefix.length))
    if (isPerson(name)) return name
  }
  return undefined
}
