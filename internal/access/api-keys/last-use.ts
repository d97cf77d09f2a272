import type { KV } from '@nats-io/kv'
import type { KeyUse } from '../../auth/authenticate.js'
import { isLostRace } from '../../broker/errors.js'
import type { Logger } from '../../telemetry/log.js'

/** The stored form, under the key's id in the bucket `api_key_uses`. */
export interface StoredKeyUse {
  readonly at: string
}

export interface KeyUses {
  /** Where this process records the uses of a key. */
  of(keyId: string): KeyUse
  /** When a key was last used, RFC 3339: exact for uses in this process. Null: never. */
  lastAt(keyId: string): string | null
  /** To be called when the key is deleted. */
  forget(keyId: string): void
  /** Stores the uses since the last flush. */
  flush(): Promise<void>
  /** Stores the uses since the last flush, and stops the periodic flush. */
  close(): Promise<void>
}

export interface KeyUsesDeps {
  readonly bucket: KV
  /** The stored use, from the watched copy. */
  readonly stored: (keyId: string) => StoredKeyUse | undefined
  readonly isBrokerUp: () => boolean
  readonly log: Logger
}

/** A stored use is at most this much older than the real one, and is written at most this often. */
const COARSE_MS = 60_000
const WRITES_MAX = 64

/**
 * Tracks when keys were last used: in memory at each use, and stored at most once per minute and key by whichever
 * gateway is first.
 */
export function trackKeyUses({ bucket, stored, isBrokerUp, log }: KeyUsesDeps): KeyUses {
  const uses = new Map<string, KeyUse>()

  const isStale = (storedAt: StoredKeyUse | undefined, atMs: number): boolean =>
    storedAt === undefined || atMs - Date.parse(storedAt.at) >= COARSE_MS

  const write = async (keyId: string, atMs: number): Promise<void> => {
    const entry = await bucket.get(keyId)
    const known = entry?.operation === 'PUT' ? entry.json<StoredKeyUse>() : undefined
    if (!isStale(known, atMs)) return
    const text = JSON.stringify({ at: new Date(atMs).toISOString() } satisfies StoredKeyUse)
    try {
      await (entry === null ? bucket.create(keyId, text) : bucket.update(keyId, text, entry.revision))
    } catch (cause) {
      // Another gateway has just stored an equally recent time.
      if (!isLostRace(cause)) throw cause
    }
  }

  const flush = async (): Promise<void> => {
    const fresh = [...uses].filter(([keyId, { atMs }]) => atMs > 0 && isStale(stored(keyId), atMs))
    for (let from = 0; from < fresh.length && isBrokerUp(); from += WRITES_MAX) {
      await Promise.all(fresh.slice(from, from + WRITES_MAX).map(([keyId, { atMs }]) => write(keyId, atMs)))
    }
  }
  const flushOrLog = (): Promise<void> =>
    flush().catch((cause: unknown) => log.warn({ err: cause }, 'could not store the last uses of API keys; will retry'))
  const timer = setInterval(() => void flushOrLog(), COARSE_MS)
  timer.unref()

  return {
    of(keyId) {
      const use = uses.get(keyId) ?? { atMs: 0 }
      uses.set(keyId, use)
      return use
    },
    lastAt(keyId) {
      const known = stored(keyId)
      const lastMs = Math.max(uses.get(keyId)?.atMs ?? 0, known === undefined ? 0 : Date.parse(known.at))
      return lastMs === 0 ? null : new Date(lastMs).toISOString()
    },
    forget: (keyId) => void uses.delete(keyId),
    flush,
    async close() {
      clearInterval(timer)
      await flushOrLog()
    },
  }
}
