import { createHash, randomBytes } from 'node:crypto'
import type { KV } from '@nats-io/kv'
import type { Scope } from '../../auth/scopes.js'
import { isLostRace } from '../../broker/errors.js'

/** A person's grant to a client, until the client redeems its code. */
export interface AuthorizationGrant {
  readonly tenant_id: string
  readonly client_id: string
  readonly user_id: string
  /** As in the authorization request. */
  readonly redirect_uri: string
  readonly scopes: readonly Scope[]
  /** PKCE (RFC 7636), method S256. */
  readonly code_challenge: string
  /** Seconds since the epoch. */
  readonly auth_time: number
  /** The session that begins when the code is redeemed. */
  readonly session_id: string
  /** Only a program on the gateway's own machine may redeem the code. Absent: any. */
  readonly is_loopback_only?: true
}

interface StoredCode extends AuthorizationGrant {
  readonly expires_at_ms: number
  readonly is_used: boolean
}

/** RFC 6749 4.1.2 allows ten minutes; a minute is common practice. */
const CODE_LIFE_MS = 60_000
/** A person has to read the link and open it. */
export const SIGN_IN_LINK_LIFE_MS = 2 * 60_000
const CODE = /^[A-Za-z0-9_-]{43}$/

export type Redeemed =
  | { readonly kind: 'redeemed'; readonly grant: AuthorizationGrant }
  /** It was used before: the tokens that it issued must be revoked (RFC 6749 4.1.2). */
  | { readonly kind: 'reused'; readonly grant: AuthorizationGrant }
  | { readonly kind: 'unknown' }

export interface AuthorizationCodes {
  /** @param lifeMs how long the code is valid; default: a minute */
  issue(grant: AuthorizationGrant, nowMs: number, lifeMs?: number): Promise<string>
  /** Uses the code up before the other parameters are checked: a wrong guess invalidates it. */
  redeem(code: string, nowMs: number): Promise<Redeemed>
}

/** @param bucket authorization_codes */
export function storedCodes(bucket: KV): AuthorizationCodes {
  return {
    async issue(grant, nowMs, lifeMs = CODE_LIFE_MS) {
      const code = randomBytes(32).toString('base64url')
      const stored: StoredCode = { ...grant, expires_at_ms: nowMs + lifeMs, is_used: false }
      await bucket.create(keyOf(code), JSON.stringify(stored))
      return code
    },

    async redeem(code, nowMs) {
      if (!CODE.test(code)) return { kind: 'unknown' }
      for (;;) {
        const entry = await bucket.get(keyOf(code))
        if (entry?.operation !== 'PUT') return { kind: 'unknown' }
        const stored = entry.json<StoredCode>()
        if (stored.is_used) return { kind: 'reused', grant: stored }
        try {
          await bucket.update(keyOf(code), JSON.stringify({ ...stored, is_used: true }), entry.revision)
        } catch (cause) {
          // Another request redeemed the same code first: the next read finds it used.
          if (!isLostRace(cause)) throw cause
          continue
        }
        return nowMs < stored.expires_at_ms ? { kind: 'redeemed', grant: stored } : { kind: 'unknown' }
      }
    },
  }
}

/** Hashed, so that nobody can redeem a code from a copy of the bucket. */
const keyOf = (code: string): string => createHash('sha256').update(code).digest('hex')

const VERIFIER = /^[A-Za-z0-9._~-]{43,128}$/
const CHALLENGE = /^[A-Za-z0-9_-]{43}$/

export const isChallenge = (text: string): boolean => CHALLENGE.test(text)

/** RFC 7636 4.6, S256. */
export const isVerifierOf = (challenge: string, verifier: string): boolean =>
  VERIFIER.test(verifier) && createHash('sha256').update(verifier).digest('base64url') === challenge
