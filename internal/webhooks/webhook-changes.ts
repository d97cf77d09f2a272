import { randomBytes } from 'node:crypto'
import type { Caller } from '../auth/authenticate.js'
import type { WatchedRecords } from '../broker/watched-records.js'
import { eventId } from '../events/event.js'
import type { EventType } from '../events/event-contract.js'
import { scopesLackedFor } from '../events/readers.js'
import type { MutationRequest, Reply } from '../http/mutations/mutation.js'
import { invalid } from '../http/mutations/read-body.js'
import { noSuch, refusalOfId } from '../http/resource/own-id.js'
import { idOfName, type TenantIds } from '../ids/ids.js'
import type { Guard } from '../outbound/address-guard.js'
import { readTarget, type TargetRules } from '../outbound/target-url.js'
import { type Problem, problem } from '../problems/problem-catalogue.js'
import type { ResidencyRegion } from '../residency/residency.js'
import type { MasterKeys } from '../secrets/master-keys.js'
import { formatInstant } from '../units/instant.js'
import { type Delivery, newDelivery } from './delivery.js'
import {
  answersChallenge,
  formatSecret,
  isSecret,
  refusalOfReceiver,
  type StoredWebhook,
  secretsAt,
  storeChallenge,
  storeSecret,
  verified,
  withSecret,
} from './endpoint.js'
import { type StoredHealth, shownHealth } from './endpoint-health.js'
import { type ChangeBody, type CreateBody, PATH, type ShownWebhook, type VerifyBody } from './webhook-contract.js'

export interface WebhookChangesDeps {
  readonly webhooks: WatchedRecords<StoredWebhook>
  readonly healthOf: (id: string) => StoredHealth | undefined
  readonly masterKeys: MasterKeys
  readonly targetRules: TargetRules
  readonly guard: Guard
  /** Queues a delivery. @throws NotStored */
  readonly deliver: (delivery: Delivery) => Promise<void>
  /** The sequence of the newest event. */
  readonly newestEvent: () => Promise<number>
  /** Deletes the retries, dead letters and health of a deleted endpoint. */
  readonly deleteRemains: (id: string) => Promise<void>
  readonly idsOf: (tenantId: string) => TenantIds
  readonly residencyRegionOf: (tenantId: string) => ResidencyRegion
  readonly instanceRegion: ResidencyRegion
  readonly clock: () => number
}

export const WHAT = 'webhook endpoint'
/** Per tenant. */
const WEBHOOKS_MAX = 100

/** Who may not read events may not have them delivered. */
export function refusalOfEvents(events: readonly EventType[], { scopes }: Pick<Caller, 'scopes'>): Problem | undefined {
  const lacked = scopesLackedFor(events, scopes)
  if (lacked.length === 0) return undefined
  return problem('INSUFFICIENT_SCOPE', `To subscribe to these events also needs the scope ${lacked.join(', ')}.`, {
    challenge: `Bearer realm="attribution", error="insufficient_scope", scope="${lacked.join(' ')}"`,
  })
}

/** `POST /api/v1/webhooks`. */
export async function createWebhook(
  request: MutationRequest<CreateBody>,
  deps: WebhookChangesDeps,
): Promise<Reply | Problem> {
  const { caller, body, newId, isRepeat } = request
  const { webhooks, masterKeys, clock } = deps
  const { tenantId } = caller
  const id = newId('whk')
  const secret = formatSecret(request.newSecret())
  let made = isRepeat ? await webhooks.read(id) : undefined
  if (made === undefined) {
    const region = body.residency_region === undefined ? deps.residencyRegionOf(tenantId) : body.residency_region
    const refusal = await refusalOf(tenantId, body.url, region, deps)
    if (refusal !== undefined) return refusal
    if (webhooks.countOf(tenantId) >= WEBHOOKS_MAX) return TOO_MANY
    const nowMs = clock()
    made = await webhooks.createOnce(id, {
      id,
      tenant_id: tenantId,
      url: canonicalUrl(body.url, deps),
      events: [...new Set(body.events)],
      residency_region: region,
      status: 'pending',
      secrets: [storeSecret(masterKeys, id, secret, formatInstant(nowMs))],
      challenge: storeChallenge(masterKeys, id, newChallenge(), nowMs),
      verified_at: null,
      starts_after: 0,
      created_at: formatInstant(nowMs),
    })
  }
  if (made.status === 'pending' && isOneTooMany(made, isRepeat, webhooks)) {
    await webhooks.delete(id)
    return TOO_MANY
  }
  await sendChallenge(made, deps)
  return {
    status: 201,
    location: `${PATH}/${id}`,
    target: id,
    body: { ...show(made, deps), signing_secret: secret },
    changes: { after: audited(made) },
  }
}

