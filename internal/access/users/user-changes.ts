import type { Caller } from '../../auth/authenticate.js'
import { isOwner, settingsOf, type Tenant } from '../../auth/tenant.js'
import type { Records } from '../../broker/records.js'
import type { WatchedRecords } from '../../broker/watched-records.js'
import { inOrder } from '../../http/contract/scopes.js'
import type { Asked, MutationRequest, Reply } from '../../http/mutations/mutation.js'
import { invalid } from '../../http/mutations/read-body.js'
import { noSuch, refusalOfId } from '../../http/resource/own-id.js'
import { encodeBase32 } from '../../ids/base32.js'
import type { TenantIds } from '../../ids/ids.js'
import { type Problem, problem } from '../../problems/problem-catalogue.js'
import type { DelegationChecks } from '../delegation/delegation.js'
import { slotsToSet, storePassword } from '../oauth/passwords.js'
import { readUsername, type StoredUser, storedUser, userKey } from '../oauth/users.js'
import { appoint, canBeOwner, dismiss, mayAppoint, NOT_AN_OWNER, UNFIT } from './owners.js'
import { type CreateBody, locationOf, type ShownUser, type UpdateBody } from './user-contract.js'

export interface UserChangesDeps {
  readonly idsOf: (tenantId: string) => TenantIds
  /** By `userKey`. */
  readonly users: WatchedRecords<StoredUser>
  readonly findUser: (id: string) => StoredUser | undefined
  readonly tenants: Records<Tenant>
  readonly delegationCheckOf: DelegationChecks
  /** Hands over what a deleted person had. Safe to repeat. @param by id of the credential that deletes them */
  readonly onDeleted: (tenantId: string, userId: string, by: string) => Promise<void>
  readonly clock: () => number
}

export const WHAT = 'user'
/** Per tenant. */
export const USERS_MAX = 10_000
/** Of a generated password: five bits per character. */
const PASSWORD_CHARACTERS = 24

const USERNAME_IN_USE = problem('CONFLICT', 'The username is already in use.')
const TOO_MANY = problem('CONFLICT', `Limit reached: at most ${USERS_MAX} people per tenant; delete some first.`)
const NEEDS_ADMIN = { pointer: '/owner', detail: 'needs the scope admin:config' }
const HAS_NO_PASSWORD = problem('CONFLICT', 'The person signs in at the identity provider, and has no password here.')
/** Problems when a password cannot be hashed yet, by reason. */
const PASSWORD_BUSY = {
  busy: problem('SERVICE_UNAVAILABLE', 'Too many passwords are being hashed; try again.', { retryAfterSeconds: 1 }),
  tenant_busy: problem('RATE_LIMITED', 'The tenant is setting too many passwords at once; try again.', {
    retryAfterSeconds: 1,
  }),
}

export const refusalOfCreation = async (
  { caller, body }: Asked<CreateBody>,
  { delegationCheckOf }: UserChangesDeps,
): Promise<Problem | undefined> => (await delegationCheckOf(caller))({ scopes: body.scopes, trustsCost: false })

/** `POST /api/v1/users`. */
export async function createUser(
  { caller, body, newId, newSecret }: MutationRequest<CreateBody>,
  { users, tenants, clock }: UserChangesDeps,
): Promise<Reply | Problem> {
  const { tenantId } = caller
  const wanted = { status: 'active', scopes: inOrder(body.scopes) } as const
  if (body.owner === true && !canBeOwner(wanted)) return invalid([NEEDS_ADMIN])
  const tenant = await tenants.read(tenantId)
  // An earlier attempt of this request may have made the person an owner.
  const mayBecomeOwner = mayAppoint(caller, tenant) || isOwner(tenant, newId('usr'))
  if (body.owner === true && !mayBecomeOwner) return NOT_AN_OWNER
  const username = readUsername(body.username)
  if (username === undefined) throw new Error('a validated username is invalid')
  const [id, key] = [newId('usr'), userKey(tenantId, username)]
  const password = body.password ?? encodeBase32(newSecret()).slice(0, PASSWORD_CHARACTERS)

  let made = await users.read(key)
  if (made === undefined) {
    if (users.countOf(tenantId) >= USERS_MAX) return TOO_MANY
    const { scopes } = wanted
    const user = await slotsToSet.run(tenantId, () =>
      storedUser(id, tenantId, { username, password, scopes }, new Date(clock())),
    )
    if (typeof user === 'string') return PASSWORD_BUSY[user]
    made = await users.createOnce(key, user)
  }
  // With the same id, an earlier attempt of this request created it.
  if (made.id !== id) return USERNAME_IN_USE
  // The first administrator of a tenant is its owner.
  if (body.owner ?? (mayBecomeOwner && canBeOwner(wanted))) {
    await appoint(tenants, tenantId, id, body.owner == null)
  }
  const owner = isOwner(await tenants.read(tenantId), id)
  return {
    status: 201,
    location: locationOf(id),
    target: id,
    body: { ...shownUser(made, owner), ...(body.password == null && { password }) },
    changes: { after: audited(made, owner) },
  }
}

export async function refusalOfUpdate(
  { caller, body, parameter: id }: Asked<UpdateBody>,
  deps: UserChangesDeps,
): Promise<Problem | undefined> {
  const found = deps.findUser(id)
  if (found?.tenant_id !== caller.tenantId) return undefined
  const wasOwner = isOwner(await deps.tenants.read(caller.tenantId), id)
  return (await refusalsOfPatch(caller, body, { wasOwner, staysOwner: body.owner ?? wasOwner }, deps))(found)
}

