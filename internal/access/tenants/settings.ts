import {
  RATE_CLASSES,
  type RateLimit,
  type RateLimitSettings,
  type RateLimits,
  rateLimitOverrides,
} from '../../auth/rate-limits.js'
import { COHORT_MIN, settingsOf, type Tenant, type TenantSettings } from '../../auth/tenant.js'
import type { FieldError } from '../../problems/catalogue.js'
import type { CanonicalValue } from '../../text/canonical-json.js'
import type { SettingsPatch, ShownSettings } from './contract.js'

/** A tenant's settings as it sees them. @param instanceLimits hold where neither the tenant nor its operator says otherwise */
export function shownSettings(tenant: Tenant, instanceLimits: RateLimits): ShownSettings {
  const { rate_limits: _, ...settings } = settingsOf(tenant)
  const limits = limitsOf(tenant, instanceLimits)
  const shown = RATE_CLASSES.map((name) => [name, { per_second: limits[name].perSecond, burst: limits[name].burst }])
  return {
    tenant_id: tenant.id,
    name: tenant.name,
    created_at: tenant.created_at,
    ...settings,
    rate_limits: Object.fromEntries(shown) as ShownSettings['rate_limits'],
    k: COHORT_MIN,
  }
}

/** The tenant with a patch of its own merged in. */
export function patchedTenant(tenant: Tenant, { name, rate_limits, ...patch }: SettingsPatch): Tenant {
  const { rate_limits: own, ...before } = settingsOf(tenant)
  const limits = rate_limits === undefined ? own : mergedLimits(own, rate_limits)
  const stated = Object.entries(patch).filter(([, value]) => value !== undefined)
  const settings: TenantSettings = {
    ...before,
    ...(Object.fromEntries(stated) as Partial<TenantSettings>),
    ...(limits !== undefined && Object.keys(limits).length > 0 && { rate_limits: limits }),
  }
  return { ...tenant, name: name ?? tenant.name, settings }
}

function mergedLimits(
  own: RateLimitSettings | undefined,
  patch: NonNullable<SettingsPatch['rate_limits']> | null,
): RateLimitSettings | undefined {
  if (patch === null) return undefined
  const merged = { ...own, ...patch }
  return Object.fromEntries(Object.entries(merged).filter(([, limit]) => limit != null)) as RateLimitSettings
}

/**
 * The tenant with a patch of its operator merged in: the limits of this one are the most that the tenant can have. They are
 * written into its settings as well, where versions look that know no others.
 */
export function patchedByOperator(tenant: Tenant, patch: SettingsPatch): Tenant {
  const { operator_rate_limits: before, ...rest } = patchedTenant(tenant, patch)
  const given = patch.rate_limits === undefined ? before : mergedLimits(before, patch.rate_limits)
  return { ...rest, ...(given !== undefined && { operator_rate_limits: given }) }
}

/** The limits that hold for a tenant. */
export function limitsOf(tenant: Tenant | undefined, instanceLimits: RateLimits): RateLimits {
  const own = rateLimitOverrides(settingsOf(tenant).rate_limits)
  const most = mostOf(tenant, instanceLimits)
  return byClass((name) => byPart(Math.min, most[name], own[name] ?? most[name]))
}

/**
 * What a tenant may have: what its operator has given it, else the instance's. Where nothing says what the operator has
 * given, an older version wrote the settings, and more than the instance's there is the operator's, who had none but these.
 */
function mostOf(tenant: Tenant | undefined, instanceLimits: RateLimits): RateLimits {
  const given = rateLimitOverrides(tenant?.operator_rate_limits)
  const own = tenant?.operator_rate_limits === undefined ? rateLimitOverrides(settingsOf(tenant).rate_limits) : {}
  return byClass((name) => given[name] ?? byPart(Math.max, instanceLimits[name], own[name] ?? instanceLimits[name]))
}

/** The tenant, with what its settings show to be its operator's written down as such, so that it can come back to it. */
export function withGranted(tenant: Tenant, instanceLimits: RateLimits): Tenant {
  const most = mostOf(tenant, instanceLimits)
  const granted = RATE_CLASSES.filter(
    (name) => most[name].perSecond > instanceLimits[name].perSecond || most[name].burst > instanceLimits[name].burst,
  ).map((name) => [name, { per_second: most[name].perSecond, burst: most[name].burst }])
  return { ...tenant, operator_rate_limits: { ...Object.fromEntries(granted), ...tenant.operator_rate_limits } }
}

const byClass = (limit: (name: keyof RateLimits) => RateLimit): RateLimits =>
  Object.fromEntries(RATE_CLASSES.map((name) => [name, limit(name)])) as unknown as RateLimits

const byPart = (choose: typeof Math.min, one: RateLimit, other: RateLimit): RateLimit => ({
  perSecond: choose(one.perSecond, other.perSecond),
  burst: choose(one.burst, other.burst),
})

/** A tenant may lower its limits, and raise them again to what it has without its own. Else it could take from others (spec 8 rule 3). */
export function limitErrors(tenant: Tenant, { rate_limits }: SettingsPatch, instanceLimits: RateLimits): FieldError[] {
  const most = mostOf(tenant, instanceLimits)
  return RATE_CLASSES.flatMap((name) => {
    const wanted = rate_limits?.[name]
    if (wanted == null) return []
    const parts = [
      ['per_second', wanted.per_second, most[name].perSecond],
      ['burst', wanted.burst ?? 0, most[name].burst],
    ] as const
    return parts
      .filter(([, value, max]) => value > max)
      .map(([part, , max]) => ({ pointer: `/rate_limits/${name}/${part}`, detail: `must be at most ${max} here` }))
  })
}

/** What a change has changed, for the audit log; undefined when nothing. */
export function changesBetween(
  before: Tenant,
  after: Tenant,
): { readonly before: Flat; readonly after: Flat } | undefined {
  const [was, is] = [flat(before), flat(after)]
  const names = Object.keys({ ...was, ...is }).filter((name) => JSON.stringify(was[name]) !== JSON.stringify(is[name]))
  if (names.length === 0) return undefined
  const only = (all: Flat): Flat => Object.fromEntries(names.map((name) => [name, all[name] ?? null]))
  return { before: only(was), after: only(is) }
}

type Flat = { readonly [setting: string]: CanonicalValue | undefined }
const flat = (tenant: Tenant): Flat => {
  const { name, operator_rate_limits: given = {} } = tenant
  // That its operator has given nothing is written down with its first limits, and changes nothing.
  const stated = Object.keys(given).length > 0 && { operator_rate_limits: given }
  return { name, ...settingsOf(tenant), ...stated } as unknown as Flat
}