const TOO_MANY = problem('CONFLICT', `Limit reached: at most ${WEBHOOKS_MAX} webhook endpoints per tenant.`)

/**
 * Whether an endpoint exceeds the tenant's limit. Checked again after creation, since concurrent requests can all pass
 * the first check.
 */
function isOneTooMany(
  { id, tenant_id: tenantId }: StoredWebhook,
  isRepeat: boolean,
  webhooks: WatchedRecords<StoredWebhook>,
): boolean {
  const ids = [...webhooks.of(tenantId)].map((each) => each.id)
  // Every gateway's copy lists older endpoints before a new one. An endpoint that an interrupted request has created
  // may be older than this copy, so that its position is unknown: all other endpoints count.
  const ahead = isRepeat ? ids.length - 1 : ids.indexOf(id)
  return ahead >= WEBHOOKS_MAX
}

/** `PATCH /api/v1/webhooks/{id}`. */
export async function changeWebhook(
  { caller, parameter: id, body }: MutationRequest<ChangeBody>,
  deps: WebhookChangesDeps,
): Promise<Reply | Problem> {
  const refusal = refusalOfId('whk', id, deps.idsOf(caller.tenantId), WHAT)
  if (refusal !== undefined) return refusal
  let before: StoredWebhook | undefined
  let unreadable: Problem | undefined
  const after = await deps.webhooks.change(id, (webhook) => {
    before = webhook
    const added = body.events.filter((type) => !webhook.events.includes(type))
    unreadable = refusalOfEvents(added, caller)
    return unreadable === undefined ? { ...webhook, events: [...new Set(body.events)] } : undefined
  })
  if (before === undefined || after === undefined) return noSuch(WHAT)
  if (unreadable !== undefined) return unreadable
  return { status: 200, body: show(after, deps), changes: { before: audited(before), after: audited(after) } }
}

/** `DELETE /api/v1/webhooks/{id}`. */
export async function deleteWebhook(
  { caller: { tenantId }, parameter: id, isRepeat }: MutationRequest<undefined>,
  deps: WebhookChangesDeps,
): Promise<Reply | Problem> {
  const refusal = refusalOfId('whk', id, deps.idsOf(tenantId), WHAT)
  if (refusal !== undefined) return refusal
  const before = await deps.webhooks.read(id)
  if (before === undefined && !isRepeat) return noSuch(WHAT)
  // The endpoint first, so that nothing new is queued for it.
  if (before !== undefined) await deps.webhooks.delete(id)
  await deps.deleteRemains(id)
  return { status: 204, ...(before !== undefined && { changes: { before: audited(before) } }) }
}

/** `POST /api/v1/webhooks/{id}/verify`: sends a new challenge, or confirms one. */
export async function verifyWebhook(
  { caller: { tenantId }, parameter: id, body, isRepeat }: MutationRequest<VerifyBody>,
  deps: WebhookChangesDeps,
): Promise<Reply | Problem> {
  const { webhooks, masterKeys, clock } = deps
  const refusal = refusalOfId('whk', id, deps.idsOf(tenantId), WHAT)
  if (refusal !== undefined) return refusal
  const nowMs = clock()
  const answer = body.challenge ?? undefined
  const startsAfter = answer === undefined ? 0 : await deps.newestEvent()
  let before: StoredWebhook | undefined
  let crossing: Problem | undefined
  const after = await webhooks.change(id, (webhook) => {
    before = webhook
    crossing = refusalOfReceiver(deps.residencyRegionOf(tenantId), deps.instanceRegion, webhook)
    if (webhook.status === 'verified' || crossing !== undefined) return undefined
    if (answer === undefined) {
      return { ...webhook, challenge: storeChallenge(masterKeys, id, newChallenge(), nowMs) }
    }
    return answersChallenge(masterKeys, webhook, answer, nowMs) ? verified(webhook, startsAfter, nowMs) : undefined
  })
  if (before === undefined || after === undefined) return noSuch(WHAT)
  if (crossing !== undefined) return crossing
  // A repeated confirmation may have verified the endpoint itself, in an attempt whose response was lost.
  const mayBeItsOwn = answer !== undefined && isRepeat
  if (before.status === 'verified' && !mayBeItsOwn) return VERIFIED_ALREADY
  const changes = { before: audited(before), after: audited(after) }
  if (answer === undefined) {
    await sendChallenge(after, deps)
    return { status: 202, body: show(after, deps), changes }
  }
  if (after.status !== 'verified') {
    return invalid([{ pointer: '/challenge', detail: 'is not the latest challenge, or has expired' }])
  }
  return { status: 200, body: show(after, deps), changes }
}

