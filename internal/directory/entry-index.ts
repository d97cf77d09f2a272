import { unescapeToken } from '../../streams/subjects.js'
import { SortedRecords } from '../http/resource/sorted-records.js'
import { idOfName, type TenantIds } from '../ids/ids.js'
import type { SourceEntry } from '../records/capture-source.js'
import type { IdentityEntry, PrincipalEntry, ServiceEntry } from './directory.js'
import type { DirectoryKind } from './entries.js'

export interface EntriesOf {
  readonly services: ServiceEntry
  readonly identities: IdentityEntry
  readonly principals: PrincipalEntry
  readonly sources: SourceEntry
}

export const ENTRY_PREFIXES = { services: 'svc', identities: 'idn', principals: 'prn', sources: 'src' } as const

/** The id of an entry in the API. Names, which may be those of people, stay out of URLs and logs. */
export const entryId = (kind: DirectoryKind, name: string, ids: TenantIds): string =>
  idOfName(ENTRY_PREFIXES[kind], ids, `directory.${kind}`, name)

/** A tenant's entries of one kind. */
export interface Entries<T> {
  readonly size: number
  get(id: string): T | undefined
  /** By name, then id. */
  readonly sorted: SortedRecords<readonly [id: string, entry: T]>
}

/** Every tenant's entries by kind and id, fed from the bucket `directory` (its keys are in streams/buckets.ts). */
export class EntryIndex {
  private readonly tenants = new Map<string, KindEntries>()
  private readonly idsOf: (tenantId: string) => TenantIds

  constructor(idsOf: (tenantId: string) => TenantIds) {
    this.idsOf = idsOf
  }

  /** @param value undefined when the entry was deleted */
  apply(key: string, value: unknown): void {
    const [tenantId = '', kind = '', token = ''] = key.split('.')
    const tenantKind = `${tenantId}.${kind}`
    const entries = this.tenants.get(tenantKind) ?? new KindEntries()
    const name = unescapeToken(token)
    const id = entryId(kind as DirectoryKind, name, this.idsOf(tenantId))
    this.tenants.set(tenantKind, entries)
    entries.apply(name, id, value)
  }

  of<K extends DirectoryKind>(tenantId: string, kind: K): Entries<EntriesOf[K]> {
    return (this.tenants.get(`${tenantId}.${kind}`) ?? NONE) as Entries<unknown> as Entries<EntriesOf[K]>
  }
}

class KindEntries implements Entries<unknown> {
  private readonly byId = new Map<string, unknown>()
  readonly sorted = new SortedRecords<readonly [id: string, entry: unknown]>()

  get size(): number {
    return this.byId.size
  }

  get(id: string): unknown {
    return this.byId.get(id)
  }

  apply(name: string, id: string, entry: unknown): void {
    if (entry === undefined) {
      this.byId.delete(id)
      this.sorted.delete([name, id])
    } else {
      this.byId.set(id, entry)
      this.sorted.set([name, id], [id, entry])
    }
  }
}

const NONE = new KindEntries()
