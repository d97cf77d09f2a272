import type { ClickHouseClient } from '@clickhouse/client'
import { identityHash } from '../../../ids/identity-hash.js'
import { idHex } from '../../../ids/ids.js'
import type { SipKey } from '../../../ids/siphash.js'
import { type ResolvedWindow, resolvedRows } from '../../../store/queries/attribution/training-window.js'
import type { WatchedDirectory } from '../../directory/directory.js'
import type { ResolvedEvent } from '../learning/drift.js'
import type { DirectoryFacts } from '../learning/views.js'
import { recordOf } from './records.js'
import type { ResolvedByDirectory } from './worker.js'

/** @param identityKey the tenant's key for hashing identities */
export function resolvedByDirectory(
  directory: WatchedDirectory,
  tenantId: string,
  identityKey: SipKey,
): ResolvedByDirectory {
  const identities: string[] = []
  for (const name of directory.identityNames(tenantId)) {
    if (directory.identity(tenantId, name)?.service !== undefined)
      identities.push(idHex(identityHash(identityKey, name)))
  }
  return { identities, principals: [...directory.principalIds(tenantId)] }
}

/** The newest events that stage A has resolved since an instant, in the order in which it did. */
export async function resolvedEvents(store: ClickHouseClient, window: ResolvedWindow): Promise<ResolvedEvent[]> {
  const rows = await resolvedRows(store, window)
  return rows.map((row) => ({ facts: recordOf(row).facts, label: { service: row.service, owner: row.owner } }))
}

export function directoryFacts({ identities, principals }: ResolvedByDirectory): DirectoryFacts {
  const [known, defaults] = [new Set(identities), new Set(principals)]
  return {
    resolvesIdentity: (identityHash) => known.has(identityHash),
    resolvesPrincipal: (principal) => defaults.has(principal),
  }
}
