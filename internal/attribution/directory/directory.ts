import { unescapeToken } from '../../../streams/subjects.js'
import type { SourceEntry } from '../../records/capture-source.js'

/** A service of the tenant: its owner, and other names for it in events. */
export interface ServiceEntry {
  readonly name: string
  readonly owner: string
  readonly aliases?: readonly string[]
}

/** A person or workload that makes calls: its team, and its service if there is only one. */
export interface IdentityEntry {
  readonly name: string
  readonly owner?: string
  readonly service?: string
  /** A workload, not a person: reports need not hide it for privacy. */
  readonly is_workload?: true
}

/** A credential whose calls come from one service. */
export interface PrincipalEntry {
  readonly id: string
  readonly service: string
}

/** The entries that a tenant declared; read by stage A. */
export interface Directory {
  service(tenantId: string, name: string): ServiceEntry | undefined
  identity(tenantId: string, name: string): IdentityEntry | undefined
  principal(tenantId: string, id: string): PrincipalEntry | undefined
  source(tenantId: string, name: string): SourceEntry | undefined
  sources(tenantId: string): Iterable<SourceEntry>
  /** Names of the identities that are workloads. */
  workloads(tenantId: string): Iterable<string>
}

interface TenantDirectory {
  readonly services: Map<string, ServiceEntry>
  /** Services that claim an alias, sorted by name: every process uses the first. */
  readonly claimants: Map<string, readonly string[]>
  readonly identities: Map<string, IdentityEntry>
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
      for (const alias of before?.aliases ?? []) withdraw(tenant.claimants, alias, name)
      for (const alias of after?.aliases ?? []) claim(tenant.claimants, alias, name)
    } else if (kind === 'identities') {
      const identity = value as IdentityEntry | undefined
      setOrDelete(tenant.identities, name, identity)
      if (identity?.is_workload) tenant.workloads.add(name)
      else tenant.workloads.delete(name)
    } else if (kind === 'principals') {
      setOrDelete(tenant.principals, name, value as PrincipalEntry | undefined)
    } else if (kind === 'sources') {
      setOrDelete(tenant.sources, name, value as SourceEntry | undefined)
    }
  }

  service(tenantId: string, name: string): ServiceEntry | undefined {
    const tenant = this.tenants.get(tenantId)
    return tenant?.services.get(name) ?? tenant?.services.get(tenant.claimants.get(name)?.[0] ?? '')
  }

  identity(tenantId: string, name: string): IdentityEntry | undefined {
    return this.tenants.get(tenantId)?.identities.get(name)
  }

  identityNames(tenantId: string): Iterable<string> {
    return this.tenants.get(tenantId)?.identities.keys() ?? []
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
  identities: new Map(),
  principals: new Map(),
  sources: new Map(),
  workloads: new Set(),
})

function setOrDelete<T>(map: Map<string, T>, key: string, value: T | undefined): void {
  if (value === undefined) map.delete(key)
  else map.set(key, value)
}

function claim(claimants: TenantDirectory['claimants'], alias: string, name: string): void {
  claimants.set(alias, [...new Set([...(claimants.get(alias) ?? []), name])].sort())
}

function withdraw(claimants: TenantDirectory['claimants'], alias: string, name: string): void {
  const others = (claimants.get(alias) ?? []).filter((claimant) => claimant !== name)
  setOrDelete(claimants, alias, others.length === 0 ? undefined : others)
}
