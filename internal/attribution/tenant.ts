import type { RateLimitSettings } from '../auth/rate-limits.js'

/** A tenant as it is kept under its id in the bucket `tenants`. */
export interface Tenant {
  readonly id: string
  readonly name: string
  readonly created_at: string
  readonly settings: TenantSettings
}

export interface TenantSettings {
  /** Who owns a call whose service and identity have no owner in the directory: the identity as given, or nobody. */
  readonly owner_fallback: 'identity' | 'unassigned'
  /** A stated service that the directory does not know is then only declared, not resolved. */
  readonly require_directory: boolean
  /** The tenant's own rate limits; those of the instance where it has none. */
  readonly rate_limits?: RateLimitSettings
}

export const DEFAULT_SETTINGS: TenantSettings = { owner_fallback: 'identity', require_directory: false }
