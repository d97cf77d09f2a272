import type { KV } from '@nats-io/kv'
import type { z } from 'zod'
import { escapeToken } from '../../streams/subjects.js'
import type { SourceEntry } from '../records/capture-source.js'
import type { IdentityEntry, PrincipalEntry, ServiceEntry } from './directory.js'
import {
  type DirectoryKind,
  identityEntry,
  identityFields,
  principalEntry,
  principalFields,
  serviceEntry,
  serviceFields,
  sourceEntry,
  sourceFields,
} from './entries.js'

export interface DirectoryFile {
  readonly services?: readonly ServiceEntry[]
  readonly identities?: readonly IdentityEntry[]
  readonly principals?: readonly PrincipalEntry[]
  readonly sources?: readonly SourceEntry[]
}

/**
 * Writes entries to a tenant's directory. Entries with the same name are replaced, others are unchanged.
 *
 * @throws Error when an entry is invalid; nothing is then written
 */
export async function importDirectory(bucket: KV, tenantId: string, file: DirectoryFile): Promise<void> {
  const { services = [], identities = [], principals = [], sources = [] } = file
  const entries = [
    ...services
      .map((entry, i) => serviceEntry(checked(serviceFields, entry, 'services', i)))
      .map((entry) => ['services', entry.name, entry] as const),
    ...identities
      .map((entry, i) => identityEntry(checked(identityFields, entry, 'identities', i)))
      .map((entry) => ['identities', entry.name, entry] as const),
    ...principals
      .map(({ id, ...rest }, i) => checked(principalFields, { principal_id: id, ...rest }, 'principals', i))
      .map((fields) => ['principals', fields.principal_id, principalEntry(fields)] as const),
    ...sources
      .map((entry, i) => sourceEntry(checked(sourceFields, entry, 'sources', i)))
      .map((entry) => ['sources', entry.name, entry] as const),
  ]
  await Promise.all(
    entries.map(([kind, name, entry]) => bucket.put(directoryKey(tenantId, kind, name), JSON.stringify(entry))),
  )
}

/** The key of an entry (streams/buckets.ts). */
export const directoryKey = (tenantId: string, kind: DirectoryKind, name: string): string =>
  `${tenantId}.${kind}.${escapeToken(name)}`

function checked<T>(schema: z.ZodType<T>, entry: unknown, kind: DirectoryKind, index: number): T {
  const parsed = schema.safeParse(entry)
  if (parsed.success) return parsed.data
  const [issue] = parsed.error.issues
  throw new Error(`invalid directory entry ${kind}[${index}]: ${issue?.path.join('.')}: ${issue?.message}`)
}
