import { createHash, generateKeyPair } from 'node:crypto'
import { promisify } from 'node:util'
import type { KV } from '@nats-io/kv'
import type { Mode } from '../../auth/api-keys.js'
import { isLostRace } from '../../broker/errors.js'
import type { MasterKeys } from '../../secrets/master-keys.js'
import { seal } from '../../secrets/seal.js'
import {
  beginRing,
  isRotationDue,
  type KeyRing,
  keyInState,
  mayRotateAtMs,
  type NewTokenKey,
  replaceRing,
  rotateRing,
  withoutDead,
} from './key-ring.js'

const generate = promisify(generateKeyPair)

/** What a sealed private key is sealed for: it cannot stand in for another. */
export const privateKeyContext = (kid: string): string => `token_keys.${kid}`

/** A new RSA key of 2048 bits. */
export async function makeTokenKey(masterKeys: MasterKeys): Promise<NewTokenKey> {
  const { publicKey, privateKey } = await generate('rsa', { modulusLength: 2048 })
  const { n = '', e = '' } = publicKey.export({ format: 'jwk' })
  // RFC 7638: the required members of the key, in the order of their names, without white space.
  const kid = createHash('sha256')
    .update(JSON.stringify({ e, kty: 'RSA', n }))
    .digest('base64url')
  const sealed = seal(masterKeys, privateKeyContext(kid), privateKey.export({ format: 'der', type: 'pkcs8' }))
  return { kid, n, e, sealed_private_key: sealed }
}

/**
 * The instance's ring of a mode, made by whoever asks first.
 *
 * @param bucket token_keys
 */
export async function openKeyRing(bucket: KV, masterKeys: MasterKeys, mode: Mode, nowMs: number): Promise<KeyRing> {
  const existing = await bucket.get(mode)
  if (existing?.operation === 'PUT') return existing.json<KeyRing>()
  const [current, next] = await Promise.all([makeTokenKey(masterKeys), makeTokenKey(masterKeys)])
  const ring = beginRing(current, next, nowMs)
  try {
    await bucket.create(mode, JSON.stringify(ring))
    return ring
  } catch (cause) {
    if (!isLostRace(cause)) throw cause
    return openKeyRing(bucket, masterKeys, mode, nowMs)
  }
}

export type Rotation =
  | { readonly kind: 'rotated'; readonly kid: string }
  /** The next key was published too short a time ago: verifiers would not know it yet. */
  | { readonly kind: 'too_soon'; readonly againAtMs: number }
  /** Somebody else rotated in the same moment. */
  | { readonly kind: 'lost_race' }

/**
 * Lets the next key sign from now on, at once on every gateway.
 *
 * @param how `planned`: tokens of the old key stay good; `emergency`: they die at once, and verifiers that have not
 *   fetched the next key yet answer 401 until they do
 */
export async function rotateSigningKey(
  bucket: KV,
  masterKeys: MasterKeys,
  mode: Mode,
  nowMs: number,
  how: 'planned' | 'emergency' = 'planned',
): Promise<Rotation> {
  await openKeyRing(bucket, masterKeys, mode, nowMs)
  const entry = await bucket.get(mode)
  if (entry === null) throw new Error(`the ring of token keys of ${mode} has vanished`)
  const ring = entry.json<KeyRing>()
  const againAtMs = mayRotateAtMs(ring)
  if (how === 'planned' && nowMs < againAtMs) return { kind: 'too_soon', againAtMs }
  const change = how === 'planned' ? rotateRing : replaceRing
  const rotated = change(ring, await makeTokenKey(masterKeys), nowMs)
  return (await replace(bucket, mode, rotated, entry.revision))
    ? { kind: 'rotated', kid: keyInState(rotated, 'current').kid }
    : { kind: 'lost_race' }
}

/**
 * Does what the ring's age asks for: a rotation when it is due, else letting go of dead keys.
 *
 * @returns the ids of the key that signed and of the one that signs now, to the one of all gateways that rotated
 */
export async function tendKeyRing(
  bucket: KV,
  masterKeys: MasterKeys,
  mode: Mode,
  nowMs: number,
): Promise<{ readonly before: string; readonly after: string } | undefined> {
  const entry = await bucket.get(mode)
  if (entry?.operation !== 'PUT') {
    await openKeyRing(bucket, masterKeys, mode, nowMs)
    return undefined
  }
  const ring = entry.json<KeyRing>()
  const isDue = isRotationDue(ring, nowMs)
  const tended = isDue ? rotateRing(ring, await makeTokenKey(masterKeys), nowMs) : withoutDead(ring, nowMs)
  // Of several gateways that see the same need one is first; the others follow what it wrote.
  const isWritten = tended !== ring && (await replace(bucket, mode, tended, entry.revision))
  return isDue && isWritten
    ? { before: keyInState(ring, 'current').kid, after: keyInState(tended, 'current').kid }
    : undefined
}

async function replace(bucket: KV, mode: Mode, ring: KeyRing, revision: number): Promise<boolean> {
  try {
    await bucket.update(mode, JSON.stringify(ring), revision)
    return true
  } catch (cause) {
    if (isLostRace(cause)) return false
    throw cause
  }
}
