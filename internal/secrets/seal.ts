import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto'
import type { MasterKeys } from './master-keys.js'

/**
 * Seals small secrets at rest under a master key. A copy of the KV buckets is useless without the master key.
 *
 * Format: `sealed.<key id>.<context>.<value>`. `context` (for example `signing_keys.ids`) names the secret; it is
 * base64url and authenticated, so that one sealed value cannot be substituted for another. `value` is the result of
 * `sealUnder`. With this format, sealed values can be found in any text and resealed under another master key without
 * knowing their purpose.
 */
export function seal(keys: MasterKeys, context: string, secret: Uint8Array): string {
  const { id, sealing } = keys.current()
  const head = `sealed.${id}.${nameOf(context)}`
  return `${head}.${sealUnder(sealing, head, secret)}`
}

/** @throws Error when no master key opens it, or the value was altered or moved to another context */
export function unseal(keys: MasterKeys, context: string, sealed: string): Buffer {
  const match = SEALED.exec(sealed)
  if (match === null || match[0] !== sealed) throw new Error(`${context} is not a sealed secret`)
  const [, head = '', keyId = '', name, value = ''] = match
  const key = keys.find(keyId)
  const opened = key === undefined || name !== nameOf(context) ? undefined : openUnder(key.sealing, head, value)
  if (opened === undefined) throw new Error(`${context} does not open with this master key`)
  return opened
}

/**
 * Reseals every sealed value in a text that was not sealed with the current master key.
 *
 * @returns the text, the number of resealed values, and the number of values that could not be opened and are unchanged
 */
export function resealed(keys: MasterKeys, text: string): { text: string; replaced: number; unopened: number } {
  let [replaced, unopened] = [0, 0]
  const { id: currentId } = keys.current()
  const changed = text.replaceAll(SEALED_ANYWHERE, (sealed, _head, keyId: string, name: string) => {
    if (keyId === currentId) return sealed
    const context = Buffer.from(name, 'base64url').toString('utf8')
    try {
      const result = seal(keys, context, unseal(keys, context, sealed))
      replaced++
      return result
    } catch {
      unopened++
      return sealed
    }
  })
  return { text: changed, replaced, unopened }
}

const SEALED = /(sealed\.([\w-]{8})\.([\w-]*))\.([\w-]{38,})/
const SEALED_ANYWHERE = new RegExp(SEALED, 'g')

const nameOf = (context: string): string => Buffer.from(context, 'utf8').toString('base64url')

const NONCE_BYTES = 12
const TAG_BYTES = 16

/**
 * Seals under one given key with AES-256-GCM, for values that have a key of their own.
 *
 * @param key 32 bytes
 * @param context authenticated with it
 * @returns base64url of a 12-byte nonce, the ciphertext and a 16-byte tag
 */
export function sealUnder(key: Uint8Array, context: string, secret: Uint8Array): string {
  const nonce = randomBytes(NONCE_BYTES)
  const cipher = createCipheriv('aes-256-gcm', key, nonce).setAAD(Buffer.from(context))
  return Buffer.concat([nonce, cipher.update(secret), cipher.final(), cipher.getAuthTag()]).toString('base64url')
}

/** @returns undefined when it was sealed under another key or in another context, or altered */
export function openUnder(key: Uint8Array, context: string, sealed: string): Buffer | undefined {
  const bytes = Buffer.from(sealed, 'base64url')
  if (bytes.length < NONCE_BYTES + TAG_BYTES) return undefined
  const tag = bytes.subarray(bytes.length - TAG_BYTES)
  const decipher = createDecipheriv('aes-256-gcm', key, bytes.subarray(0, NONCE_BYTES))
    .setAAD(Buffer.from(context))
    .setAuthTag(tag)
  const opened = decipher.update(bytes.subarray(NONCE_BYTES, bytes.length - TAG_BYTES))
  try {
    return Buffer.concat([opened, decipher.final()])
  } catch {
    return undefined // `final` throws only when authentication fails
  }
}
