/** A directory as attributors hold it, filled as from the bucket. */
import {
  type IdentityEntry,
  type PrincipalEntry,
  type ServiceEntry,
  WatchedDirectory,
} from '../../internal/directory/directory.js'
import { escapeToken } from '../../streams/subjects.js'

export const directoryKey = (
  kind: 'services' | 'identities' | 'principals',
  name: string,
  tenantId = 'tnt_one',
): string => `${tenantId}.${kind}.${escapeToken(name)}`

interface Entries {
  readonly services?: readonly ServiceEntry[]
  readonly identities?: readonly IdentityEntry[]
  readonly principals?: readonly PrincipalEntry[]
}

export function directoryOf({ services = [], identities = [], principals = [] }: Entries = {}): WatchedDirectory {
  const directory = new WatchedDirectory()
  for (const entry of services) directory.apply(directoryKey('services', entry.name), entry)
  for (const entry of identities) directory.apply(directoryKey('identities', entry.name), entry)
  for (const entry of principals) directory.apply(directoryKey('principals', entry.id), entry)
  return directory
}
