import type { KV } from '@nats-io/kv'
import { mirrorBucket } from '../broker/mirror.js'
import { bucketRecords, type Records } from '../broker/records.js'
import type { TenantIds } from '../ids/ids.js'
import { type Directory, WatchedDirectory } from './directory.js'
import type { DirectoryKind } from './entries.js'
import { type EntriesOf, EntryIndex } from './entry-index.js'

/** The directory of every tenant, as a gateway holds it. */
export interface OpenDirectory {
  readonly records: Records<EntriesOf[DirectoryKind]>
  readonly entries: EntryIndex
  readonly directory: Directory
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
  const directory = new WatchedDirectory()
  const copy = await mirrorBucket<EntriesOf[DirectoryKind]>(bucket, onLost, (key, value) => {
    entries.apply(key, value)
    directory.apply(key, value)
  })
  return { records: bucketRecords(bucket, copy.reached), entries, directory, revision: copy.revision }
}
