import { unescapeToken } from '../../streams/subjects.js'
import { identityHash } from '../ids/identity-hash.js'
import type { SipKey } from '../ids/siphash.js'
import type { SourceEntry } from '../records/capture-source.js'
import { comparableName } from '../text/comparable-name.js'
import {
  type NamedService,
  namesIn,
  periodAt,
  periodsOf,
  type ServiceChange,
  type ServicePeriod,
} from './dated-changes.js'

/** A service of the tenant: its owner, and other names for it in events. */
export interface ServiceEntry {
  /** Before its first change; the entry keeps this name. */
  readonly name: string
  readonly owner: string
  readonly aliases?: readonly string[]
  /** In the order of their times. */
  readonly changes?: readonly ServiceChange[]
}

/** A person or workload that makes calls: its team, and its service if there is only one. */
export interface IdentityEntry {
  readonly name: string
  readonly owner?: string
  readonly service?: string
  /** A workload, not a person: reports need not hide it for privacy. */
  readonly is_workload?: true
  /** Has left, says SCIM: late calls still find the team. */
  readonly inactive?: true
  /** SCIM has removed the statement whether it is active. */
  readonly active_removed?: true
  /** Ids of the groups that SCIM has put it in, in the order of joining; `owner` is the name of the first. */
  readonly groups?: readonly string[]
  /** Its id at the SCIM client. */
  readonly external_id?: string
  /** Names that SCIM has given it since, the newest last: `name`, from which its id follows, stays. */
  readonly renamed?: readonly string[]
}

/** Every name of an identity, of any time. */
export const namesOfIdentity = ({ name, renamed = [] }: IdentityEntry): readonly string[] => [name, ...renamed]

/** A credential whose calls come from one service. */
export interface PrincipalEntry {
  readonly id: string
  readonly service: string
  /** The credential belongs to this service alone: what its events claim does not change that. */
  readonly exclusive?: true
}

/** The entries that a tenant declared; read by the facts stage. */
export interface Directory {
  /**
   * What a service was called at an instant, and who owned it: by any of its names, of any time. Names are compared
   * trimmed, in NFC and without case.
   */
  service(tenantId: string, name: string, atMs: number): NamedService | undefined
  /** Finds the entry of a service by the same names. */
  serviceEntry(tenantId: string, name: string): ServiceEntry | undefined
  /** Whether the tenant has declared any service. */
  hasServices(tenantId: string): boolean
  services(tenantId: string): Iterable<ServiceEntry>
  /** By its own name, else, of people, by any of its names in any spelling. */
  identity(tenantId: string, name: string): IdentityEntry | undefined
  principal(tenantId: string, id: string): PrincipalEntry | undefined
  source(tenantId: string, name: string): SourceEntry | undefined
  sources(tenantId: string): Iterable<SourceEntry>
  /** Names of the identities that are workloads. */
  workloads(tenantId: string): Iterable<string>
}

interface TenantDirectory {
  readonly services: Map<string, ServiceEntry>
  /** Services that claim a comparable name, by name or alias, sorted: every process uses the first. */
  readonly claimants: Map<string, readonly string[]>
  /** Of the services with changes. */
  readonly periods: Map<string, readonly ServicePeriod[]>
  readonly identities: Map<string, IdentityEntry>
  /** People who have a comparable name that is not the name of their entry, sorted. */
  readonly spellings: Map<string, readonly string[]>
  readonly principals: Map<string, PrincipalEntry>
  readonly sources: Map<string, SourceEntry>
  readonly workloads: Set<string>
}

/** The directory of every tenant in memory, fed from the bucket `directory` (its keys are in streams/buckets.ts). */
export class WatchedDirectory implements Directory {
  private readonly tenants = new Map<string, TenantDirectory>()

  /** @param value undefined when the entry was deleted */
  apply(key: string, value: unknown): void {
    const [tenantId = '', kind = '', token = ''] = key.split('.')
    const tenant = this.tenants.get(tenantId) ?? emptyDirectory()
    this.tenants.set(tenantId, tenant)
    const name = unescapeToken(token)
    if (kind === 'services') {
      const before = tenant.services.get(name)
      const after = value as ServiceEntry | undefined
      setOrDelete(tenant.services, name, after)
      setOrDelete(tenant.periods, name, after?.changes && periodsOf(after, after.changes))
      for (const claimed of claimedBy(before)) withdraw(tenant.claimants, claimed, name)
      for (const claimed of claimedBy(after)) claim(tenant.claimants, claimed, name)
    } else if (kind === 'identities') {
      const identity = value as IdentityEntry | undefined
      for (const spelled of spellingsOf(tenant.identities.get(name))) withdraw(tenant.spellings, spelled, name)
      for (const spelled of spellingsOf(identity)) claim(tenant.spellings, spelled, name)
      setOrDelete(tenant.identities, name, identity)
      if (identity?.is_workload) tenant.workloads.add(name)
      else tenant.workloads.delete(name)
    } else if (kind === 'principals') {
      setOrDelete(tenant.principals, name, value as PrincipalEntry | undefined)
    } else if (kind === 'sources') {
      setOrDelete(tenant.sources, name, value as SourceEntry | undefined)
    }
  }

  /** A tenant's directory with an entry as it would be, or without it; it knows no other tenant. */
  with(key: string, value: unknown): WatchedDirectory {
    const tried = new WatchedDirectory()
    const [tenantId = ''] = key.split('.')
    tried.tenants.set(tenantId, copyOf(this.tenants.get(tenantId) ?? NO_ENTRIES))
    tried.apply(key, value)
    return tried
  }

