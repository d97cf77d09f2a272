import type { ClickHouseClient } from '@clickhouse/client'
import type { WatchedDirectory } from '../../directory/directory.js'
import { undatedLabels } from '../../directory/labels.js'
import { identityHash } from '../../ids/identity-hash.js'
import { idHex } from '../../ids/ids.js'
import type { SipKey } from '../../ids/siphash.js'
import { type ResolvedWindow, resolvedRows } from '../../store/queries/attribution/training-window.js'
import { comparableName } from '../../text/comparable-name.js'
import type { ResolvedEvent } from '../learning/drift.js'
import type { DirectoryFacts } from '../learning/views.js'
import { recordOf } from './training-records.js'
import type { ResolvedByDirectory } from './training-worker.js'

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
  return {
    identities,
    principals: [...directory.principalIds(tenantId)],
    labels: undatedLabels(directory, tenantId),
  }
}

/**
 * The newest events that the facts stage resolved after an instant, in the order of resolution, with services as models
 * know them.
 */
export async function resolvedEvents(
  store: ClickHouseClient,
  window: ResolvedWindow,
  { labels }: Pick<ResolvedByDirectory, 'labels'>,
): Promise<ResolvedEvent[]> {
  const rows = await resolvedRows(store, window)
  const known = new Map(labels)
  return rows.map((row) => {
    const { service, owner } = row
    return { facts: recordOf(row).facts, label: known.get(comparableName(service)) ?? { service, owner } }
  })
}

export function directoryFacts({
  identities,
  principals,
}: Pick<ResolvedByDirectory, 'identities' | 'principals'>): DirectoryFacts {
  const [known, defaults] = [new Set(identities), new Set(principals)]
  return {
    resolvesIdentity: (identityHash) => known.has(identityHash),
    resolvesPrincipal: (principal) => defaults.has(principal),
  }
}
