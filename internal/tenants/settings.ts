import type { CanonicalValue } from '../audit/canonical-json.js'
import { RATE_CLASSES, type RateLimitSettings, type RateLimits, rateLimitOverrides } from '../auth/rate-limits.js'
import type { FieldError } from '../problems/catalogue.js'
import type { SettingsPatch, ShownSettings } from './contract.js'
import { COHORT_MIN, settingsOf, type Tenant, type TenantSettings } from './tenant.js'

/** A tenant's settings as it sees them. @param instanceLimits hold where the tenant has none of its own */
export function shownSettings(tenant: Tenant, instanceLimits: RateLimits): ShownSettings {
  const { rate_limits, ...settings } = settingsOf(tenant)
  const limits = { ...instanceLimits, ...rateLimitOverrides(rate_limits) }
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

/** The tenant with a patch merged in. */
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
 * A tenant may lower its limits, and raise them again up to what its operator has given it: the instance's, or what it
 * has now where that is more. Else it could take from others (spec 8 rule 3).
 */
export function limitErrors(tenant: Tenant, { rate_limits }: SettingsPatch, instanceLimits: RateLimits): FieldError[] {
  const own = rateLimitOverrides(settingsOf(tenant).rate_limits)
  return RATE_CLASSES.flatMap((name) => {
    const wanted = rate_limits?.[name]
    if (wanted == null) return []
    const most = (part: 'perSecond' | 'burst') => Math.max(instanceLimits[name][part], own[name]?.[part] ?? 0)
    const parts = [
      ['per_second', wanted.per_second, most('perSecond')],
      ['burst', wanted.burst ?? 0, most('burst')],
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
const flat = (tenant: Tenant): Flat => ({ name: tenant.name, ...settingsOf(tenant) }) as unknown as Flat
