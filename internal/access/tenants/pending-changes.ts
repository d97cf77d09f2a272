import {
  DELAYED_SETTINGS,
  type PendingChange,
  settingsOf,
  type Tenant,
  type TenantSettings,
} from '../../auth/tenant.js'
import type { SettingsPatch } from './tenant-contract.js'

/**
 * Changes of settings that destroy data, decide where it may be, or show what was hidden, wait a day, so that the tenant
 * can see and cancel what a stolen credential asked for: a wrong region stops exports and webhooks, none lets data leave.
 * The operator's changes do not wait.
 */

export const CHANGE_DELAY_MS = 24 * 60 * 60 * 1000

type Delayed = Pick<TenantSettings, PendingChange['setting']>

const IS_DESTRUCTIVE: { readonly [S in keyof Delayed]: (from: Delayed[S], to: Delayed[S]) => boolean } = {
  retention_days: (from, to) => to < from,
  residency_region: (from, to) => to !== from,
  cohort_scope: (from, to) => to === 'people' && from !== 'people',
}

export interface SplitPatch {
  /** The settings that apply at once. */
  readonly patch: SettingsPatch
  /** All changes that wait afterwards. */
  readonly pending: readonly PendingChange[]
  /** Those of them that this patch asked for. */
  readonly scheduled: readonly PendingChange[]
}

/**
 * Splits a patch into what applies at once and what waits. A setting that is stated again replaces its waiting change,
 * or cancels it: a value that destroys nothing applies at once.
 */
export function splitPatch(tenant: Tenant, patch: SettingsPatch, by: string, nowMs: number): SplitPatch {
  const current = settingsOf(tenant)
  const now: { -readonly [S in keyof SettingsPatch]: SettingsPatch[S] } = { ...patch }
  const scheduled: PendingChange[] = []
  for (const setting of DELAYED_SETTINGS) {
    const to = patch[setting]
    const isDestructive = IS_DESTRUCTIVE[setting] as (from: unknown, to: unknown) => boolean
    if (to === undefined || !isDestructive(current[setting], to)) continue
    delete now[setting]
    const known = pendingOf(tenant).find((change) => change.setting === setting && change.to === to)
    scheduled.push(known ?? newChange(setting, to, by, nowMs))
  }
  const others = pendingOf(tenant).filter(({ setting }) => patch[setting] === undefined)
  return { patch: now, pending: [...others, ...scheduled], scheduled }
}

const newChange = (
  setting: PendingChange['setting'],
  to: PendingChange['to'],
  by: string,
  nowMs: number,
): PendingChange => ({
  setting,
  to,
  requested_by: by,
  requested_at: new Date(nowMs).toISOString(),
  takes_effect_at: new Date(nowMs + CHANGE_DELAY_MS).toISOString(),
})

export const pendingOf = ({ pending_changes }: Tenant): readonly PendingChange[] => pending_changes ?? []

/** The tenant with these changes waiting. */
export function withPending({ pending_changes: _, ...tenant }: Tenant, pending: readonly PendingChange[]): Tenant {
  return pending.length === 0 ? tenant : { ...tenant, pending_changes: pending }
}

/** The tenant after the changes that are due; undefined when none is. */
export function withDueChanges(tenant: Tenant, nowMs: number): Tenant | undefined {
  const isDue = ({ takes_effect_at }: PendingChange): boolean => Date.parse(takes_effect_at) <= nowMs
  const due = pendingOf(tenant).filter(isDue)
  if (due.length === 0) return undefined
  const current = settingsOf(tenant)
  const settings = { ...current, ...Object.fromEntries(due.map(({ setting, to }) => [setting, to])) }
  const applied = due.map((change) => ({ ...change, from: current[change.setting] }))
  const waiting = pendingOf(tenant).filter((change) => !isDue(change))
  return { ...withPending(tenant, waiting), settings, applied_changes: [...(tenant.applied_changes ?? []), ...applied] }
}
