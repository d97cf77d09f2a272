import {
  RATE_CLASSES,
  type RateLimit,
  type RateLimitSettings,
  type RateLimits,
  rateLimitOverrides,
} from '../../auth/rate-limits.js'
import {
  type DeclaredDimension,
  type PendingChange,
  settingsOf,
  type Tenant,
  type TenantSettings,
} from '../../auth/tenant.js'
import type { FieldError } from '../../problems/problem-catalogue.js'
import { foldKey } from '../../records/dimensions.js'
import type { CanonicalValue } from '../../text/canonical-json.js'
import { pendingOf, withPending } from './pending-changes.js'
import type { SettingsPatch, ShownSettings } from './tenant-contract.js'

/** A tenant's identity provider as its people see it. */
export type ShownProvider = NonNullable<ShownSettings['identity_provider']>

/**
 * The API's form of the settings.
 *
 * @param instanceLimits apply where neither the tenant nor its operator has set others
 */
export function shownSettings(
  tenant: Tenant,
  instanceLimits: RateLimits,
  provider: ShownProvider | undefined,
): ShownSettings {
  const { rate_limits: _, ...settings } = settingsOf(tenant)
  const limits = limitsOf(tenant, instanceLimits)
  const shown = RATE_CLASSES.map((name) => [name, { per_second: limits[name].perSecond, burst: limits[name].burst }])
  return {
    tenant_id: tenant.id,
    name: tenant.name,
    created_at: tenant.created_at,
    ...settings,
    rate_limits: Object.fromEntries(shown) as ShownSettings['rate_limits'],
    identity_provider: provider === undefined ? null : shownProvider(provider),
    pending_changes: pendingOf(tenant),
    k: settings.min_cohort,
  }
}

/** Without the client and what its groups may do, which are the operator's. */
const shownProvider = ({ name, issuer, only, id }: ShownProvider): ShownProvider => ({ name, issuer, only, id })

/** The tenant after a patch by the tenant itself. */
export function patchedTenant(
  tenant: Tenant,
  { name, rate_limits, dimensions, ...patch }: SettingsPatch,
  nowMs: number,
): Tenant {
  const { rate_limits: own, ...before } = settingsOf(tenant)
  const limits = rate_limits === undefined ? own : mergedLimits(own, rate_limits)
  const stated = Object.entries(withMirror(patch)).filter(([, value]) => value !== undefined)
  const settings: TenantSettings = {
    ...before,
    ...(Object.fromEntries(stated) as Partial<TenantSettings>),
    ...(dimensions && { dimensions: dimensionsAfter(before.dimensions, dimensions, nowMs) }),
    ...(limits !== undefined && Object.keys(limits).length > 0 && { rate_limits: limits }),
  }
  const isStated = ({ setting }: PendingChange): boolean => patch[setting] !== undefined
  const waiting = pendingOf(tenant).filter((change) => !isStated(change))
  return { ...withPending(tenant, waiting), name: name ?? tenant.name, settings }
}

/** The patch with both of the settings for services that are not in the directory, where it states either. */
function withMirror<P extends Pick<SettingsPatch, 'undeclared_services' | 'require_directory'>>(patch: P): P {
  const { undeclared_services: undeclared, require_directory: required } = patch
  if (undeclared !== undefined) return { ...patch, require_directory: undeclared === 'declared' }
  return required === undefined ? patch : { ...patch, undeclared_services: required ? 'declared' : 'resolved' }
}

/** The two settings must agree where a patch states both. */
export function mirrorErrors({
  undeclared_services: undeclared,
  require_directory: required,
}: SettingsPatch): FieldError[] {
  if (undeclared === undefined || required === undefined || required === (undeclared === 'declared')) return []
  return [{ pointer: '/require_directory', detail: 'must be true exactly when undeclared_services is declared' }]
}

/** A key that was declared before keeps the time of its declaration. */
const dimensionsAfter = (
  before: readonly DeclaredDimension[],
  patch: NonNullable<SettingsPatch['dimensions']>,
  nowMs: number,
): readonly DeclaredDimension[] =>
  patch.map((dimension) => {
    const known = before.find(({ key }) => foldKey(key) === foldKey(dimension.key))
    return { ...dimension, declared_at: known?.declared_at ?? new Date(nowMs).toISOString() }
  })

function mergedLimits(
  own: RateLimitSettings | undefined,
  patch: NonNullable<SettingsPatch['rate_limits']> | null,
): RateLimitSettings | undefined {
  if (patch === null) return undefined
  const merged = { ...own, ...patch }
  return Object.fromEntries(Object.entries(merged).filter(([, limit]) => limit != null)) as RateLimitSettings
}

/**
 * The tenant after a patch by its operator, whose rate limits are the maximum for the tenant. They replace the tenant's
 * own, which may be lower.
 */
export function patchedByOperator(tenant: Tenant, patch: SettingsPatch, nowMs: number): Tenant {
  const { operator_rate_limits: before, ...rest } = patchedTenant(tenant, patch, nowMs)
  const operatorLimits = patch.rate_limits === undefined ? before : mergedLimits(before, patch.rate_limits)
  return { ...rest, ...(operatorLimits !== undefined && { operator_rate_limits: operatorLimits }) }
}

/** The limits in force for a tenant. */
export function limitsOf(tenant: Tenant | undefined, instanceLimits: RateLimits): RateLimits {
  const own = rateLimitOverrides(settingsOf(tenant).rate_limits)
  const maximum = maximumOf(tenant, instanceLimits)
  return byClass((name) => byField(Math.min, maximum[name], own[name] ?? maximum[name]))
}

/** The maximum limits of a tenant: those set by its operator, or else the instance's. */
function maximumOf(tenant: Tenant | undefined, instanceLimits: RateLimits): RateLimits {
  const given = rateLimitOverrides(tenant?.operator_rate_limits)
  return byClass((name) => given[name] ?? instanceLimits[name])
}

const byClass = (limit: (name: keyof RateLimits) => RateLimit): RateLimits =>
  Object.fromEntries(RATE_CLASSES.map((name) => [name, limit(name)])) as unknown as RateLimits

const byField = (choose: typeof Math.min, one: RateLimit, other: RateLimit): RateLimit => ({
  perSecond: choose(one.perSecond, other.perSecond),
  burst: choose(one.burst, other.burst),
})

/** A tenant may lower its limits, and raise them up to its maximum; beyond that it would take from others. */
export function limitErrors(tenant: Tenant, { rate_limits }: SettingsPatch, instanceLimits: RateLimits): FieldError[] {
  const maximum = maximumOf(tenant, instanceLimits)
  return RATE_CLASSES.flatMap((name) => {
    const wanted = rate_limits?.[name]
    if (wanted == null) return []
    const fields = [
      ['per_second', wanted.per_second, maximum[name].perSecond],
      ['burst', wanted.burst ?? 0, maximum[name].burst],
    ] as const
    return fields
      .filter(([, value, max]) => value > max)
      .map(([field, , max]) => ({ pointer: `/rate_limits/${name}/${field}`, detail: `must be at most ${max}` }))
  })
}

/** The settings that differ, for the audit log; undefined when none does. */
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
  const { name, operator_rate_limits: given = {}, pending_changes: pending } = tenant
  // An empty set of operator limits is no change.
  const stated = Object.keys(given).length > 0 && { operator_rate_limits: given }
  return { name, ...settingsOf(tenant), ...stated, ...(pending && { pending_changes: pending }) } as unknown as Flat
}
