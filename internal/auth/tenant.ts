import type { RateLimitSettings } from './rate-limits.js'

/** A tenant as it is kept under its id in the bucket `tenants`. */
export interface Tenant {
  readonly id: string
  readonly name: string
  readonly created_at: string
  readonly settings: TenantSettings
  /**
   * What its operator has given it, by class, in place of the instance's: its own settings only go below. Versions that do
   * not know the field keep it, and go by the settings alone.
   */
  readonly operator_rate_limits?: RateLimitSettings
}

export interface TenantSettings {
  /** Who owns a call whose service and identity have no owner in the directory: the identity as given, or nobody. */
  readonly owner_fallback: 'identity' | 'unassigned'
  /** A stated service that the directory does not know is then only declared, not resolved. */
  readonly require_directory: boolean
  /** Whether trained inference may answer for what the facts leave open. */
  readonly stage_b_enabled: boolean
  /** Where the tenant's data must stay; null: anywhere. */
  readonly residency_region: string | null
  /** Where the tenant's calls run, and what power emits there; null: as the method has it. */
  readonly grid: GridSettings | null
  /** How long an API key may live at most. */
  readonly api_key_max_lifetime_days: number
  /** How long records of calls are kept, by the day of the call; a sentinel deletes what is older. */
  readonly retention_days: number
  /** The tenant's own rate limits; those of its operator or the instance where it has none. */
  readonly rate_limits?: RateLimitSettings
}

/** A tenant's own facts about its electricity: hourly data, market-based contracts. */
export interface GridSettings {
  /** Zone or cloud region of calls that state no region. */
  readonly zone: string | null
  readonly factors: readonly {
    /** ISO 3166-1 alpha-3. */
    readonly zone: string
    /** Decimal text. */
    readonly gco2e_per_kwh: string
    /** Who says so; shown in the explanation. */
    readonly source: string
    /** RFC 3339; `to` is not in the period. Without dates the factor always holds. */
    readonly from: string | null
    readonly to: string | null
  }[]
}

export const DEFAULT_SETTINGS: TenantSettings = {
  owner_fallback: 'identity',
  require_directory: false,
  stage_b_enabled: true,
  residency_region: null,
  grid: null,
  api_key_max_lifetime_days: 365,
  retention_days: 400,
}

/** A cohort of fewer people is never shown (spec 4.2). Not a tenant's to set. */
export const COHORT_MIN = 5

/** A tenant's settings; what an older version has not written is as by default. */
export const settingsOf = (tenant: Tenant | undefined): TenantSettings =>
  tenant === undefined ? DEFAULT_SETTINGS : { ...DEFAULT_SETTINGS, ...tenant.settings }
