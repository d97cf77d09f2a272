import type { WatchedRecords } from '../../broker/watched-records.js'
import { inOrder } from '../../http/contract/scopes.js'
import type { MutationRequest, Reply } from '../../http/mutations/mutation.js'
import { noSuch, refusalOfId } from '../../http/resource/own-id.js'
import { encodeBase32 } from '../../ids/base32.js'
import type { TenantIds } from '../../ids/ids.js'
import { type Problem, problem } from '../../problems/catalogue.js'
import { slotsToSet, storePassword } from '../oauth/passwords.js'
import { readUsername, type StoredUser, storedUser, userKey } from '../oauth/users.js'
import { type CreateBody, locationOf, type ShownUser, type UpdateBody } from './contract.js'

export interface UserChangesDeps {
  readonly idsOf: (tenantId: string) => TenantIds
  /** By `userKey`. */
  readonly users: WatchedRecords<StoredUser>
  readonly findUser: (id: string) => StoredUser | undefined
  readonly clock: () => number
}

export const WHAT = 'user'
/** People of a tenant, at most. */
const USERS_MAX = 10_000
/** Of a password that is made up: five bits each. */
const PASSWORD_CHARACTERS = 24

const TAKEN = problem('CONFLICT', 'The username is taken.')
const TOO_MANY = problem('CONFLICT', 'The tenant has as many people as it may have; delete some first.')
/** By why a password cannot be set yet. */
const NOT_YET = {
  busy: problem('SERVICE_UNAVAILABLE', 'Too many passwords are being checked; try again.', { retryAfterSeconds: 1 }),
  tenant_busy: problem('RATE_LIMITED', 'The tenant is setting as many passwords as it may at once; try again.', {
    retryAfterSeconds: 1,
  }),
}

/** `POST /api/v1/users`. */
export async function createUser(
  { caller, body, newId, newSecret }: MutationRequest<CreateBody>,
  { users, clock }: UserChangesDeps,
): Promise<Reply | Problem> {
  const { tenantId } = caller
  const username = readUsername(body.username)
  if (username === undefined) throw new Error('a username that was checked cannot be one')
  const [id, key] = [newId('usr'), userKey(tenantId, username)]
  const password = body.password ?? encodeBase32(newSecret()).slice(0, PASSWORD_CHARACTERS)

  let made = await users.read(key)
  if (made === undefined) {
    if (users.countOf(tenantId) >= USERS_MAX) return TOO_MANY
    const wanted = { username, password, scopes: inOrder(body.scopes) }
    const user = await slotsToSet.run(tenantId, () => storedUser(id, tenantId, wanted, new Date(clock())))
    if (typeof user === 'string') return NOT_YET[user]
    made = await users.createOnce(key, user)
  }
  // Else it is what another attempt of this request has made.
  if (made.id !== id) return TAKEN
  return {
    status: 201,
    location: locationOf(id),
    target: id,
    body: { ...shownUser(made), ...(body.password == null && { password }) },
    changes: { after: audited(made) },
  }
}

/** `PATCH /api/v1/users/{id}`. */
export async function updateUser(
  { caller, body, parameter: id }: Pick<MutationRequest<UpdateBody>, 'caller' | 'body' | 'parameter'>,
  { users, findUser, idsOf, clock }: UserChangesDeps,
): Promise<Reply | Problem> {
  const { tenantId } = caller
  const refusal = refusalOfId('usr', id, idsOf(tenantId), WHAT)
  if (refusal !== undefined) return refusal
  const found = findUser(id)
  if (found?.tenant_id !== tenantId) return noSuch(WHAT)
  const { password: wanted } = body
  const password = wanted === undefined ? undefined : await slotsToSet.run(tenantId, () => storePassword(wanted))
  if (typeof password === 'string') return NOT_YET[password]

  let before: StoredUser | undefined
  const after = await users.change(userKey(tenantId, found.username), (user) => {
    before = user
    if (user.id !== id) return undefined
    return {
      ...user,
      scopes: body.scopes === undefined ? user.scopes : inOrder(body.scopes),
      status: body.status ?? user.status,
      ...(password && { password }),
      // Whoever is let in again signs in again. Of a sign-in of the same second nobody knows which came first.
      ...((password || body.status === 'disabled') && { signed_in_from: Math.floor(clock() / 1_000) + 1 }),
    }
  })
  if (after?.id !== id || before === undefined) return noSuch(WHAT)
  const changed = { ...audited(after), ...(password && { password: 'changed' }) }
  return { status: 200, body: shownUser(after), changes: { before: audited(before), after: changed } }
}

/** `DELETE /api/v1/users/{id}`. */
export async function deleteUser(
  { caller, parameter: id, isRepeat }: Pick<MutationRequest<undefined>, 'caller' | 'parameter' | 'isRepeat'>,
  { users, findUser, idsOf }: UserChangesDeps,
): Promise<Reply | Problem> {
  const { tenantId } = caller
  const refusal = refusalOfId('usr', id, idsOf(tenantId), WHAT)
  if (refusal !== undefined) return refusal
  const found = findUser(id)
  const isDeleted =
    found?.tenant_id === tenantId && (await users.delete(userKey(tenantId, found.username), (user) => user.id === id))
  return isDeleted || isRepeat ? { status: 204 } : noSuch(WHAT)
}

/** A person as their tenant sees them. */
export const shownUser = ({ id, username, scopes, status, created_at }: StoredUser): ShownUser => ({
  id,
  username,
  scopes: [...scopes],
  status,
  created_at,
})

/** Of a person, what the audit log keeps. */
const audited = ({ username, scopes, status }: StoredUser) => ({ username, scopes, status })
