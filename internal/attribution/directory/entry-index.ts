import { unescapeToken } from '../../../streams/subjects.js'
import { idOfName, type TenantIds } from '../../ids/ids.js'
import type { IdentityEntry, PrincipalEntry, ServiceEntry } from './directory.js'
import type { DirectoryKind } from './entries.js'

export interface EntriesOf {
  readonly services: ServiceEntry
  readonly identities: IdentityEntry
  readonly principals: PrincipalEntry
}

export const ENTRY_PREFIXES = { services: 'svc', identities: 'idn', principals: 'prn' } as const

/** The id under which the API shows an entry: names, which may be those of people, stay out of addresses and logs. */
export const entryId = (kind: DirectoryKind, name: string, ids: TenantIds): string =>
  idOfName(ENTRY_PREFIXES[kind], ids, `directory.${kind}`, name)

/** Every tenant's entries by kind and id, fed from the bucket `directory` (its keys are in streams/buckets.ts). */
export class EntryIndex {
  private readonly tenants = new Map<string, Map<string, unknown>>()
  private readonly idsOf: (tenantId: string) => TenantIds

  constructor(idsOf: (tenantId: string) => TenantIds) {
    this.idsOf = idsOf
  }

  /** @param value undefined when the entry was deleted */
  apply(key: string, value: unknown): void {
    const [tenantId = '', kind = '', token = ''] = key.split('.')
    const place = `${tenantId}.${kind}`
    const entries = this.tenants.get(place) ?? new Map<string, unknown>()
    const id = entryId(kind as DirectoryKind, unescapeToken(token), this.idsOf(tenantId))
    if (value === undefined) entries.delete(id)
    else this.tenants.set(place, entries.set(id, value))
  }

  of<K extends DirectoryKind>(tenantId: string, kind: K): ReadonlyMap<string, EntriesOf[K]> {
    return (this.tenants.get(`${tenantId}.${kind}`) ?? NONE) as ReadonlyMap<string, EntriesOf[K]>
  }
}

const NONE: ReadonlyMap<string, unknown> = new Map()
