import type { KV } from '@nats-io/kv'
import { SESSIONS } from '../../../streams/buckets.js'
import type { Scope } from '../../auth/scopes.js'
import { isLostRace } from '../../broker/errors.js'

/**
 * A sign-in, from the redemption of its code to its last refresh: a person's grant to a client. All tokens that come
 * from it carry its id, so that they can be revoked together (the "family" of RFC 9700 4.14).
 */
export interface StoredSession {
  readonly id: string
  readonly tenant_id: string
  readonly client_id: string
  readonly user_id: string
  /** The granted scopes; a refresh may request fewer, never more. */
  readonly scopes: readonly Scope[]
  /** When the person signed in, seconds since the epoch; a refresh does not renew it. */
  readonly auth_time: number
  /** How often it was refreshed: the number of the only refresh token that is valid. */
  readonly generation: number
  /** When it last was. Absent: not yet. */
  readonly refreshed_at_ms?: number
  /** When it was last used: by a person, where the client tells that apart, else by a refresh. Absent: not yet. */
  readonly active_at_ms?: number
  readonly status: 'active' | 'revoked'
}

/** Refreshes do not extend it. */
export const SESSION_LIFE_S_MAX = 30 * 24 * 60 * 60
/** Without use: for as long as the bucket holds one that is not refreshed. */
export const SESSION_IDLE_S_MAX = SESSIONS.ttlMs / 1_000

/** How a session is refreshed. */
export interface Refreshing {
  /**
   * For so long after an advance it stays, and the token before the newest one is as good: an answer may be lost, and
   * several requests may carry the same token. Default: not at all
   */
  readonly graceMs?: number
  /** For so long nobody has used the client, which refreshes by itself. Default: it is in use. */
  readonly idleMs?: number
}

export type Refreshed =
  | { readonly kind: 'refreshed'; readonly session: StoredSession }
  /** An older refresh token was used again: somebody besides the client may have it. */
  | { readonly kind: 'reused' }
  | { readonly kind: 'ended' }

export interface Sessions {
  /** @returns false when it was revoked before it began: its code was presented twice */
  begin(session: StoredSession): Promise<boolean>
  /** The session of an id, active or revoked. */
  find(id: string): Promise<StoredSession | undefined>
  /** Advances to the next refresh token, once for each generation. */
  refresh(id: string, generation: number, nowMs: number, how?: Refreshing): Promise<Refreshed>
  /**
   * Ends it for good, and with it its refresh token and access tokens. Resolves when this gateway refuses them.
   *
   * @returns false when it had already ended
   */
  revoke(id: string): Promise<boolean>
}

/**
 * @param bucket sessions
 * @param denyTokensOf makes every gateway refuse the access tokens of a session
 */
export function storedSessions(bucket: KV, denyTokensOf: (sessionId: string) => Promise<void>): Sessions {
  const read = async (id: string): Promise<{ session: StoredSession; revision: number } | undefined> => {
    const entry = await bucket.get(id)
    return entry?.operation === 'PUT' ? { session: entry.json(), revision: entry.revision } : undefined
  }

  const endSession = async (id: string): Promise<boolean> => {
    for (;;) {
      const found = await read(id)
      if (found?.session.status === 'revoked') return false
      try {
        // A session that has not begun yet must not begin later.
        if (found === undefined) await bucket.create(id, JSON.stringify({ id, status: 'revoked' }))
        else await bucket.update(id, JSON.stringify({ ...found.session, status: 'revoked' }), found.revision)
        return true
      } catch (cause) {
        if (!isLostRace(cause)) throw cause
      }
    }
  }

  return {
    async begin(session) {
      try {
        await bucket.create(session.id, JSON.stringify(session))
        return true
      } catch (cause) {
        if (!isLostRace(cause)) throw cause
        return false
      }
    },

    find: async (id) => (await read(id))?.session,

    async refresh(id, generation, nowMs, { graceMs = 0, idleMs = 0 } = {}) {
      for (;;) {
        const found = await read(id)
        if (found === undefined || found.session.status === 'revoked') return { kind: 'ended' }
        const { session, revision } = found
        if (nowMs / 1_000 >= session.auth_time + SESSION_LIFE_S_MAX) return { kind: 'ended' }
        const wasActiveAtMs = session.active_at_ms ?? nowMs - idleMs
        if (nowMs - wasActiveAtMs >= SESSION_IDLE_S_MAX * 1_000) return { kind: 'ended' }
        // Of several tabs, the one that was used last.
        const used = { ...session, active_at_ms: Math.max(wasActiveAtMs, nowMs - idleMs) }
        const isRecent = nowMs - (session.refreshed_at_ms ?? 0) < graceMs
        const isRepeat = isRecent && [session.generation, session.generation - 1].includes(generation)
        if (isRepeat && used.active_at_ms === session.active_at_ms) return { kind: 'refreshed', session }
        // Only this service numbers tokens (`refresh-tokens.ts`): the stored session is older than its token. That is a
        // restored backup, or a server that no longer leads and does not know it; nobody used a token twice.
        if (generation > session.generation) return { kind: 'ended' }
        if (!isRepeat && generation !== session.generation) return { kind: 'reused' }
        const next = isRepeat ? used : { ...used, generation: generation + 1, refreshed_at_ms: nowMs }
        try {
          await bucket.update(id, JSON.stringify(next), revision)
          return { kind: 'refreshed', session: next }
        } catch (cause) {
          // The same token was sent twice at once: the next read shows which request was second.
          if (!isLostRace(cause)) throw cause
        }
      }
    },

    async revoke(id) {
      // In this order, so that a token that is refreshed in between is denied too.
      const hasEnded = await endSession(id)
      await denyTokensOf(id)
      return hasEnded
    },
  }
}
