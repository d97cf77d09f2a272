import type { KV } from '@nats-io/kv'
import { isLostRace } from '../../broker/errors.js'
import type { Logger } from '../../telemetry/log.js'
import type { PassedOver } from './inference-spans.js'

export type PassedOverKind = PassedOver | 'metrics_request'

/** How many spans, log records or requests became no records, by capture layer and kind. */
export type PassedOverByLayer = ReadonlyMap<string, ReadonlyMap<PassedOverKind, number>>

/** Receives what a request held beside calls of models. */
export type OnPassedOver = (tenantId: string, counts: PassedOverByLayer, nowMs: number) => void

/** Of one layer and kind, in the last 24 hours, counted by whole hours. */
export interface PassedOverCount {
  readonly layer: string
  readonly kind: PassedOverKind
  readonly count: number
  readonly lastAtMs: number
}

/**
 * The stored form, under the tenant's id in the bucket `passed_over`: hour (of the epoch) -> `<layer>/<kind>` -> count
 * and last time.
 */
type StoredCounts = Readonly<Record<string, Readonly<Record<string, readonly [count: number, lastAtMs: number]>>>>

export interface PassedOverCounts {
  readonly onPassedOver: OnPassedOver
  /** Counts of all gateways, some seconds old. */
  read(tenantId: string, nowMs: number): Promise<readonly PassedOverCount[]>
  /** Stores what was counted since the last time. */
  flush(): Promise<void>
  /** Flushes, and stops doing so by itself. */
  close(): Promise<void>
}

export interface PassedOverDeps {
  readonly bucket: KV
  readonly isBrokerUp: () => boolean
  readonly log: Logger
}

const HOUR_MS = 3_600_000
const HOURS = 24
const FLUSH_EVERY_MS = 5_000
const WRITES_MAX = 64

/**
 * Counts what telemetry holds beside calls of models, so that coverage can say why it became no records. In memory at
 * each request, and added to the tenant's counts in the broker every few seconds. A gateway that is killed loses the
 * seconds since; an answer of the broker that is lost counts them twice. No record or amount depends on them.
 */
export function countPassedOver({ bucket, isBrokerUp, log }: PassedOverDeps): PassedOverCounts {
  let pending = new Map<string, Map<string, Map<string, [number, number]>>>()

  const add = (tenantId: string, hour: string, name: string, count: number, lastAtMs: number): void => {
    const hours = entryOf(pending, tenantId, () => new Map())
    const total = entryOf(
      entryOf(hours, hour, () => new Map()),
      name,
      () => [0, 0] as [number, number],
    )
    total[0] += count
    total[1] = Math.max(total[1], lastAtMs)
  }

  const store = async (tenantId: string, counted: ReadonlyMap<string, ReadonlyMap<string, [number, number]>>) => {
    for (;;) {
      const entry = await bucket.get(tenantId)
      const isThere = entry?.operation === 'PUT'
      const text = JSON.stringify(added(isThere ? entry.json<StoredCounts>() : {}, counted))
      try {
        await (isThere ? bucket.update(tenantId, text, entry.revision) : bucket.create(tenantId, text))
        return
      } catch (cause) {
        if (!isLostRace(cause)) throw cause
      }
    }
  }

  const flush = async (): Promise<void> => {
    if (pending.size === 0 || !isBrokerUp()) return
    const counted = [...pending]
    pending = new Map()
    for (let from = 0; from < counted.length; from += WRITES_MAX) {
      const storing = counted.slice(from, from + WRITES_MAX).map(async ([tenantId, hours]) => {
        try {
          await store(tenantId, hours)
        } catch (cause) {
          log.warn({ err: cause, tenant_id: tenantId }, 'could not store counts of passed-over telemetry; will retry')
          for (const [hour, totals] of hours) for (const [name, total] of totals) add(tenantId, hour, name, ...total)
        }
      })
      await Promise.all(storing)
    }
  }
  const timer = setInterval(() => void flush(), FLUSH_EVERY_MS)
  timer.unref()

  return {
    onPassedOver(tenantId, counts, nowMs) {
      const hour = hourOf(nowMs)
      for (const [layer, kinds] of counts) {
        for (const [kind, count] of kinds) add(tenantId, String(hour), `${layer}/${kind}`, count, nowMs)
      }
    },
    async read(tenantId, nowMs) {
      const entry = await bucket.get(tenantId)
      return entry?.operation === 'PUT' ? totalOf(entry.json<StoredCounts>(), hourOf(nowMs)) : []
    },
    flush,
    async close() {
      clearInterval(timer)
      await flush()
    },
  }
}

const hourOf = (atMs: number): number => Math.floor(atMs / HOUR_MS)

/** The stored counts with those that came since, and without the hours that nobody is shown any more. */
function added(
  stored: StoredCounts,
  counted: ReadonlyMap<string, ReadonlyMap<string, [number, number]>>,
): StoredCounts {
  const newest = Math.max(...[...Object.keys(stored), ...counted.keys()].map(Number))
  const kept = Object.entries(stored).filter(([hour]) => Number(hour) >= newest - HOURS)
  const hours = new Map(kept.map(([hour, totals]) => [hour, { ...totals }]))
  for (const [hour, totals] of counted) {
    const sums: Record<string, readonly [number, number]> = entryOf(hours, hour, () => ({}))
    for (const [name, [count, lastAtMs]] of totals) {
      const [before, lastBefore] = sums[name] ?? [0, 0]
      sums[name] = [before + count, Math.max(lastBefore, lastAtMs)]
    }
  }
  return Object.fromEntries(hours)
}

function totalOf(stored: StoredCounts, nowHour: number): readonly PassedOverCount[] {
  const totals = new Map<string, PassedOverCount>()
  for (const [hour, sums] of Object.entries(stored)) {
    if (Number(hour) < nowHour - HOURS) continue
    for (const [name, [count, lastAtMs]] of Object.entries(sums)) {
      const [layer, kind] = name.split('/') as [string, PassedOverKind]
      const before = totals.get(name) ?? { layer, kind, count: 0, lastAtMs: 0 }
      const sum = { count: before.count + count, lastAtMs: Math.max(before.lastAtMs, lastAtMs) }
      totals.set(name, { ...before, ...sum })
    }
  }
  return [...totals].sort(([one], [other]) => (one < other ? -1 : 1)).map(([, total]) => total)
}

function entryOf<K, V>(map: Map<K, V>, key: K, make: () => V): V {
  const found = map.get(key)
  if (found !== undefined) return found
  const made = make()
  map.set(key, made)
  return made
}
