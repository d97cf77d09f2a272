import type { KV } from '@nats-io/kv'
import { isLostRace } from '../../broker/errors.js'
import type { Logger } from '../../telemetry/log.js'
import { addStored, type Counts, CountsBySource, type Source, type StoredSources, storedForm } from './counts.js'
import { type OnReceived, PendingCounts } from './pending-counts.js'

/** Of one source, in the last 24 hours, by whole hours. */
export interface ReceivedFrom {
  readonly source: Source
  readonly counts: Counts
}

export interface ReceivedCounts {
  readonly onReceived: OnReceived
  /** Counts of all gateways: of this one up to now, of the others some seconds old. */
  read(tenantId: string, nowMs: number): Promise<readonly ReceivedFrom[]>
  /** Stores what was counted since the last time. */
  flush(): Promise<void>
  /** Flushes, and stops doing so by itself. */
  close(): Promise<void>
}

export interface ReceivedDeps {
  readonly bucket: KV
  readonly isBrokerUp: () => boolean
  readonly clock: () => number
  readonly log: Logger
}

const HOUR_MS = 3_600_000
const HOURS = 24
const FLUSH_EVERY_MS = 5_000
const WRITES_MAX = 64

/** The instant from which counts are read: whole hours, so that records can be counted from the same one. */
export const countedFromMs = (nowMs: number): number => (hourOf(nowMs) - HOURS) * HOUR_MS

/**
 * Counts all that arrives and what becomes of it. In memory at each request, and added to the tenant's counts of the
 * hour in the broker every few seconds (`<tenant id>.<hour of the epoch>` in the bucket `received`). A gateway that is
 * killed loses the seconds since; an answer of the broker that is lost counts them twice. No record or amount depends
 * on them.
 */
export function countReceived({ bucket, isBrokerUp, clock, log }: ReceivedDeps): ReceivedCounts {
  const pending = new PendingCounts()

  const store = async (key: string, counted: CountsBySource): Promise<void> => {
    for (;;) {
      const entry = await bucket.get(key)
      const isThere = entry?.operation === 'PUT'
      const sources = new CountsBySource()
      if (isThere) addStored(entry.json<StoredSources>(), sources)
      sources.addAll(counted)
      const text = JSON.stringify(storedForm(sources))
      try {
        await (isThere ? bucket.update(key, text, entry.revision) : bucket.create(key, text))
        return
      } catch (cause) {
        if (!isLostRace(cause)) throw cause
      }
    }
  }

  const storePending = async (): Promise<void> => {
    const counted = [...pending.take()]
    const hour = hourOf(clock())
    for (let from = 0; from < counted.length; from += WRITES_MAX) {
      const stored = counted.slice(from, from + WRITES_MAX).map(async ([tenantId, sources]) => {
        try {
          await store(`${tenantId}.${hour}`, sources)
        } catch (cause) {
          log.warn({ err: cause, tenant_id: tenantId }, 'could not store what was received; will retry')
          pending.of(tenantId).addAll(sources)
        }
      })
      await Promise.all(stored)
    }
  }
  let storing: Promise<void> = Promise.resolve()
  let flushes = 0
  const flush = (): Promise<void> => {
    flushes++
    storing = storing
      .then(() => (isBrokerUp() ? storePending() : undefined))
      .finally(() => {
        flushes--
      })
    return storing
  }
  // What is neither pending nor stored yet would be missing from a read, or be in it twice.
  let reads = 0
  // On a slow broker, a read would wait for ever more flushes.
  const timer = setInterval(() => void (reads === 0 && flushes === 0 && flush()), FLUSH_EVERY_MS)
  timer.unref()

  return {
    onReceived: pending,
    async read(tenantId, nowMs) {
      reads++
      try {
        await storing
        const hours = Array.from({ length: HOURS + 1 }, (_, i) => hourOf(nowMs) - i)
        const entries = await Promise.all(hours.map((hour) => bucket.get(`${tenantId}.${hour}`)))
        const sources = new CountsBySource()
        for (const entry of entries) if (entry?.operation === 'PUT') addStored(entry.json<StoredSources>(), sources)
        const own = pending.peek(tenantId)
        if (own !== undefined) sources.addAll(own)
        return [...sources.all()]
      } finally {
        reads--
      }
    },
    flush,
    async close() {
      clearInterval(timer)
      await flush()
    },
  }
}

const hourOf = (atMs: number): number => Math.floor(atMs / HOUR_MS)
