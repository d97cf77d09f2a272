import type { Mutate } from '../../http/mutations/mutations.js'
import { noSuch, refusalOfId } from '../../http/resource/own-id.js'
import type { Route } from '../../http/route.js'
import type { TenantIds } from '../../ids/ids.js'
import { CHECK_PROVIDER, PATH, type ShownCheck } from './check-contract.js'
import { providerId, type StoredProvider } from './provider.js'
import type { RelyingParty } from './relying-party.js'

export interface IdentityProviderRoutesDeps {
  readonly mutate: Mutate
  readonly idsOf: (tenantId: string) => TenantIds
  readonly providerOf: (tenantId: string) => StoredProvider | undefined
  readonly checkProvider: RelyingParty['check']
}

const WHAT = 'identity provider'

/** One that an earlier version has set shows the id that it will have. */
export const shownId = (provider: StoredProvider, ids: TenantIds): string => provider.id ?? providerId(ids, provider)

/** `POST /api/v1/identity-providers/{id}/check`. */
export const identityProviderRoutes = (deps: IdentityProviderRoutesDeps): readonly Route[] => [
  deps.mutate({
    method: 'post',
    path: `${PATH}/:id/check`,
    access: 'admin:config',
    // Each asks the provider.
    rateClass: 'control',
    action: 'identity_provider.check',
    operation: CHECK_PROVIDER,
    async handle({ caller: { tenantId }, parameter: id }) {
      const refusal = refusalOfId('idp', id, deps.idsOf(tenantId), WHAT)
      if (refusal !== undefined) return refusal
      const provider = deps.providerOf(tenantId)
      if (provider === undefined || shownId(provider, deps.idsOf(tenantId)) !== id) return noSuch(WHAT)
      const { redirectUri, findings } = await deps.checkProvider(provider)
      const { name, issuer } = provider
      const body: ShownCheck = { id, name, issuer, redirect_uri: redirectUri, findings }
      return { status: 200, body }
    },
  }),
]
