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
  withoutExpired,
} from './key-ring.js'

const generate = promisify(generateKeyPair)

/** The context that a private key is sealed with, so that one cannot be substituted for another. */
export const privateKeyContext = (kid: string): string => `token_keys.${kid}`

/** A new RSA key of 2048 bits. */
async function makeTokenKey(masterKeys: MasterKeys): Promise<NewTokenKey> {
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
 * The instance's ring of a mode, created by the first process that needs it.
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
  /** The next key was published too recently: verifiers may not know it yet. */
  | { readonly kind: 'too_soon'; readonly againAtMs: number }
  /** Another process rotated at the same moment. */
  | { readonly kind: 'lost_race' }

/**
 * Makes the next key sign, at once on every gateway.
 *
 * @param how `planned`: tokens of the old key stay valid; `emergency`: they become invalid at once, and verifiers that
 *   have not fetched the next key yet answer 401 until they do
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
  if (entry === null) throw new Error(`the ring of token keys of ${mode} was deleted`)
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
 * Maintains the ring: rotates it when that is due, otherwise removes expired keys.
 *
 * @returns the ids of the old and new signing keys, on the gateway that rotated; undefined on all others
 */
export async function maintainKeyRing(
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
  const maintained = isDue ? rotateRing(ring, await makeTokenKey(masterKeys), nowMs) : withoutExpired(ring, nowMs)
  // Several gateways may try at once: one writes, and the others receive its ring.
  const isWritten = maintained !== ring && (await replace(bucket, mode, maintained, entry.revision))
  return isDue && isWritten
    ? { before: keyInState(ring, 'current').kid, after: keyInState(maintained, 'current').kid }
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
