import type { KV } from '@nats-io/kv'
import type { KeyUse } from '../../auth/authenticate.js'
import { isLostRace } from '../../broker/errors.js'
import type { Logger } from '../../telemetry/log.js'

/** As it is kept, under the key's id in the bucket api_key_uses. */
export interface StoredKeyUse {
  readonly at: string
}

export interface KeyUses {
  /** Where the uses of a key by this process are noted. */
  of(keyId: string): KeyUse
  /** The key is known no more. */
  forget(keyId: string): void
  /** Writes down what is new. */
  flush(): Promise<void>
  /** Writes down what is new, and stops doing so. */
  close(): Promise<void>
}

export interface KeyUsesDeps {
  readonly bucket: KV
  /** What is kept, as of a moment ago. */
  readonly stored: (keyId: string) => StoredKeyUse | undefined
  readonly isBrokerUp: () => boolean
  readonly log: Logger
}

/** What is kept of a key is this much older than its last use at most, and written this often at most. */
const COARSE_MS = 60_000
const AT_ONCE = 64

/** Follows when keys were last used: noted in memory at each use, written at most once a minute a key, by whichever gateway is first. */
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
      // Another gateway has just written as good a time.
      if (!isLostRace(cause)) throw cause
    }
  }

  const flush = async (): Promise<void> => {
    const fresh = [...uses].filter(([keyId, { atMs }]) => atMs > 0 && isStale(stored(keyId), atMs))
    for (let from = 0; from < fresh.length && isBrokerUp(); from += AT_ONCE) {
      await Promise.all(fresh.slice(from, from + AT_ONCE).map(([keyId, { atMs }]) => write(keyId, atMs)))
    }
  }
  const flushOrSayWhy = (): Promise<void> =>
    flush().catch((cause: unknown) => log.warn({ err: cause }, 'when keys were last used could not be written down'))
  const timer = setInterval(() => void flushOrSayWhy(), COARSE_MS)
  timer.unref()

  return {
    of(keyId) {
      const use = uses.get(keyId) ?? { atMs: 0 }
      uses.set(keyId, use)
      return use
    },
    forget: (keyId) => void uses.delete(keyId),
    flush,
    async close() {
      clearInterval(timer)
      await flushOrSayWhy()
    },
  }
}
