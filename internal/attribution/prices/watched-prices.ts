import { type TenantPrices, tenantPrices } from '../cost/tenant-prices.js'
import { overrideOf, type StoredOverride } from './override.js'

interface PricesOfTenant {
  readonly overrides: Map<string, StoredOverride>
  compiled: TenantPrices | undefined
}

/** Every tenant's prices in memory, fed from the bucket `price_overrides` (its keys are in streams/buckets.ts). */
export class WatchedPrices {
  private readonly tenants = new Map<string, PricesOfTenant>()
  private readonly onInvalid: (id: string, what: string) => void

  /** @param onInvalid told of an override that no rule can apply; it is left out */
  constructor(onInvalid: (id: string, what: string) => void) {
    this.onInvalid = onInvalid
  }

  /** @param override undefined when it was deleted */
  apply(key: string, override: StoredOverride | undefined): void {
    const [tenantId = ''] = key.split('.')
    const tenant = this.tenants.get(tenantId) ?? { overrides: new Map(), compiled: undefined }
    if (override === undefined) tenant.overrides.delete(key)
    else tenant.overrides.set(key, override)
    tenant.compiled = undefined
    if (tenant.overrides.size === 0) this.tenants.delete(tenantId)
    else this.tenants.set(tenantId, tenant)
  }

  /** @returns the same object until the tenant's prices change; undefined when it has none */
  of(tenantId: string): TenantPrices | undefined {
    const tenant = this.tenants.get(tenantId)
    if (tenant === undefined) return undefined
    tenant.compiled ??= this.compile([...tenant.overrides.values()])
    return tenant.compiled
  }

  private compile(stored: readonly StoredOverride[]): TenantPrices {
    // In the order of their ids, so that every process prefers the same of two equals.
    const overrides = stored.toSorted((one, other) => (one.id < other.id ? -1 : 1))
    for (;;) {
      const result = tenantPrices(overrides.map(overrideOf))
      if (result.kind === 'prices') return result.prices
      const [invalid] = overrides.splice(result.index, 1)
      this.onInvalid(invalid?.id ?? '', result.problem)
    }
  }
}
