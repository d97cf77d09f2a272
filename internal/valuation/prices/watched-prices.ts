import { type TenantPrices, tenantPrices } from '../cost/tenant-prices.js'
import { type StoredModelName, tenantModelName } from '../names/name.js'
import { overrideOf, type StoredOverride } from './override.js'

interface PricesOfTenant {
  readonly overrides: Map<string, StoredOverride>
  readonly names: Map<string, StoredModelName>
  compiled: TenantPrices | undefined
}

/**
 * Every tenant's prices and model names in memory, fed from the buckets `price_overrides` and `model_names` (their keys
 * are in streams/buckets.ts).
 */
export class WatchedPrices {
  private readonly tenants = new Map<string, PricesOfTenant>()
  /** A deletion carries no value, and thus no tenant. */
  private readonly tenantOfName = new Map<string, string>()
  private readonly onInvalid: (id: string, what: string) => void

  /** @param onInvalid called for an override that the price rules reject; it is ignored */
  constructor(onInvalid: (id: string, what: string) => void) {
    this.onInvalid = onInvalid
  }

  /** @param override undefined when it was deleted */
  apply(key: string, override: StoredOverride | undefined): void {
    const [tenantId = ''] = key.split('.')
    this.change(tenantId, ({ overrides }) => setOrDelete(overrides, key, override))
  }

  /** @param stored undefined when it was deleted */
  applyName(id: string, stored: StoredModelName | undefined): void {
    const tenantId = stored?.tenant_id ?? this.tenantOfName.get(id)
    setOrDelete(this.tenantOfName, id, stored?.tenant_id)
    if (tenantId !== undefined) this.change(tenantId, ({ names }) => setOrDelete(names, id, stored))
  }

  private change(tenantId: string, change: (tenant: PricesOfTenant) => void): void {
    const tenant = this.tenants.get(tenantId) ?? { overrides: new Map(), names: new Map(), compiled: undefined }
    change(tenant)
    tenant.compiled = undefined
    if (tenant.overrides.size === 0 && tenant.names.size === 0) this.tenants.delete(tenantId)
    else this.tenants.set(tenantId, tenant)
  }

  /** @returns the same object until the tenant's prices change; undefined when it has none */
  of(tenantId: string): TenantPrices | undefined {
    const tenant = this.tenants.get(tenantId)
    if (tenant === undefined) return undefined
    tenant.compiled ??= this.compile([...tenant.overrides.values()], [...tenant.names.values()])
    return tenant.compiled
  }

  private compile(stored: readonly StoredOverride[], names: readonly StoredModelName[]): TenantPrices {
    // Sorted by id, so that every process prefers the same one of two equal overrides.
    const overrides = stored.toSorted((one, other) => (one.id < other.id ? -1 : 1))
    for (;;) {
      const result = tenantPrices(overrides.map(overrideOf), names.map(tenantModelName))
      if (result.kind === 'prices') return result.prices
      const [invalid] = overrides.splice(result.index, 1)
      this.onInvalid(invalid?.id ?? '', result.problem)
    }
  }
}

function setOrDelete<T>(map: Map<string, T>, key: string, value: T | undefined): void {
  if (value === undefined) map.delete(key)
  else map.set(key, value)
}
