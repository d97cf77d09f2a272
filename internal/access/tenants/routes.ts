import type { RateLimits } from '../../auth/rate-limits.js'
import type { Tenant } from '../../auth/tenant.js'
import type { Records } from '../../broker/records.js'
import type { MutationRequest, Reply } from '../../http/mutations/mutation.js'
import type { Mutate } from '../../http/mutations/mutations.js'
import { invalid } from '../../http/mutations/read-body.js'
import type { Route } from '../../http/route.js'
import type { FieldError, Problem } from '../../problems/catalogue.js'
import { EXAMPLE_PATCH, GET_SETTINGS, PATH, type SettingsPatch, settingsPatch, UPDATE_SETTINGS } from './contract.js'
import {
  changesBetween,
  limitErrors,
  mirrorErrors,
  patchedTenant,
  shownSettings,
  withOperatorLimits,
} from './settings.js'

export interface SettingsRoutesDeps {
  readonly mutate: Mutate
  readonly findTenant: (id: string) => Tenant | undefined
  readonly tenants: Records<Tenant>
  readonly instanceLimits: RateLimits
  readonly clock: () => number
}

const ACCESS = { access: 'admin:config', rateClass: 'control', path: PATH } as const

/** `GET` and `PATCH /api/v1/settings` (design section 7). */
export function settingsRoutes(deps: SettingsRoutesDeps): readonly Route[] {
  return [
    {
      ...ACCESS,
      method: 'get',
      operation: GET_SETTINGS,
      handle(exchange, { tenantId }) {
        exchange.replyJson('200 OK', shownSettings(present(deps.findTenant(tenantId)), deps.instanceLimits))
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
  ]
}

async function updateSettings(
  { caller, body }: Pick<MutationRequest<SettingsPatch>, 'caller' | 'body'>,
  { tenants, instanceLimits, clock }: SettingsRoutesDeps,
): Promise<Reply | Problem> {
  let before: Tenant | undefined
  let errors: readonly FieldError[] = []
  const after = present(
    await tenants.change(caller.tenantId, (tenant) => {
      before = tenant
      errors = [...mirrorErrors(body), ...limitErrors(tenant, body, instanceLimits)]
      if (errors.length > 0) return undefined
      const limited = body.rate_limits === undefined ? tenant : withOperatorLimits(tenant, instanceLimits)
      return patchedTenant(limited, body, clock())
    }),
  )
  if (errors.length > 0) return invalid(errors)
  const changes = changesBetween(before ?? after, after)
  return {
    status: 200,
    body: shownSettings(after, instanceLimits),
    target: caller.tenantId,
    ...(changes && { changes }),
  }
}

/** Every caller has a tenant: it is created before its first credential and is not deleted. */
function present(tenant: Tenant | undefined): Tenant {
  if (tenant === undefined) throw new Error('the caller has no tenant')
  return tenant
}
