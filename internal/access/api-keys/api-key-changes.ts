import { formatApiKey, type Mode, type StoredApiKey, storedApiKey, type WantedApiKey } from '../../auth/api-keys.js'
import type { WatchedRecords } from '../../broker/watched-records.js'
import type { PublishEvent } from '../../events/publish-event.js'
import { inOrder } from '../../http/contract/scopes.js'
import type { Asked, MutationRequest, Reply } from '../../http/mutations/mutation.js'
import { invalid } from '../../http/mutations/read-body.js'
import { noSuch, refusalOfId } from '../../http/resource/own-id.js'
import type { TenantIds } from '../../ids/ids.js'
import { type Problem, problem } from '../../problems/problem-catalogue.js'
import { formatInstant } from '../../units/instant.js'
import type { DelegationChecks } from '../delegation/delegation.js'
import { type CreateBody, locationOf, type RotateBody, type ShownApiKey } from './api-key-contract.js'
import { endOf, inheritedExpiry, readExpiry, statusOf } from './status.js'

export interface ApiKeyChangesDeps {
  readonly mode: Mode
  readonly idsOf: (tenantId: string) => TenantIds
  readonly keys: WatchedRecords<StoredApiKey>
  /** Deletes the last use of a deleted key. */
  readonly deleteUse: (id: string) => Promise<void>
  readonly delegationCheckOf: DelegationChecks
  readonly lifeDaysMaxOf: (tenantId: string) => number
  readonly publishEvent: PublishEvent
  readonly clock: () => number
}

/** Active keys per tenant. */
const ACTIVE_MAX = 1_000
/** Expired and revoked keys per tenant that stay listed: those that ended last. */
const ENDED_MAX = 1_000

const TOO_MANY = problem('CONFLICT', `Limit reached: at most ${ACTIVE_MAX} active keys per tenant; revoke some first.`)
const NOT_ACTIVE = problem('CONFLICT', 'The key is not active, or was already rotated.')

const givenBy = (body: CreateBody) => ({
  scopes: inOrder(body.scopes),
  ingestionLayers: body.ingestion_layers ?? undefined,
  trustsCost: body.trusts_cost ?? undefined,
  isGateway: body.is_gateway ?? undefined,
  billing: body.billing ?? undefined,
})

export const refusalOfCreation = async ({ caller, body }: Asked<CreateBody>, deps: ApiKeyChangesDeps) =>
  (await deps.delegationCheckOf(caller))(givenBy(body))

/** `POST /api/v1/api-keys`. */
export async function createKey(
  request: MutationRequest<CreateBody>,
  deps: ApiKeyChangesDeps,
): Promise<Reply | Problem> {
  const { caller, body, isRepeat, newId } = request
  const { tenantId } = caller
  const made = isRepeat ? await deps.keys.read(newId('key')) : undefined
  if (made !== undefined) return created(request, made, deps)

  const nowMs = deps.clock()
  const expiry = readExpiry(body.expires_at, nowMs, deps.lifeDaysMaxOf(tenantId))
  if (!expiry.ok) return invalid([expiry.error])
  if (!hasCapacity(deps.keys.of(tenantId), nowMs)) return TOO_MANY
  const wanted: WantedApiKey = { ...givenBy(body), name: body.name, expiresAt: expiry.expiresAt }
  return created(request, await makeKey(request, wanted, nowMs, deps), deps)
}

const keptBy = (old: StoredApiKey, body: RotateBody) => ({
  scopes: body.scopes == null ? old.scopes : inOrder(body.scopes),
  ingestionLayers: old.ingestion_layers,
  trustsCost: body.trusts_cost ?? old.trusts_cost,
  isGateway: body.is_gateway ?? old.is_gateway,
  billing: body.billing ?? old.billing,
})

export async function refusalOfRotation(
  { caller, body, parameter }: Asked<RotateBody>,
  { keys, idsOf, delegationCheckOf }: ApiKeyChangesDeps,
): Promise<Problem | undefined> {
  const isId = refusalOfId('key', parameter, idsOf(caller.tenantId), WHAT) === undefined
  const old = isId ? await keys.read(parameter) : undefined
  return old?.tenant_id === caller.tenantId ? (await delegationCheckOf(caller))(keptBy(old, body)) : undefined
}

/** `POST /api/v1/api-keys/{id}/rotate`. */
export async function rotateKey(
  request: MutationRequest<RotateBody>,
  deps: ApiKeyChangesDeps,
): Promise<Reply | Problem> {
  const { caller, body, parameter: oldId, isRepeat, newId } = request
  const { tenantId } = caller
  const nowMs = deps.clock()
  const refusal = refusalOfId('key', oldId, deps.idsOf(tenantId), WHAT)
  if (refusal !== undefined) return refusal
  const old = await deps.keys.read(oldId)
  if (old?.tenant_id !== tenantId) return noSuch(WHAT)
  let made = isRepeat ? await deps.keys.read(newId('key')) : undefined
  if (made === undefined) {
    if (!canBeReplaced(old, nowMs)) return NOT_ACTIVE
    const daysMax = deps.lifeDaysMaxOf(tenantId)
    const expiry =
      body.expires_at == null
        ? ({ ok: true, expiresAt: inheritedExpiry(old, nowMs, daysMax) } as const)
        : readExpiry(body.expires_at, nowMs, daysMax)
    if (!expiry.ok) return invalid([expiry.error])
    if (body.overlap_seconds != null && !hasCapacity(deps.keys.of(tenantId), nowMs)) return TOO_MANY
    const wanted: WantedApiKey = { ...keptBy(old, body), name: old.name, expiresAt: expiry.expiresAt }
    // The new key first: a crash in between leaves a key that nobody uses, and not a tenant without a key.
    made = await makeKey(request, wanted, nowMs, deps)
  }

  const { id } = made
  const replaced = await deps.keys.change(oldId, (key) =>
    canBeReplaced(key, nowMs) ? replacedBy(key, id, nowMs, body.overlap_seconds ?? 0) : undefined,
  )
  if (replaced?.replaced_by !== id) {
    await deps.keys.delete(id)
    return NOT_ACTIVE
  }
  await deps.publishEvent({
    tenantId,
    type: 'apikey.rotated',
    cause: id,
    data: { old_key_id: oldId, new_key_id: id },
  })
  return { ...created(request, made, deps), target: oldId, changes: { before: audited(old), after: audited(made) } }
}

