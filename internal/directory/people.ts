import { unescapeToken } from '../../streams/subjects.js'
import { SortedRecords } from '../http/resource/sorted-records.js'
import type { TenantIds } from '../ids/ids.js'
import { comparableName } from '../text/comparable-name.js'
import { type IdentityEntry, namesOfIdentity } from './directory.js'
import { entryId } from './entry-index.js'

/** An identity that is no workload, with its id in the API. */
export interface Person {
  readonly id: string
  readonly entry: IdentityEntry
}

/** A tenant's people, found without reading through them. */
export interface People {
  get(id: string): Person | undefined
  /** By the names of their entries. */
  readonly sorted: SortedRecords<Person>
  /**
   * By any of their names, now or earlier, in any spelling: several, where a tenant has declared a name twice, in the
   * order in which they got it.
   */
  named(name: string): readonly Person[]
  withExternalId(externalId: string): readonly Person[]
  /** Of a group, by its id. */
  memberIds(groupId: string): ReadonlySet<string>
}

/** Every tenant's people, fed from the bucket `directory` (its keys are in streams/buckets.ts). */
export class PeopleIndex {
  private readonly tenants = new Map<string, TenantPeople>()
  private readonly idsOf: (tenantId: string) => TenantIds

  constructor(idsOf: (tenantId: string) => TenantIds) {
    this.idsOf = idsOf
  }

  /** @param value undefined when the entry was deleted */
  apply(key: string, value: unknown): void {
    const [tenantId = '', kind = '', token = ''] = key.split('.')
    if (kind !== 'identities') return
    const people = this.tenants.get(tenantId) ?? new TenantPeople()
    this.tenants.set(tenantId, people)
    const entry = value as IdentityEntry | undefined
    const id = entryId('identities', unescapeToken(token), this.idsOf(tenantId))
    people.set(id, entry?.is_workload === true ? undefined : entry)
  }

  of(tenantId: string): People {
    return this.tenants.get(tenantId) ?? NOBODY
  }
}

class TenantPeople implements People {
  private readonly byId = new Map<string, Person>()
  private readonly byName = new IdsBy()
  private readonly byExternalId = new IdsBy()
  private readonly byGroup = new IdsBy()
  readonly sorted = new SortedRecords<Person>()

  set(id: string, entry: IdentityEntry | undefined): void {
    const before = this.byId.get(id)?.entry
    this.byName.move(id, spellings(before), spellings(entry))
    this.byExternalId.move(id, externalIds(before), externalIds(entry))
    this.byGroup.move(id, before?.groups ?? [], entry?.groups ?? [])
    if (entry === undefined) {
      this.byId.delete(id)
      if (before !== undefined) this.sorted.delete([before.name, id])
      return
    }
    const person = { id, entry }
    this.byId.set(id, person)
    this.sorted.set([entry.name, id], person)
  }

  get(id: string): Person | undefined {
    return this.byId.get(id)
  }

  named(name: string): readonly Person[] {
    return this.all(this.byName.of(comparableName(name)))
  }

  withExternalId(externalId: string): readonly Person[] {
    return this.all(this.byExternalId.of(externalId))
  }

  memberIds(groupId: string): ReadonlySet<string> {
    return this.byGroup.of(groupId)
  }

  private all(ids: ReadonlySet<string>): readonly Person[] {
    return Array.from(ids, (id) => this.byId.get(id)).filter((person) => person !== undefined)
  }
}

const spellings = (entry: IdentityEntry | undefined): readonly string[] =>
  entry === undefined ? [] : [...new Set(namesOfIdentity(entry).map(comparableName))]

const externalIds = (entry: IdentityEntry | undefined): readonly string[] =>
  entry?.external_id === undefined ? [] : [entry.external_id]

/** Ids by a text that they share with few others, or with many. */
export class IdsBy {
  /** One id stands alone: a set for each of a hundred thousand names takes twenty times the memory. */
  private readonly ids = new Map<string, string | Set<string>>()

  of(text: string): ReadonlySet<string> {
    const found = this.ids.get(text)
    return typeof found === 'string' ? new Set([found]) : (found ?? NO_IDS)
  }

  /** Files an id under other texts than before. */
  move(id: string, before: readonly string[], after: readonly string[]): void {
    for (const text of before) if (!after.includes(text)) this.remove(text, id)
    for (const text of after) if (!before.includes(text)) this.add(text, id)
  }

  private add(text: string, id: string): void {
    const found = this.ids.get(text)
    if (found === undefined) this.ids.set(text, id)
    else if (typeof found === 'string') this.ids.set(text, new Set([found, id]))
    else found.add(id)
  }

  private remove(text: string, id: string): void {
    const found = this.ids.get(text)
    if (found === id || (found instanceof Set && found.delete(id) && found.size === 0)) this.ids.delete(text)
  }
}

const NO_IDS: ReadonlySet<string> = new Set()
const NOBODY = new TenantPeople()
