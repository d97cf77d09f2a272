import type { Mode } from '../../auth/api-keys.js'
import { formatSqlPassword, type StoredSqlUser, sqlUserStatus, storedSqlUser } from '../../auth/sql-users.js'
import type { WatchedRecords } from '../../broker/watched-records.js'
import type { Asked, MutationRequest, Reply } from '../../http/mutations/mutation.js'
import { invalid } from '../../http/mutations/read-body.js'
import { noSuch, refusalOfId } from '../../http/resource/own-id.js'
import type { TenantIds } from '../../ids/ids.js'
import { type Problem, problem } from '../../problems/problem-catalogue.js'
import { formatInstant } from '../../units/instant.js'
import { readExpiry } from '../api-keys/status.js'
import type { DelegationChecks } from '../delegation/delegation.js'
import { type CreateBody, locationOf, type ShownSqlUser } from './sql-user-contract.js'

export interface SqlUserChangesDeps {
  readonly mode: Mode
  readonly idsOf: (tenantId: string) => TenantIds
  readonly users: WatchedRecords<StoredSqlUser>
  readonly delegationCheckOf: DelegationChecks
  readonly lifeDaysMaxOf: (tenantId: string) => number
  readonly clock: () => number
}

export const WHAT = 'SQL user'

/** Active users per tenant, and ended ones that stay listed. */
const USERS_MAX = 100

export const refusalOfCreation = async (
  { caller }: Asked<CreateBody>,
  { delegationCheckOf }: SqlUserChangesDeps,
): Promise<Problem | undefined> =>
  (await delegationCheckOf(caller))({
    scopes: ['read:attribution'],
    // It sends no events, so that it has neither layers nor costs that count.
    ingestionLayers: [],
    trustsCost: false,
  })

/** `POST /api/v1/sql-users`. */
export async function createSqlUser(
  request: MutationRequest<CreateBody>,
  deps: SqlUserChangesDeps,
): Promise<Reply | Problem> {
  const { caller, body, isRepeat, newId } = request
  const { users, mode } = deps
  const { tenantId } = caller
  const id = newId('sql')
  const password = formatSqlPassword(mode, request.newSecret())
  let made = isRepeat ? await users.read(id) : undefined
  if (made === undefined) {
    const nowMs = deps.clock()
    const expiry = readExpiry(body.expires_at, nowMs, deps.lifeDaysMaxOf(tenantId))
    if (!expiry.ok) return invalid([expiry.error])
    const all = [...users.of(tenantId)]
    if (all.filter((user) => sqlUserStatus(user, nowMs) === 'active').length >= USERS_MAX) {
      return problem('CONFLICT', `Limit reached: at most ${USERS_MAX} active SQL users per tenant; revoke some first.`)
    }
    for (const ended of longestEnded(all, nowMs)) await users.delete(ended.id)
    const wanted = { name: body.name, expiresAt: expiry.expiresAt }
    made = await users.createOnce(id, storedSqlUser(id, tenantId, password, wanted, formatInstant(nowMs)))
  }
  return {
    status: 201,
    location: locationOf(id),
    target: id,
    body: { ...shownSqlUser(made, deps.clock()), password },
    changes: { after: auditedSqlUser(made) },
  }
}

/** `DELETE /api/v1/sql-users/{id}`. */
export async function revokeSqlUser(
  { caller: { tenantId }, parameter: id }: Pick<MutationRequest<undefined>, 'caller' | 'parameter'>,
  { users, idsOf, clock }: SqlUserChangesDeps,
): Promise<Reply | Problem> {
  const refusal = refusalOfId('sql', id, idsOf(tenantId), WHAT)
  if (refusal !== undefined) return refusal
  const user = await users.change(id, (found) =>
    found.tenant_id !== tenantId || found.status === 'revoked' ? undefined : revokedSqlUser(found, clock()),
  )
  return user?.tenant_id === tenantId ? { status: 204 } : noSuch(WHAT)
}

export const revokedSqlUser = (user: StoredSqlUser, nowMs: number): StoredSqlUser => ({
  ...user,
  status: 'revoked',
  revoked_at: formatInstant(nowMs),
})

function longestEnded(users: readonly StoredSqlUser[], nowMs: number): readonly StoredSqlUser[] {
  const endedAt = ({ revoked_at, expires_at }: StoredSqlUser): number =>
    Math.min(...[revoked_at, expires_at].map((at) => (at === undefined ? Number.POSITIVE_INFINITY : Date.parse(at))))
  const ended = users.filter((user) => sqlUserStatus(user, nowMs) !== 'active')
  return ended.sort((one, other) => endedAt(one) - endedAt(other)).slice(0, Math.max(0, ended.length - USERS_MAX + 1))
}

/** The API's form of a user, without the password and its hash. */
export const shownSqlUser = (user: StoredSqlUser, nowMs: number): ShownSqlUser => ({
  id: user.id,
  name: user.name,
  expires_at: user.expires_at,
  created_at: user.created_at,
  last_four: user.last_four,
  status: sqlUserStatus(user, nowMs),
})

/** The part of a user that the audit log keeps. */
export const auditedSqlUser = ({ id, name, expires_at }: StoredSqlUser) => ({ id, name, expires_at })
