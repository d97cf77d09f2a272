import { ByTenant } from '../../broker/by-tenant.js'
import type { StoredConvention } from './convention.js'
import { type UsageConventions, usageConventions } from './read-by-convention.js'

/** A convention that is tried out: as it would be, or without it. */
export interface ConventionDraft {
  /** The convention that it replaces, or that is removed. */
  readonly id: string
  readonly convention?: StoredConvention
}

/** Every tenant's conventions in memory, fed from the bucket `usage_conventions`. */
export class WatchedConventions {
  private readonly stored = new ByTenant<StoredConvention>()
  private readonly compiled = new Map<string, UsageConventions>()

  /** @param convention undefined when it was deleted */
  apply(key: string, convention: StoredConvention | undefined): void {
    this.stored.follow(key, convention)
    this.compiled.clear()
  }

  /** The same object until conventions change; undefined when the tenant has none. */
  of(tenantId: string): UsageConventions | undefined {
    if (this.stored.countOf(tenantId) === 0) return undefined
    const known = this.compiled.get(tenantId) ?? usageConventions(this.stored.of(tenantId))
    this.compiled.set(tenantId, known)
    return known
  }

  /** A tenant's conventions with a draft in place. */
  with({ id, convention }: ConventionDraft, tenantId: string): UsageConventions {
    const others = [...this.stored.of(tenantId)].filter((one) => one.id !== id)
    return usageConventions(convention === undefined ? others : [...others, convention])
  }
}
