import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto'

/**
 * Seals small secrets at rest with AES-256-GCM under a key derived from the master key (HKDF-SHA-256).
 * A copy of the KV buckets without the master key opens none of them.
 *
 * Form: base64url of version byte 1, 12 bytes nonce, ciphertext, 16 bytes tag. `context` (for example
 * `signing_keys.ids`) is authenticated, so that one sealed value cannot stand in for another.
 */
const VERSION = 1
const NONCE_BYTES = 12
const TAG_BYTES = 16

export function seal(masterKey: Uint8Array, context: string, secret: Uint8Array): string {
  const nonce = randomBytes(NONCE_BYTES)
  const cipher = createCipheriv('aes-256-gcm', sealingKey(masterKey), nonce).setAAD(Buffer.from(context))
  const sealed = Buffer.concat([cipher.update(secret), cipher.final()])
  return Buffer.concat([Buffer.of(VERSION), nonce, sealed, cipher.getAuthTag()]).toString('base64url')
}

/** @throws Error when the master key is another one, or the value was altered or moved to another context */
export function unseal(masterKey: Uint8Array, context: string, sealed: string): Buffer {
  const bytes = Buffer.from(sealed, 'base64url')
  if (bytes[0] !== VERSION || bytes.length < 1 + NONCE_BYTES + TAG_BYTES)
    throw new Error(`${context} is not a sealed secret`)
  const nonce = bytes.subarray(1, 1 + NONCE_BYTES)
  const tag = bytes.subarray(bytes.length - TAG_BYTES)
  const decipher = createDecipheriv('aes-256-gcm', sealingKey(masterKey), nonce)
    .setAAD(Buffer.from(context))
    .setAuthTag(tag)
  try {
    return Buffer.concat([decipher.update(bytes.subarray(1 + NONCE_BYTES, bytes.length - TAG_BYTES)), decipher.final()])
  } catch (cause) {
    throw new Error(`${context} does not open with this master key`, { cause })
  }
}

const sealingKey = (masterKey: Uint8Array): Buffer =>
  Buffer.from(hkdfSync('sha256', masterKey, new Uint8Array(0), 'attribution sealing v1', 32))