const VERIFIED_ALREADY = problem('CONFLICT', 'The webhook endpoint is already verified.')

/** `POST /api/v1/webhooks/{id}/rotate-secret`. */
export async function rotateSecret(
  { caller: { tenantId }, parameter: id, newSecret }: MutationRequest<undefined>,
  deps: WebhookChangesDeps,
): Promise<Reply | Problem> {
  const { webhooks, masterKeys, clock } = deps
  const refusal = refusalOfId('whk', id, deps.idsOf(tenantId), WHAT)
  if (refusal !== undefined) return refusal
  const nowMs = clock()
  const secret = formatSecret(newSecret())
  const stored = storeSecret(masterKeys, id, secret, formatInstant(nowMs))
  let before: StoredWebhook | undefined
  let isFull = false
  const after = await webhooks.change(id, (webhook) => {
    before = webhook
    const [newest] = webhook.secrets
    // An earlier attempt of the same request, whose response was lost, has already added the secret.
    if (newest !== undefined && isSecret(masterKeys, id, newest, secret)) return undefined
    const changed = withSecret(webhook, stored, nowMs)
    isFull = changed === undefined
    return changed
  })
  if (before === undefined || after === undefined) return noSuch(WHAT)
  if (isFull)
    return problem(
      'CONFLICT',
      'Too many secrets of this webhook endpoint are still valid; wait until the oldest expires.',
    )
  return {
    status: 200,
    body: { ...show(after, deps), signing_secret: secret },
    changes: { before: audited(before), after: audited(after) },
  }
}

/**
 * Why an endpoint may not be registered. The text does not depend on the resolved addresses, so that it reveals nothing
 * about the internal network.
 */
async function refusalOf(
  tenantId: string,
  url: string,
  region: ResidencyRegion,
  { targetRules, guard, residencyRegionOf, instanceRegion }: WebhookChangesDeps,
): Promise<Problem | undefined> {
  const target = readTarget(url, targetRules)
  if (typeof target === 'string') return problem('WEBHOOK_URL_REJECTED', `The URL ${target}.`)
  const crossing = refusalOfReceiver(residencyRegionOf(tenantId), instanceRegion, { residency_region: region })
  if (crossing !== undefined) return crossing
  const { kind } = await guard.check(target.hostname)
  return kind === 'allowed'
    ? undefined
    : problem('WEBHOOK_URL_REJECTED', "The URL's host resolves to a non-public address, or not at all.")
}

function canonicalUrl(url: string, { targetRules }: WebhookChangesDeps): string {
  const target = readTarget(url, targetRules)
  if (typeof target === 'string') throw new Error('the URL was not checked')
  return target.href
}

const newChallenge = () => ({ id: randomBytes(12).toString('hex'), text: randomBytes(32).toString('base64url') })

/**
 * Queues a challenge for one endpoint, bypassing EVENTS. The courier inserts the challenge, which stays sealed until
 * then.
 */
async function sendChallenge(webhook: StoredWebhook, { idsOf, deliver }: WebhookChangesDeps): Promise<void> {
  const { id, tenant_id: tenantId, challenge } = webhook
  if (challenge === null) return
  const ids = idsOf(tenantId)
  await deliver(
    newDelivery({
      id: idOfName('dlv', ids, 'challenge', challenge.id),
      tenantId,
      endpointId: id,
      eventId: eventId(ids, 'webhook.verification', challenge.id),
      type: 'webhook.verification',
      sequence: 0,
      isReplayed: false,
      body: new Uint8Array(0),
    }),
  )
}

const show = (webhook: StoredWebhook, { healthOf, clock }: WebhookChangesDeps) =>
  shownWebhook(webhook, healthOf(webhook.id), clock())

/** An endpoint as the API returns it. */
export function shownWebhook(webhook: StoredWebhook, health: StoredHealth | undefined, nowMs: number): ShownWebhook {
  const [newest, previous] = secretsAt(webhook, nowMs)
  return {
    id: webhook.id,
    url: webhook.url,
    events: [...webhook.events],
    status: webhook.status,
    residency_region: webhook.residency_region,
    created_at: webhook.created_at,
    verified_at: webhook.verified_at,
    secret_rotated_at: newest?.created_at ?? webhook.created_at,
    previous_secret_expires_at: previous?.expires_at ?? null,
    health: shownHealth(health),
  }
}

/**
 * An endpoint as the audit log keeps it: only the URL's origin, since paths and queries of receivers often contain
 * secrets.
 */
const audited = ({ id, url, events, status, residency_region, secrets }: StoredWebhook) => ({
  id,
  origin: new URL(url).origin,
  events,
  status,
  residency_region,
  secrets: secrets.map(({ created_at, expires_at }) => ({ created_at, expires_at })),
})
