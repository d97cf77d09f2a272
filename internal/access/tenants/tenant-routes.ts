import type { RateLimits } from '../../auth/rate-limits.js'
import { isOwner, type PendingChange, settingsOf, type Tenant } from '../../auth/tenant.js'
import type { Records } from '../../broker/records.js'
import type { NewEvent } from '../../events/event.js'
import type { PublishEvent } from '../../events/publish-event.js'
import type { MutationRequest, Reply } from '../../http/mutations/mutation.js'
import type { Mutate } from '../../http/mutations/mutations.js'
import { invalid } from '../../http/mutations/read-body.js'
import type { Route } from '../../http/route.js'
import { type FieldError, type Problem, problem } from '../../problems/problem-catalogue.js'
import { pendingOf, splitPatch, withPending } from './pending-changes.js'
import {
  CANCEL_CHANGE,
  EXAMPLE_PATCH,
  GET_SETTINGS,
  PATH,
  PENDING_PATH,
  type SettingsPatch,
  settingsPatch,
  UPDATE_SETTINGS,
} from './tenant-contract.js'
import {
  changesBetween,
  limitErrors,
  mirrorErrors,
  patchedTenant,
  type ShownProvider,
  shownSettings,
} from './tenant-settings.js'

export interface SettingsRoutesDeps {
  readonly mutate: Mutate
  readonly findTenant: (id: string) => Tenant | undefined
  readonly tenants: Records<Tenant>
  readonly providerOf: (tenantId: string) => ShownProvider | undefined
  readonly instanceLimits: RateLimits
  readonly publishEvent: PublishEvent
  readonly clock: () => number
}

/** Values that only owners may set: who could lift the limit could give itself everything, or see everybody. */
const OF_OWNERS = { delegation: 'any', cohort_scope: 'people' } as const
const onlyOwners = (setting: keyof typeof OF_OWNERS): Problem =>
  problem(
    'INSUFFICIENT_SCOPE',
    `Only an owner of the tenant, or its operator, may set ${setting} to ${OF_OWNERS[setting]}.`,
  )

/** The setting that this credential may not give its value. */
const forbidden = (tenant: Tenant, body: SettingsPatch, principal: string): keyof typeof OF_OWNERS | undefined =>
  isOwner(tenant, principal)
    ? undefined
    : (Object.keys(OF_OWNERS) as (keyof typeof OF_OWNERS)[]).find(
        (setting) => body[setting] === OF_OWNERS[setting] && settingsOf(tenant)[setting] !== OF_OWNERS[setting],
      )

const ACCESS = { access: 'admin:config', rateClass: 'control', path: PATH } as const

/** `GET` and `PATCH /api/v1/settings`. */
export function settingsRoutes(deps: SettingsRoutesDeps): readonly Route[] {
  return [
    {
      ...ACCESS,
      method: 'get',
      operation: GET_SETTINGS,
      handle(exchange, { tenantId }) {
        const shown = shownSettings(present(deps.findTenant(tenantId)), deps.instanceLimits, deps.providerOf(tenantId))
        exchange.replyJson('200 OK', shown)
      },
    },
    deps.mutate({
      ...ACCESS,
      needsStepUp: true,
      method: 'patch',
      action: 'settings.update',
      operation: UPDATE_SETTINGS,
      body: { schema: settingsPatch, example: EXAMPLE_PATCH },
      handle: (request) => updateSettings(request, deps),
    }),
    deps.mutate({
      ...ACCESS,
      path: PENDING_PATH,
      method: 'del',
      action: 'settings.cancel',
      operation: CANCEL_CHANGE,
      handle: (request) => cancelChange(request, deps),
    }),
  ]
}

async function updateSettings(
  { caller, body, isRepeat }: Pick<MutationRequest<SettingsPatch>, 'caller' | 'body' | 'isRepeat'>,
  { tenants, providerOf, instanceLimits, publishEvent, clock }: SettingsRoutesDeps,
): Promise<Reply | Problem> {
  let before: Tenant | undefined
  let errors: readonly FieldError[] = []
  let refused: keyof typeof OF_OWNERS | undefined
  let scheduled: readonly PendingChange[] = []
  const after = present(
    await tenants.change(caller.tenantId, (tenant) => {
      before = tenant
      errors = [...mirrorErrors(body), ...limitErrors(tenant, body, instanceLimits)]
      refused = forbidden(tenant, body, caller.principal)
      if (errors.length > 0 || refused !== undefined) return undefined
      const split = splitPatch(tenant, body, caller.principal, clock())
      scheduled = split.scheduled
      return withPending(patchedTenant(tenant, split.patch, clock()), split.pending)
    }),
  )
  if (errors.length > 0) return invalid(errors)
  if (refused !== undefined) return onlyOwners(refused)
  const was = before ?? after
  for (const change of scheduled) {
    // The same value again is the same change, of which subscribers know.
    if (isRepeat || !pendingOf(was).includes(change)) await publishEvent(scheduledEvent(was, change))
  }
  const changes = changesBetween(was, after)
  return {
    status: 200,
    body: shownSettings(after, instanceLimits, providerOf(caller.tenantId)),
    target: caller.tenantId,
    ...(changes && { changes }),
  }
}

const scheduledEvent = (
  tenant: Tenant,
  { setting, to, requested_by, requested_at, takes_effect_at }: PendingChange,
): NewEvent<'settings.change.scheduled'> => ({
  tenantId: tenant.id,
  type: 'settings.change.scheduled',
  cause: `${setting} ${requested_at}`,
  data: { setting, from: settingsOf(tenant)[setting], to, requested_by, takes_effect_at },
})

async function cancelChange(
  { caller, parameter, isRepeat }: Pick<MutationRequest<undefined>, 'caller' | 'parameter' | 'isRepeat'>,
  { tenants }: SettingsRoutesDeps,
): Promise<Reply | Problem> {
  let before: Tenant | undefined
  const after = present(
    await tenants.change(caller.tenantId, (tenant) => {
      before = tenant
      const others = pendingOf(tenant).filter(({ setting }) => setting !== parameter)
      return others.length === pendingOf(tenant).length ? undefined : withPending(tenant, others)
    }),
  )
  const changes = changesBetween(before ?? after, after)
  if (changes === undefined && !isRepeat) return problem('NOT_FOUND', 'No change of this setting is pending.')
  return { status: 204, target: caller.tenantId, ...(changes && { changes }) }
}

/** Every caller has a tenant: it is created before its first credential and is not deleted. */
function present(tenant: Tenant | undefined): Tenant {
  if (tenant === undefined) throw new Error('the caller has no tenant')
  return tenant
}
