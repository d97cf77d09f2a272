import type { Caller } from '../../auth/authenticate.js'
import { SCOPES, type Scope } from '../../auth/scopes.js'
import { isOwner, settingsOf, type Tenant } from '../../auth/tenant.js'
import { type Problem, problem } from '../../problems/problem-catalogue.js'

/**
 * The permissions that one credential may delegate to another: no more than it holds itself, so that a new key never
 * has more access than the old one. Replacing a secret also delegates, since the answer shows the new secret.
 */

/** The permissions of a credential that is created, widened, or whose secret the caller gets. */
export interface Given {
  readonly scopes: readonly Scope[]
  /** Layers whose events it may ingest. Absent: all. */
  readonly ingestionLayers?: readonly string[] | undefined
  /** Whether costs that it states count. Absent: they do. */
  readonly trustsCost?: boolean | undefined
  /** Whether a gateway holds it, whose word on who called counts. Absent: none does. */
  readonly isGateway?: boolean | undefined
}

/** @returns the refusal; undefined where the caller may give it */
export type DelegationCheck = (given: Given) => Problem | undefined

export type DelegationChecks = (caller: Caller) => Promise<DelegationCheck>

/** @param readTenant from the bucket itself: a copy could still show an owner who no longer is one */
export const delegationChecks =
  (readTenant: (tenantId: string) => Promise<Tenant | undefined>): DelegationChecks =>
  async (caller) => {
    const tenant = await readTenant(caller.tenantId)
    return (given) => (mayDelegateAll(caller, tenant) ? undefined : refusalOfMore(caller, given))
  }

/** Owners may give what they do not hold, and so may everyone where the tenant has set that. */
const mayDelegateAll = ({ principal }: Caller, tenant: Tenant | undefined): boolean =>
  isOwner(tenant, principal) || (tenant !== undefined && settingsOf(tenant).delegation === 'any')

/** Whether a credential could give everything there is. */
export const holdsAll = (caller: Caller): boolean => refusalOfMore(caller, { scopes: SCOPES }) === undefined

/** @returns the refusal of what is given beyond what the caller holds */
function refusalOfMore(caller: Caller, given: Given): Problem | undefined {
  const { scopes, ingestionLayers, trustsCost = true, isGateway = false } = given
  const missing = scopes.filter((scope) => !caller.scopes.has(scope))
  if (missing.length > 0) {
    return insufficient(
      `It cannot give scopes that it does not hold: ${missing.join(', ')}.`,
      `, scope="${missing.join(' ')}"`,
    )
  }
  const { ingestionLayers: held } = caller
  if (held !== undefined && ingestionLayers?.every((layer) => held.has(layer)) !== true) {
    return insufficient('It can send events of some layers only, and cannot give others.')
  }
  if (trustsCost && caller.trustsCost === false) {
    return insufficient('The costs that it states do not count, so that it can give only `trusts_cost` false.')
  }
  // The first credentials of a tenant are no gateway's, and must be able to make one.
  if (isGateway && caller.isGateway !== true && !holdsAll(caller)) {
    return insufficient('Only a gateway, or a credential with all scopes, can give `is_gateway` true.')
  }
  return undefined
}

const insufficient = (why: string, scope = ''): Problem =>
  problem('INSUFFICIENT_SCOPE', `The credential may not give this. ${why}`, {
    challenge: `Bearer realm="attribution", error="insufficient_scope"${scope}`,
  })