/** `DELETE /api/v1/api-keys/{id}`. */
export async function revokeKey(
  { caller, parameter: id }: Pick<MutationRequest<undefined>, 'caller' | 'parameter'>,
  { keys, idsOf, clock }: ApiKeyChangesDeps,
): Promise<Reply | Problem> {
  const { tenantId } = caller
  const refusal = refusalOfId('key', id, idsOf(tenantId), WHAT)
  if (refusal !== undefined) return refusal
  const key = await keys.change(id, (found) =>
    found.tenant_id !== tenantId || found.status === 'revoked' ? undefined : revokedAt(found, clock()),
  )
  return key?.tenant_id === tenantId ? { status: 204 } : noSuch(WHAT)
}

export const WHAT = 'API key'

/** The complete key of a request, the same at every attempt. */
const secretOf = ({ newId, newSecret }: MutationRequest<unknown>, mode: Mode): string =>
  formatApiKey(mode, newId('key'), newSecret())

/** Creates the key of a request, or finds the one that an earlier attempt created. */
async function makeKey(
  request: MutationRequest<unknown>,
  wanted: WantedApiKey,
  nowMs: number,
  { mode, keys, deleteUse }: ApiKeyChangesDeps,
): Promise<StoredApiKey> {
  const { tenantId } = request.caller
  for (const endedId of longestEnded(keys.of(tenantId), nowMs)) {
    await keys.delete(endedId)
    await deleteUse(endedId)
  }
  const id = request.newId('key')
  const key = storedApiKey(id, secretOf(request, mode), tenantId, wanted, new Date(nowMs))
  return keys.createOnce(id, key)
}

const created = (request: MutationRequest<unknown>, made: StoredApiKey, { mode, clock }: ApiKeyChangesDeps): Reply => ({
  status: 201,
  location: locationOf(made.id),
  target: made.id,
  body: { ...shownApiKey(made, null, clock()), secret: secretOf(request, mode) },
  changes: { after: audited(made) },
})

/** The part of a key that the audit log keeps. */
export const audited = ({ id, name, scopes, expires_at, ingestion_layers, ...key }: StoredApiKey) => ({
  id,
  name,
  scopes,
  expires_at,
  ingestion_layers: ingestion_layers ?? null,
  trusts_cost: key.trusts_cost !== false,
  is_gateway: key.is_gateway === true,
  billing: key.billing ?? 'auto',
})

const canBeReplaced = (key: StoredApiKey, nowMs: number): boolean =>
  key.replaced_by === undefined && statusOf(key, nowMs) === 'active'

const revokedAt = (key: StoredApiKey, nowMs: number): StoredApiKey => ({
  ...key,
  status: 'revoked',
  revoked_at: formatInstant(nowMs),
})

/** Ends the old key: at once, or by an expiry that is sooner than its own. */
function replacedBy(key: StoredApiKey, newId: string, nowMs: number, overlapS: number): StoredApiKey {
  const replaced: StoredApiKey = { ...key, replaced_by: newId }
  if (overlapS === 0) return revokedAt(replaced, nowMs)
  const endsAt = formatInstant(nowMs + overlapS * 1_000)
  const isSooner = key.expires_at === null || Date.parse(endsAt) < Date.parse(key.expires_at)
  return isSooner ? { ...replaced, expires_at: endsAt } : replaced
}

export function hasCapacity(keys: Iterable<StoredApiKey>, nowMs: number): boolean {
  let active = 0
  for (const key of keys) if (statusOf(key, nowMs) === 'active') active++
  return active < ACTIVE_MAX
}

/** Ids of the keys to delete, so that one more can be created: those that ended first. */
export function longestEnded(keys: Iterable<StoredApiKey>, nowMs: number): readonly string[] {
  const ended = [...keys].filter((key) => statusOf(key, nowMs) !== 'active')
  if (ended.length < ENDED_MAX) return []
  return ended
    .sort((one, other) => endOf(one) - endOf(other))
    .slice(0, ended.length - ENDED_MAX + 1)
    .map(({ id }) => id)
}

/** The API's form of a key, without its secret and the secret's hash. */
export const shownApiKey = (key: StoredApiKey, lastUsedAt: string | null, nowMs: number): ShownApiKey => ({
  id: key.id,
  name: key.name,
  scopes: [...key.scopes],
  expires_at: key.expires_at,
  created_at: key.created_at,
  last_four: key.last_four,
  status: statusOf(key, nowMs),
  last_used_at: lastUsedAt,
  ingestion_layers: key.ingestion_layers === undefined ? null : [...key.ingestion_layers],
  trusts_cost: key.trusts_cost !== false,
  is_gateway: key.is_gateway === true,
  billing: key.billing ?? 'auto',
})
