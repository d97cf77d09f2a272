import { createHmac, timingSafeEqual } from 'node:crypto'
import { type Problem, problem } from '../../problems/problem-catalogue.js'
import { SNAPSHOT_AGE_MS_MAX } from '../../store/snapshot.js'
import { LIMIT_DEFAULT, LIMIT_MAX } from '../contract/page.js'

/** The envelope of every collection. `next_cursor` is absent on the last page. */
export interface Page<T> {
  readonly data: readonly T[]
  readonly page: { readonly next_cursor?: string; readonly limit: number; readonly has_more: boolean }
}

/**
 * The position of a page. It is the content of the cursor, which is stateless: signed, bound to the tenant and to the
 * query it was issued for, and expiring.
 */
export interface CursorState {
  readonly tenantId: string
  /** Route, sort and filters: a cursor is valid for no other query. */
  readonly query: string
  /** Sort values and id of the last record returned. */
  readonly lastKey: readonly string[]
  /** Milliseconds since the epoch; later pages show the collection as of this instant. */
  readonly snapshotMs: number
}

export type ReadCursor =
  | { readonly ok: true; readonly state: CursorState }
  | { readonly ok: false; readonly problem: Problem }

export interface CursorCodec {
  encode(state: CursorState, nowMs: number): string
  decode(text: string, expected: { readonly tenantId: string; readonly query: string }, nowMs: number): ReadCursor
}

export const CURSOR_LIFETIME_MS = 60 * 60 * 1000
const VERSION = 1
/** HMAC-SHA-256, not truncated. */
const MAC_BYTES = 32

type Payload = readonly [
  version: number,
  tenantId: string,
  query: string,
  lastKey: readonly string[],
  snapshotMs: number,
  expiresAtMs: number,
]

/** @param key the instance's cursor signing key, 32 bytes */
export function createCursorCodec(key: Uint8Array): CursorCodec {
  const sign = (payload: Buffer): Buffer => createHmac('sha256', key).update(payload).digest()

  return {
    encode({ tenantId, query, lastKey, snapshotMs }, nowMs) {
      const expiresAtMs = Math.min(nowMs + CURSOR_LIFETIME_MS, snapshotMs + SNAPSHOT_AGE_MS_MAX)
      const content: Payload = [VERSION, tenantId, query, lastKey, snapshotMs, expiresAtMs]
      const payload = Buffer.from(JSON.stringify(content))
      return Buffer.concat([sign(payload), payload]).toString('base64url')
    },

    decode(text, expected, nowMs) {
      const bytes = Buffer.from(text, 'base64url')
      // The same bytes have several Base64 encodings; only ours counts as unmodified.
      if (bytes.length <= MAC_BYTES || bytes.toString('base64url') !== text) return refused('The cursor is not valid.')
      const payload = bytes.subarray(MAC_BYTES)
      if (!timingSafeEqual(sign(payload), bytes.subarray(0, MAC_BYTES))) return refused('The cursor is not valid.')

      const [version, tenantId, query, lastKey, snapshotMs, expiresAtMs] = JSON.parse(payload.toString()) as Payload
      if (version !== VERSION) return refused('The cursor is not valid.')
      if (nowMs >= expiresAtMs) return refused('The cursor has expired.')
      if (tenantId !== expected.tenantId) {
        return { ok: false, problem: problem('TENANT_MISMATCH', 'The cursor belongs to another tenant.') }
      }
      if (query !== expected.query) return refused('The cursor belongs to another query.')
      return { ok: true, state: { tenantId, query, lastKey, snapshotMs } }
    },
  }
}

const refused = (detail: string) =>
  ({ ok: false, problem: problem('INVALID_CURSOR', detail, { errors: [{ pointer: '/cursor', detail }] }) }) as const

/** @returns the page size, or undefined when the text is not an integer from 1 to 200 */
export function readLimit(text: string | undefined): number | undefined {
  if (text === undefined) return LIMIT_DEFAULT
  if (!/^[1-9]\d{0,2}$/.test(text)) return undefined
  const limit = Number(text)
  return limit <= LIMIT_MAX ? limit : undefined
}
