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
/** Per tenant. */
const USERS_MAX = 10_000
/** Of a generated password: five bits per character. */
const PASSWORD_CHARACTERS = 24

const USERNAME_IN_USE = problem('CONFLICT', 'The username is already in use.')
const TOO_MANY = problem('CONFLICT', `Limit reached: at most ${USERS_MAX} people per tenant; delete some first.`)
/** Problems when a password cannot be hashed yet, by reason. */
const PASSWORD_BUSY = {
  busy: problem('SERVICE_UNAVAILABLE', 'Too many passwords are being hashed; try again.', { retryAfterSeconds: 1 }),
  tenant_busy: problem('RATE_LIMITED', 'The tenant is setting too many passwords at once; try again.', {
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
  if (username === undefined) throw new Error('a validated username is invalid')
  const [id, key] = [newId('usr'), userKey(tenantId, username)]
  const password = body.password ?? encodeBase32(newSecret()).slice(0, PASSWORD_CHARACTERS)

  let made = await users.read(key)
  if (made === undefined) {
    if (users.countOf(tenantId) >= USERS_MAX) return TOO_MANY
    const wanted = { username, password, scopes: inOrder(body.scopes) }
    const user = await slotsToSet.run(tenantId, () => storedUser(id, tenantId, wanted, new Date(clock())))
    if (typeof user === 'string') return PASSWORD_BUSY[user]
    made = await users.createOnce(key, user)
  }
  // With the same id, an earlier attempt of this request created it.
  if (made.id !== id) return USERNAME_IN_USE
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
  if (typeof password === 'string') return PASSWORD_BUSY[password]

  let before: StoredUser | undefined
  const after = await users.change(userKey(tenantId, found.username), (user) => {
    before = user
    if (user.id !== id) return undefined
    return {
      ...user,
      scopes: body.scopes === undefined ? user.scopes : inOrder(body.scopes),
      status: body.status ?? user.status,
      ...(password && { password }),
      // Ends earlier sign-ins, and those of the same second, whose order is unknown.
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

/** The API's form of a person. */
export const shownUser = ({ id, username, scopes, status, created_at }: StoredUser): ShownUser => ({
  id,
  username,
  scopes: [...scopes],
  status,
  created_at,
})

/** The part of a person that the audit log keeps. */
const audited = ({ username, scopes, status }: StoredUser) => ({ username, scopes, status })
