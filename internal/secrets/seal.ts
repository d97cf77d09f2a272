import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto'
import type { MasterKeys } from './master-keys.js'

/**
 * Seals small secrets at rest under a master key. A copy of the KV buckets without the master key opens none of them.
 *
 * Form: `sealed.<key id>.<context>.<value>`, where `context` (for example `signing_keys.ids`) says what is sealed, and
 * is authenticated, so that one sealed value cannot stand in for another; in base64url. `value` is as `sealUnder` makes
 * it. So a sealed value can be found in whatever it is kept in, and sealed anew under another master key by one who
 * does not know what it is for.
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
 * Replaces every value in a text that another master key has sealed by one that the current key has.
 *
 * @returns the text, and how many were replaced, and how many could not be opened and stay as they are
 */
export function resealed(keys: MasterKeys, text: string): { text: string; replaced: number; unopened: number } {
  let [replaced, unopened] = [0, 0]
  const { id: currentId } = keys.current()
  const changed = text.replaceAll(SEALED_ANYWHERE, (sealed, _head, keyId: string, name: string) => {
    if (keyId === currentId) return sealed
    const context = Buffer.from(name, 'base64url').toString('utf8')
    try {
      const anew = seal(keys, context, unseal(keys, context, sealed))
      replaced++
      return anew
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
 * Seals under one key with AES-256-GCM: for what is bound to a key of its own.
 *
 * @param key 32 bytes
 * @param context authenticated with it
 * @returns base64url of 12 bytes nonce, the ciphertext and 16 bytes tag
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
    return undefined // what did not come of this key: the only thing that `final` can say
  }
}
