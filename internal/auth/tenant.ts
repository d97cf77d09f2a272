import type { RateLimitSettings } from './rate-limits.js'

/** A tenant, stored under its id in the bucket `tenants`. */
export interface Tenant {
  readonly id: string
  readonly name: string
  readonly created_at: string
  readonly settings: TenantSettings
  /**
   * Limits set by the operator, by class, in place of the instance's; the tenant's own settings can only lower them.
   */
  readonly operator_rate_limits?: RateLimitSettings
  /** Ids of the people who are owners. Absent: none yet; never empty, since the last one stays. */
  readonly owners?: readonly string[]
  /** Changes of settings that wait, at most one per setting. Absent: none. */
  readonly pending_changes?: readonly PendingChange[]
  /** Changes that were applied, until their audit entries are stored. Absent: none. */
  readonly applied_changes?: readonly AppliedChange[]
}

/**
 * Settings of which some changes destroy data, decide where it may be, or show what was hidden: these wait
 * (`pending-changes.ts`).
 */
export const DELAYED_SETTINGS = ['retention_days', 'residency_region', 'cohort_scope'] as const

export interface PendingChange {
  readonly setting: (typeof DELAYED_SETTINGS)[number]
  readonly to: number | string | null
  /** Id of the credential that asked. */
  readonly requested_by: string
  /** RFC 3339. */
  readonly requested_at: string
  readonly takes_effect_at: string
}

export interface AppliedChange extends PendingChange {
  readonly from: PendingChange['to']
}

export const isOwner = (tenant: Tenant | undefined, principal: string): boolean =>
  tenant?.owners?.includes(principal) === true

export interface TenantSettings {
  /** Owner of a call whose service and identity have no owner in the directory: the identity as given, or nobody. */
  readonly owner_fallback: 'identity' | 'unassigned'
  /** How a stated service counts that is not in the directory. */
  readonly undeclared_services: UndeclaredServices
  /** Mirrors `undeclared_services`, for clients that do not know it: true exactly when that is `declared`. */
  readonly require_directory: boolean
  /** Whether trained inference may attribute calls that the facts leave open. */
  readonly stage_b_enabled: boolean
  /** Whether events of different sources that show the same call become one record. */
  readonly merge_seen_calls: boolean
  /** Whether people who sign in by password also need a code. */
  readonly require_second_factor: boolean
  /** Region in which the tenant's data must stay; null: any. */
  readonly residency_region: string | null
  /** Where the tenant's calls run, and the emissions of electricity there; null: the defaults of the method. */
  readonly grid: GridSettings | null
  /** A stated cost of more than this many times the price, or of less than this part of it, is implausible. */
  readonly stated_cost_factor: number
  /** A stated cost of one call above this is implausible; decimal text. */
  readonly stated_cost_ceiling_usd: string
  /** Whether a cost that is an upper bound is charged back. */
  readonly charge_upper_bounds: boolean
  /** Maximum lifetime of an API key. */
  readonly api_key_max_lifetime_days: number
  /** Retention of call records, by the day of the call; a sentinel deletes older ones. */
  readonly retention_days: number
  /** Tag keys whose values are dimensions of records and reports. */
  readonly dimensions: readonly DeclaredDimension[]
  /** Time zone of the periods of budgets that state none: a name of the tz database. */
  readonly time_zone: string
  /** Cohorts of fewer people are never shown: k of the cohort rule, 5 or more. */
  readonly min_cohort: number
  /** What the cohort rule folds: every group, or only what names people. */
  readonly cohort_scope: CohortScope
  /** What a credential may give to others: what it holds, or anything. */
  readonly delegation: Delegation
  /** What its gateways vouch for although callers of other gateways could write it, as `otlp.key_alias`. */
  readonly trusted_fields: readonly string[]
  /** The tenant's own rate limits. Default: those of its operator or the instance. */
  readonly rate_limits?: RateLimitSettings
}

/** A tag key that a tenant has declared as a dimension. */
export interface DeclaredDimension {
  readonly key: string
  /** Whether its values name people. */
  readonly personal: boolean
  /** RFC 3339. Records from before it have no value of the key. */
  readonly declared_at: string
}

/** A tenant's own data about its electricity: hourly data, market-based contracts. */
export interface GridSettings {
  /** Zone or cloud region of calls that state no region. */
  readonly zone: string | null
  readonly factors: readonly {
    /** ISO 3166-1 alpha-3. */
    readonly zone: string
    /** Decimal text. */
    readonly gco2e_per_kwh: string
    /** Source of the figure; shown in the explanation. */
    readonly source: string
    /** RFC 3339; `to` is exclusive. Without dates the factor always applies. */
    readonly from: string | null
    readonly to: string | null
  }[]
}

/** The least that a tenant may set as `min_cohort`. */
export const COHORT_MIN = 5
/** The most: groups of more people are no cohorts. */
export const COHORT_MAX = 50

/** `people`: services, teams and cost centres that the directory lists are always named. */
export const COHORT_SCOPES = ['all', 'people'] as const
export type CohortScope = (typeof COHORT_SCOPES)[number]

/**
 * How a stated service that is not in the directory counts: `declared` (0.70, not for chargeback) or `resolved`; `auto`
 * is `declared` as soon as the directory has services.
 */
export const UNDECLARED_SERVICES = ['auto', 'declared', 'resolved'] as const
export type UndeclaredServices = (typeof UNDECLARED_SERVICES)[number]

export const DELEGATIONS = ['held', 'any'] as const
export type Delegation = (typeof DELEGATIONS)[number]

/** Of a new tenant, and of fields that a stored one lacks because they are younger. */
export const DEFAULT_SETTINGS: TenantSettings = {
  owner_fallback: 'identity',
  undeclared_services: 'auto',
  require_directory: false,
  stage_b_enabled: true,
  merge_seen_calls: true,
  require_second_factor: false,
  residency_region: null,
  grid: null,
  stated_cost_factor: 20,
  stated_cost_ceiling_usd: '1000',
  charge_upper_bounds: false,
  api_key_max_lifetime_days: 365,
  retention_days: 400,
  dimensions: [],
  time_zone: 'UTC',
  min_cohort: COHORT_MIN,
  cohort_scope: 'all',
  delegation: 'held',
  trusted_fields: [],
}

/** A tenant's settings, complete. */
export function settingsOf(tenant: Tenant | undefined): TenantSettings {
  if (tenant === undefined) return DEFAULT_SETTINGS
  const known = SETTINGS.get(tenant)
  if (known !== undefined) return known
  const settings = { ...DEFAULT_SETTINGS, ...tenant.settings }
  SETTINGS.set(tenant, settings)
  return settings
}

/** Those of one intake, without its name. */
export function trustedFieldsOf({ trusted_fields: all }: TenantSettings, intake: string): readonly string[] {
  const start = `${intake}.`
  return all.filter((field) => field.startsWith(start)).map((field) => field.slice(start.length))
}

/** Stages ask for the settings of each event's tenant; a changed tenant is another object. */
const SETTINGS = new WeakMap<Tenant, TenantSettings>()

const DAY_MS = 24 * 60 * 60 * 1000

/** Calls before this instant are past the tenant's retention: whole days, so that reports never show part of a day. */
export const retentionCutoff = (nowMs: number, days: number): number =>
  Math.floor(nowMs / DAY_MS) * DAY_MS - days * DAY_MS
