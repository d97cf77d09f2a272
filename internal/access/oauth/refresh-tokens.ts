import { createHmac, timingSafeEqual } from 'node:crypto'

/**
 * Refresh tokens: `rt_` and base64url of a session's id (16 bytes), the number of the token within it (4 bytes, big
 * endian) and the HMAC-SHA-256 of both. They are not stored: only this service can create one, so that a number below
 * the session's means a token that was used before, and never a guess by which an attacker could end the session.
 */
export interface RefreshToken {
  readonly sessionId: string
  readonly generation: number
}

const PREFIX = 'rt_'
const ID_BYTES = 16
const HEAD_BYTES = ID_BYTES + 4
const TOKEN = /^rt_[A-Za-z0-9_-]{70}$/

/** @param key 32 bytes, the instance's for sign-ins */
export function formatRefreshToken(key: Uint8Array, { sessionId, generation }: RefreshToken): string {
  const head = Buffer.alloc(HEAD_BYTES)
  head.write(sessionId, 'base64url')
  head.writeUInt32BE(generation, ID_BYTES)
  const mac = createHmac('sha256', key).update('refresh token\0').update(head).digest()
  return PREFIX + Buffer.concat([head, mac]).toString('base64url')
}

/** @returns undefined for a text that this service did not issue */
export function readRefreshToken(key: Uint8Array, text: string): RefreshToken | undefined {
  if (!TOKEN.test(text)) return undefined
  const head = Buffer.from(text.slice(PREFIX.length), 'base64url').subarray(0, HEAD_BYTES)
  const read = { sessionId: head.toString('base64url', 0, ID_BYTES), generation: head.readUInt32BE(ID_BYTES) }
  return timingSafeEqual(Buffer.from(formatRefreshToken(key, read)), Buffer.from(text)) ? read : undefined
}
