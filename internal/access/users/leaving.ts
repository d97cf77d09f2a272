import type { Caller } from '../../auth/authenticate.js'
import { isOwner, type Tenant } from '../../auth/tenant.js'
import type { Records } from '../../broker/records.js'
import { needsNewSignIn, STEP_UP } from '../../http/mutations/step-up.js'
import type { Problem } from '../../problems/problem-catalogue.js'
import { readUsername, type StoredUser, userKey } from '../oauth/users.js'
import { dismiss, NOT_AN_OWNER } from './owners.js'

export interface LeavingDeps {
  readonly tenants: Pick<Records<Tenant>, 'read' | 'change'>
  readonly findUser: (id: string) => StoredUser | undefined
  /** By `userKey`. */
  readonly users: { get(key: string): StoredUser | undefined }
  readonly clock: () => number
}

/**
 * Prepares a change of the directory that ends the sign-ins of people with these names, or gives them other names. Of
 * an owner, only who could take the flag from them by `PATCH /api/v1/users/{id}` may do so; who has left is none.
 *
 * @param isEnded whether they leave; else they are renamed
 * @returns why the change may not be made
 */
export type PrepareLeaving = (
  caller: Caller,
  names: readonly string[],
  isEnded: boolean,
) => Promise<Problem | undefined>

export const prepareLeaving =
  ({ tenants, findUser, users, clock }: LeavingDeps): PrepareLeaving =>
  async (caller, names, isEnded) => {
    const { tenantId } = caller
    const tenant = await tenants.read(tenantId)
    for (const name of names) {
      const username = readUsername(name)
      const user = username === undefined ? undefined : users.get(userKey(tenantId, username))
      if (user === undefined || !isOwner(tenant, user.id)) continue
      if (!isOwner(tenant, caller.principal)) return NOT_AN_OWNER
      if (needsNewSignIn(caller, clock())) return STEP_UP
      if (!isEnded) continue
      const last = await dismiss(tenants, tenantId, user.id, (other) => findUser(other) !== undefined)
      if (last !== undefined) return last
    }
    return undefined
  }