  service(tenantId: string, name: string, atMs: number): NamedService | undefined {
    const tenant = this.tenants.get(tenantId)
    if (tenant === undefined || tenant.services.size === 0) return undefined
    const entry = entryOf(tenant, name)
    return entry?.changes === undefined ? entry : serviceAt(tenant, entry, atMs)
  }

  serviceEntry(tenantId: string, name: string): ServiceEntry | undefined {
    const tenant = this.tenants.get(tenantId)
    return tenant && entryOf(tenant, name)
  }

  hasServices(tenantId: string): boolean {
    return (this.tenants.get(tenantId)?.services.size ?? 0) > 0
  }

  services(tenantId: string): Iterable<ServiceEntry> {
    return this.tenants.get(tenantId)?.services.values() ?? []
  }

  identity(tenantId: string, name: string): IdentityEntry | undefined {
    const { identities, spellings } = this.tenants.get(tenantId) ?? NO_ENTRIES
    const exact = identities.get(name)
    if (exact !== undefined || identities.size === 0) return exact
    const comparable = comparableName(name)
    const person = identities.get(comparable) ?? identities.get(spellings.get(comparable)?.[0] ?? '')
    // Two workloads may differ in case alone.
    return person?.is_workload === true ? undefined : person
  }

  /** Of their entries, and those that SCIM has given them since. */
  *identityNames(tenantId: string): Iterable<string> {
    for (const identity of (this.tenants.get(tenantId) ?? NO_ENTRIES).identities.values()) {
      yield* namesOfIdentity(identity)
    }
  }

  principalIds(tenantId: string): Iterable<string> {
    return this.tenants.get(tenantId)?.principals.keys() ?? []
  }

  principal(tenantId: string, id: string): PrincipalEntry | undefined {
    return this.tenants.get(tenantId)?.principals.get(id)
  }

  source(tenantId: string, name: string): SourceEntry | undefined {
    return this.tenants.get(tenantId)?.sources.get(name)
  }

  sources(tenantId: string): Iterable<SourceEntry> {
    return this.tenants.get(tenantId)?.sources.values() ?? []
  }

  workloads(tenantId: string): Iterable<string> {
    return this.tenants.get(tenantId)?.workloads ?? []
  }
}

const emptyDirectory = (): TenantDirectory => ({
  services: new Map(),
  claimants: new Map(),
  periods: new Map(),
  identities: new Map(),
  spellings: new Map(),
  principals: new Map(),
  sources: new Map(),
  workloads: new Set(),
})

const NO_ENTRIES = emptyDirectory()

/** What they hold is never changed in place. */
const copyOf = (tenant: TenantDirectory): TenantDirectory => ({
  services: new Map(tenant.services),
  claimants: new Map(tenant.claimants),
  periods: new Map(tenant.periods),
  identities: new Map(tenant.identities),
  spellings: new Map(tenant.spellings),
  principals: new Map(tenant.principals),
  sources: new Map(tenant.sources),
  workloads: new Set(tenant.workloads),
})

const spellingsOf = (identity: IdentityEntry | undefined): ReadonlySet<string> => {
  const isPerson = identity !== undefined && identity.is_workload !== true
  const spelled = isPerson ? namesOfIdentity(identity).map(comparableName) : []
  return new Set(spelled.filter((name) => name !== identity?.name))
}

const entryOf = ({ services, claimants }: TenantDirectory, name: string): ServiceEntry | undefined =>
  services.get(name) ?? services.get(claimants.get(comparableName(name))?.[0] ?? '')

/** Merges that are followed: the routes refuse circles, but two requests at once, or an import, may make one. */
const MERGES_MAX = 16

function serviceAt(tenant: TenantDirectory, entry: ServiceEntry, atMs: number): NamedService {
  let at = entry
  for (let merges = 0; merges < MERGES_MAX; merges++) {
    const period = periodAt(tenant.periods.get(at.name) ?? [], atMs)
    if (period === undefined) return at
    if (period.mergedInto === undefined) return period.service
    const into = entryOf(tenant, period.mergedInto)
    // It was deleted since: what it was called is still known.
    if (into === undefined) return { name: period.mergedInto, owner: period.service.owner }
    at = into
  }
  return entry
}

function setOrDelete<T>(map: Map<string, T>, key: string, value: T | undefined): void {
  if (value === undefined) map.delete(key)
  else map.set(key, value)
}

/** Every name that finds a service, of any time. */
export const namesOf = ({ name, aliases = [], changes = [] }: ServiceEntry): readonly string[] => [
  name,
  ...aliases,
  ...namesIn(changes),
]

const claimedBy = (service: ServiceEntry | undefined): ReadonlySet<string> =>
  new Set((service === undefined ? [] : namesOf(service)).map(comparableName))

function claim(claimants: TenantDirectory['claimants'], claimed: string, name: string): void {
  claimants.set(claimed, [...new Set([...(claimants.get(claimed) ?? []), name])].sort())
}

function withdraw(claimants: TenantDirectory['claimants'], claimed: string, name: string): void {
  const others = (claimants.get(claimed) ?? []).filter((claimant) => claimant !== name)
  setOrDelete(claimants, claimed, others.length === 0 ? undefined : others)
}

/** Identity hashes of a tenant's workloads, as in the read model: 32 hex digits each. */
export const workloadHashes = (directory: Directory, tenantId: string, key: SipKey): string[] =>
  [...directory.workloads(tenantId)].map((name) => Buffer.from(identityHash(key, name)).toString('hex'))
