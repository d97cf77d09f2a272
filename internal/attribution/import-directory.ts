import type { KV } from '@nats-io/kv'
import { escapeToken } from '../../streams/subjects.js'
import type { IdentityEntry, PrincipalEntry, ServiceEntry } from './directory.js'

export interface DirectoryFile {
  readonly services?: readonly ServiceEntry[]
  readonly identities?: readonly IdentityEntry[]
  readonly principals?: readonly PrincipalEntry[]
}

/** Writes entries to a tenant's directory; those of the same name are replaced, others stay. */
export async function importDirectory(bucket: KV, tenantId: string, file: DirectoryFile): Promise<void> {
  const puts = [
    ...(file.services ?? []).map((entry) => ['services', entry.name, entry] as const),
    ...(file.identities ?? []).map((entry) => ['identities', entry.name, entry] as const),
    ...(file.principals ?? []).map((entry) => ['principals', entry.id, entry] as const),
  ]
  await Promise.all(
    puts.map(([kind, name, entry]) => bucket.put(`${tenantId}.${kind}.${escapeToken(name)}`, JSON.stringify(entry))),
  )
}
