import type { Caller } from '../../auth/authenticate.js'
import { isOwner, type Tenant } from '../../auth/tenant.js'
import type { Records } from '../../broker/records.js'
import { type Problem, problem } from '../../problems/problem-catalogue.js'
import { holdsAll } from '../delegation/delegation.js'
import type { StoredUser } from '../oauth/users.js'

/**
 * The owners of a tenant are listed in its own record, so that of two who give up the flag at the same time one stays.
 * An owner may give what they do not hold; for persons, the routes ask for a recent sign-in.
 */

export const NOT_AN_OWNER = problem('INSUFFICIENT_SCOPE', 'Only an owner of the tenant may do this.')
const LAST_OWNER = problem('CONFLICT', 'The last owner of a tenant stays: make another person an owner first.')
export const UNFIT = problem('CONFLICT', 'An owner is active and has the scope admin:config.')

/**
 * Whether the caller may make a person an owner: an owner may, and a credential that holds everything may make the
 * first one.
 */
export const mayAppoint = (caller: Caller, tenant: Tenant | undefined): boolean =>
  isOwner(tenant, caller.principal) || (tenant?.owners === undefined && holdsAll(caller))

export const canBeOwner = ({ status, scopes }: Pick<StoredUser, 'status' | 'scopes'>): boolean =>
  status === 'active' && scopes.includes('admin:config')

/** @param isFirst does nothing when the tenant has an owner by now */
export async function appoint(
  tenants: Pick<Records<Tenant>, 'change'>,
  tenantId: string,
  userId: string,
  isFirst = false,
): Promise<void> {
  await tenants.change(tenantId, (tenant) => {
    const { owners = [] } = tenant
    return owners.includes(userId) || (isFirst && owners.length > 0)
      ? undefined
      : { ...tenant, owners: [...owners, userId] }
  })
}

/**
 * Takes the flag from an owner.
 *
 * @param exists somebody who no longer exists is no other owner
 * @returns the refusal where nobody else is one
 */
export async function dismiss(
  tenants: Pick<Records<Tenant>, 'change'>,
  tenantId: string,
  userId: string,
  exists: (userId: string) => boolean,
): Promise<Problem | undefined> {
  let isLast = false
  await tenants.change(tenantId, (tenant) => {
    const others = (tenant.owners ?? []).filter((owner) => owner !== userId && exists(owner))
    isLast = others.length === 0
    return isLast ? undefined : { ...tenant, owners: others }
  })
  return isLast ? LAST_OWNER : undefined
}
