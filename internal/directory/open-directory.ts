import type { KV } from '@nats-io/kv'
import { mirrorBucket } from '../broker/mirror.js'
import { bucketRecords, type Records } from '../broker/records.js'
import type { TenantIds } from '../ids/ids.js'
import { type Directory, type IdentityEntry, WatchedDirectory } from './directory.js'
import { directoryKey } from './directory-key.js'
import { type DirectoryKind, ENTRIES_MAX } from './entries.js'
import { type EntriesOf, EntryIndex, entryId } from './entry-index.js'
import { PeopleIndex } from './people.js'

/** The directory of every tenant, as a gateway holds it. */
export interface OpenDirectory {
  /** To write entries of any kind. */
  readonly records: Records<EntriesOf[DirectoryKind]>
  /** The same by kind. */
  readonly recordsOf: { readonly [K in DirectoryKind]: Records<EntriesOf[K]> }
  readonly entries: EntryIndex
  readonly people: PeopleIndex
  readonly directory: Directory & Pick<WatchedDirectory, 'identityNames'>
  /** The newest revision of its bucket that this process holds. */
  readonly revision: () => number
}

/** @param lost called once when the KV watch is lost */
export async function openDirectory(
  bucket: KV,
  idsOf: (tenantId: string) => TenantIds,
  onLost: (cause: unknown) => void,
): Promise<OpenDirectory> {
  const entries = new EntryIndex(idsOf)
  const people = new PeopleIndex(idsOf)
  const directory = new WatchedDirectory()
  const copy = await mirrorBucket<EntriesOf[DirectoryKind]>(bucket, onLost, (key, value) => {
    entries.apply(key, value)
    people.apply(key, value)
    directory.apply(key, value)
  })
  const { reached, revision } = copy
  return {
    records: bucketRecords(bucket, reached),
    recordsOf: {
      services: bucketRecords(bucket, reached),
      identities: bucketRecords(bucket, reached),
      principals: bucketRecords(bucket, reached),
      sources: bucketRecords(bucket, reached),
    },
    entries,
    people,
    directory,
    revision,
  }
}

/** What the directory knows of people who sign in: their names are those of its identities, in any spelling. */
export function directoryPeople({ recordsOf, entries, people }: OpenDirectory, idsOf: (tenantId: string) => TenantIds) {
  const { identities } = recordsOf
  const find = (tenantId: string, name: string): IdentityEntry | undefined =>
    entries.of(tenantId, 'identities').get(entryId('identities', name, idsOf(tenantId))) ??
    people.of(tenantId).named(name)[0]?.entry

  return {
    hasLeft: (tenantId: string, name: string): boolean =>
      people
        .of(tenantId)
        .named(name)
        .some(({ entry }) => entry.inactive === true),

    /** Names the team of a person who has none. What SCIM, a file or the API has stated stays. */
    async setTeam(tenantId: string, name: string, team: string): Promise<void> {
      const known = find(tenantId, name)
      const isFull = entries.of(tenantId, 'identities').size >= ENTRIES_MAX.identities
      if (known?.owner !== undefined || (known === undefined && isFull)) return
      const called = known?.name ?? name
      const key = directoryKey(tenantId, 'identities', called)
      const made = await identities.createOnce(key, { name: called, owner: team })
      if (made.owner !== undefined) return
      await identities.change(key, (entry) => (entry.owner === undefined ? { ...entry, owner: team } : undefined))
    },
  }
}
