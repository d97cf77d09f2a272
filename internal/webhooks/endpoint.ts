import { createSecretKey, type KeyObject, timingSafeEqual } from 'node:crypto'
import type { EventType } from '../events/event-contract.js'
import type { Problem } from '../problems/problem-catalogue.js'
import { type ResidencyRegion, refusalOfCrossing, thisInstance } from '../residency/residency.js'
import type { MasterKeys } from '../secrets/master-keys.js'
import { seal, unseal } from '../secrets/seal.js'

export const WEBHOOK_STATUSES = ['pending', 'verified'] as const

/** A webhook endpoint as stored under its id in the bucket webhooks. */
export interface StoredWebhook {
  readonly id: string
  readonly tenant_id: string
  readonly url: string
  readonly events: readonly EventType[]
  /** Region of the receiver. */
  readonly residency_region: ResidencyRegion
  readonly status: (typeof WEBHOOK_STATUSES)[number]
  /** Newest first: the current secret, and previous ones until they expire. */
  readonly secrets: readonly StoredSecret[]
  /** The latest challenge; only this one can verify the endpoint. */
  readonly challenge: StoredChallenge | null
  readonly verified_at: string | null
  /** Events up to this sequence of EVENTS are not delivered to it: they were published before it was verified. */
  readonly starts_after: number
  readonly created_at: string
}

export interface StoredSecret {
  /** The sealed text, which starts with `whsec_`. */
  readonly sealed: string
  readonly created_at: string
  /** Null: until it is replaced. */
  readonly expires_at: string | null
}

export interface StoredChallenge {
  /** Identifies the event that carries it. */
  readonly id: string
  readonly sealed: string
  readonly created_at: string
  readonly expires_at: string
}

/** How long deliveries are also signed with a replaced secret. */
const ROTATION_OVERLAP_MS = 24 * 60 * 60 * 1000
/** Maximum number of valid secrets per endpoint: the signature header has one signature per secret. */
const SECRETS_MAX = 4
/** How long a challenge is valid. */
const CHALLENGE_LIFE_MS = 24 * 60 * 60 * 1000

const PREFIX = 'whsec_'

export const formatSecret = (bytes: Uint8Array): string => `${PREFIX}${Buffer.from(bytes).toString('base64')}`

const secretContext = (id: string): string => `webhooks.${id}.secret`
const challengeContext = (id: string): string => `webhooks.${id}.challenge`

export const storeSecret = (keys: MasterKeys, id: string, secret: string, createdAt: string): StoredSecret => ({
  sealed: seal(keys, secretContext(id), Buffer.from(secret)),
  created_at: createdAt,
  expires_at: null,
})

export const isSecret = (keys: MasterKeys, id: string, { sealed }: StoredSecret, secret: string): boolean =>
  unseal(keys, secretContext(id), sealed).toString() === secret

/** @param challenge an unguessable text */
export const storeChallenge = (
  keys: MasterKeys,
  id: string,
  challenge: { readonly id: string; readonly text: string },
  nowMs: number,
): StoredChallenge => ({
  id: challenge.id,
  sealed: seal(keys, challengeContext(id), Buffer.from(challenge.text)),
  created_at: new Date(nowMs).toISOString(),
  expires_at: new Date(nowMs + CHALLENGE_LIFE_MS).toISOString(),
})

export const challengeText = (keys: MasterKeys, id: string, { sealed }: StoredChallenge): string =>
  unseal(keys, challengeContext(id), sealed).toString()

/** Whether an answer equals the endpoint's challenge, and the challenge has not expired. */
export function answersChallenge(
  keys: MasterKeys,
  { id, challenge }: Pick<StoredWebhook, 'id' | 'challenge'>,
  answer: string,
  nowMs: number,
): boolean {
  if (challenge === null || nowMs >= Date.parse(challenge.expires_at)) return false
  const [expected, given] = [Buffer.from(challengeText(keys, id, challenge)), Buffer.from(answer)]
  return expected.length === given.length && timingSafeEqual(expected, given)
}

/**
 * The endpoint as verified: events after `startsAfter` are delivered to it. An endpoint that is already verified is
 * unchanged.
 */
export const verified = (webhook: StoredWebhook, startsAfter: number, nowMs: number): StoredWebhook =>
  webhook.status === 'verified'
    ? webhook
    : {
        ...webhook,
        status: 'verified',
        challenge: null,
        verified_at: new Date(nowMs).toISOString(),
        starts_after: startsAfter,
      }

/** The endpoint's secrets that are valid at an instant. */
export const secretsAt = ({ secrets }: Pick<StoredWebhook, 'secrets'>, nowMs: number): readonly StoredSecret[] =>
  secrets.filter(({ expires_at }) => expires_at === null || nowMs < Date.parse(expires_at))

/**
 * The endpoint with a new secret. Previous secrets stay valid for the overlap, or until their own expiry.
 *
 * @returns undefined when the endpoint would have too many valid secrets
 */
export function withSecret(webhook: StoredWebhook, secret: StoredSecret, nowMs: number): StoredWebhook | undefined {
  const overlapEnds = new Date(nowMs + ROTATION_OVERLAP_MS).toISOString()
  const before = secretsAt(webhook, nowMs).map((old) => ({ ...old, expires_at: old.expires_at ?? overlapEnds }))
  return before.length >= SECRETS_MAX ? undefined : { ...webhook, secrets: [secret, ...before] }
}

/** A secret, as the two forms of signatures use it. */
export interface SigningKey {
  /** Of its whole text. */
  readonly text: KeyObject
  /** Of the bytes that follow the prefix, in base64. */
  readonly bytes: KeyObject
}

export function signingKeyOf(secret: Buffer): SigningKey {
  const bytes = Buffer.from(secret.subarray(PREFIX.length).toString(), 'base64')
  return { text: createSecretKey(secret), bytes: createSecretKey(bytes) }
}

/** The keys that sign a delivery at an instant, newest first. */
export const signingKeys = (keys: MasterKeys, webhook: StoredWebhook, nowMs: number): readonly SigningKey[] =>
  secretsAt(webhook, nowMs).map(({ sealed }) => signingKeyOf(unseal(keys, secretContext(webhook.id), sealed)))

/**
 * Why a tenant's data may not be sent to one of its receivers; undefined when it may. Checked when an endpoint is
 * registered and again before each delivery, since the tenant may set its region later.
 *
 * @param home the tenant's region
 */
export const refusalOfReceiver = (
  home: ResidencyRegion,
  instanceRegion: ResidencyRegion,
  { residency_region: region }: Pick<StoredWebhook, 'residency_region'>,
): Problem | undefined => refusalOfCrossing(home, [thisInstance(instanceRegion), { name: 'the receiver', region }])