/** `PATCH /api/v1/users/{id}`. */
export async function updateUser(
  { caller, body, parameter: id }: Pick<MutationRequest<UpdateBody>, 'caller' | 'body' | 'parameter'>,
  deps: UserChangesDeps,
): Promise<Reply | Problem> {
  const { users, findUser, tenants, idsOf, clock } = deps
  const { tenantId } = caller
  const refusal = refusalOfId('usr', id, idsOf(tenantId), WHAT)
  if (refusal !== undefined) return refusal
  const found = findUser(id)
  if (found?.tenant_id !== tenantId) return noSuch(WHAT)
  const wasOwner = isOwner(await tenants.read(tenantId), id)
  const staysOwner = body.owner ?? wasOwner
  const refusalOfPatch = await refusalsOfPatch(caller, body, { wasOwner, staysOwner }, deps)
  const { password: wanted } = body
  const password = wanted === undefined ? undefined : await slotsToSet.run(tenantId, () => storePassword(wanted))
  if (typeof password === 'string') return PASSWORD_BUSY[password]

  const last =
    wasOwner && !staysOwner ? await dismiss(tenants, tenantId, id, (other) => findUser(other) !== undefined) : undefined
  if (last !== undefined) return last
  let before: StoredUser | undefined
  let undelegable: Problem | undefined
  const after = await users.change(userKey(tenantId, found.username), (user) => {
    before = user
    if (user.id !== id) return undefined
    undelegable = refusalOfPatch(user)
    if (undelegable !== undefined) return undefined
    return {
      ...patchedUser(user, body),
      ...(password && { password }),
      // Ends earlier sign-ins, and those of the same second, whose order is unknown.
      ...((password || body.status === 'disabled' || body.second_factor === false) && {
        signed_in_from: Math.floor(clock() / 1_000) + 1,
      }),
    }
  })
  if (after?.id !== id || before === undefined) return noSuch(WHAT)
  if (undelegable !== undefined) return undelegable
  if (staysOwner && !wasOwner) await appoint(tenants, tenantId, id)
  const changed = {
    ...audited(after, staysOwner),
    ...(password && { password: 'changed' }),
    ...(body.second_factor === false && { second_factor: 'removed' }),
  }
  return {
    status: 200,
    body: shownUser(after, staysOwner),
    changes: { before: audited(before, wasOwner), after: changed },
  }
}

/** Who may make this change: setting somebody's password, or enabling them, gives access to all their permissions. */
async function refusalsOfPatch(
  caller: Caller,
  body: UpdateBody,
  { wasOwner, staysOwner }: { readonly wasOwner: boolean; readonly staysOwner: boolean },
  { tenants, delegationCheckOf }: UserChangesDeps,
): Promise<(user: StoredUser) => Problem | undefined> {
  const tenant = await tenants.read(caller.tenantId)
  const refusalOfGiving = await delegationCheckOf(caller)
  const mayAll = wasOwner ? isOwner(tenant, caller.principal) : mayAppoint(caller, tenant)
  const needsOwner = wasOwner ? !staysOwner || settingsOf(tenant).delegation === 'held' : staysOwner
  return (user) => {
    if (needsOwner && !mayAll) return NOT_AN_OWNER
    const patched = patchedUser(user, body)
    if (staysOwner && !canBeOwner(patched)) return UNFIT
    if (body.password !== undefined && user.provider !== undefined) return HAS_NO_PASSWORD
    const isTakenOver =
      body.password !== undefined ||
      body.second_factor === false ||
      (user.status !== 'active' && patched.status === 'active')
    const scopes = isTakenOver ? patched.scopes : patched.scopes.filter((scope) => !user.scopes.includes(scope))
    return scopes.length === 0 ? undefined : refusalOfGiving({ scopes, trustsCost: false })
  }
}

function patchedUser(user: StoredUser, { scopes, status, second_factor: kept }: UpdateBody): StoredUser {
  const { second_factor: factor, ...rest } = user
  return {
    ...rest,
    ...(factor !== undefined && kept !== false && { second_factor: factor }),
    scopes: scopes === undefined ? user.scopes : inOrder(scopes),
    status: status ?? user.status,
  }
}

/** `DELETE /api/v1/users/{id}`. */
export async function deleteUser(
  { caller, parameter: id, isRepeat }: Pick<MutationRequest<undefined>, 'caller' | 'parameter' | 'isRepeat'>,
  { users, findUser, tenants, idsOf, onDeleted }: UserChangesDeps,
): Promise<Reply | Problem> {
  const { tenantId } = caller
  const refusal = refusalOfId('usr', id, idsOf(tenantId), WHAT)
  if (refusal !== undefined) return refusal
  const found = findUser(id)
  const tenant = await tenants.read(tenantId)
  if (found?.tenant_id === tenantId && isOwner(tenant, id)) {
    if (!isOwner(tenant, caller.principal)) return NOT_AN_OWNER
    const last = await dismiss(tenants, tenantId, id, (other) => findUser(other) !== undefined)
    if (last !== undefined) return last
  }
  const isDeleted =
    found?.tenant_id === tenantId && (await users.delete(userKey(tenantId, found.username), (user) => user.id === id))
  if (!isDeleted && !isRepeat) return noSuch(WHAT)
  await onDeleted(tenantId, id, caller.principal)
  return { status: 204 }
}

/** The API's form of a person. */
export const shownUser = (user: StoredUser, owner: boolean): ShownUser => ({
  id: user.id,
  username: user.username,
  scopes: [...user.scopes],
  status: user.status,
  owner,
  signs_in_by: user.provider === undefined ? 'password' : 'identity_provider',
  second_factor: user.second_factor !== undefined,
  created_at: user.created_at,
})

/** The part of a person that the audit log keeps. */
const audited = ({ username, scopes, status }: StoredUser, owner: boolean) => ({ username, scopes, status, owner })
