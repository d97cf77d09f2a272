import { partitionOf } from '../../ids/event-partition.js'
import { idHex } from '../../ids/ids.js'
import type { RecordSource } from '../../store/queries/records/sources.js'
import { gauge, whenRead } from '../../telemetry/metrics.js'
import type { FindHeld } from './held-invocations.js'
import { type FoundEvent, IN_ANOTHER_LOG, SeenEvents } from './seen-events.js'

export interface LoadSeenDeps {
  /** Events that the facts stage has handed over and that have no record yet. */
  readonly findHeld: FindHeld
  /** Of the log. */
  readonly partitions: number
  /** The sources of a partition's records that became valid since an instant, oldest first. */
  readonly recordSourcesSince: (partition: number, sinceMs: number) => AsyncIterable<RecordSource>
  /** The sources of these events, for those that have had a record since an instant. */
  readonly recordSourcesOf: (ids: readonly Uint8Array[], sinceMs: number) => Promise<readonly RecordSource[]>
  readonly clock: () => number
  /** Id of the log that is read now. */
  readonly logId: number
  /** Of one partition; beside the exact entries. */
  readonly filterBytesMax: () => number
  readonly limits?: SeenLimits
}

const SEEN_BYTES = gauge(
  'seen_events_bytes',
  'Memory of the event ids by which stage A recognises repeats: exact entries and filters.',
  ['partition'],
)

/** What was loaded last of each partition, until it is collected: another process owns the partition then. */
const measured = new Map<number, WeakRef<SeenEvents>>()
whenRead(() => {
  SEEN_BYTES.reset()
  for (const [partition, seen] of measured) {
    const bytes = seen.deref()?.extent.bytes
    if (bytes === undefined) measured.delete(partition)
    else SEEN_BYTES.set({ partition: String(partition) }, bytes)
  }
})

/** Limits on the events that a partition of the facts stage remembers. */
export interface SeenLimits {
  readonly windowMs: number
  readonly exactEventsMax: number
}

/** Events are deduplicated for seven days, as admission does; 2 million exact entries take about 100 MB. */
const LIMITS: SeenLimits = { windowMs: 7 * 24 * 60 * 60 * 1000, exactEventsMax: 2_000_000 }

/**
 * Rebuilds the events that a partition of the facts stage (A) has seen: those that have a record, and those that
 * later stages (T, B, C) still hold. The events of an unfinished batch are not needed: its plan makes the stage
 * read them again.
 */
export async function loadSeenEvents(partition: number, deps: LoadSeenDeps): Promise<SeenEvents> {
  const { windowMs, exactEventsMax } = deps.limits ?? LIMITS
  const toSeen = ({ id, validFromMs, logId, position }: RecordSource): FoundEvent => {
    return { id, position: logId === deps.logId ? position : IN_ANOTHER_LOG, seenAtMs: validFromMs }
  }
  const seen = new SeenEvents({
    windowMs,
    exactEventsMax,
    filterBytesMax: deps.filterBytesMax,
    async find(ids, nowMs) {
      // Held events first, then records: an event that gets its record meanwhile is found in one of them or in both.
      const wanted = new Set(ids.map(idHex))
      const held = await deps.findHeld((id) => wanted.has(id))
      const recorded = await deps.recordSourcesOf(ids, nowMs - windowMs)
      return [...recorded.map(toSeen), ...held.map((event) => ({ ...event, seenAtMs: nowMs }))]
    },
  })
  measured.set(partition, new WeakRef(seen))
  const nowMs = deps.clock()
  // Read first, for the same reason, but remembered last, because these are the youngest events.
  const held = await deps.findHeld((id) => partitionOf(Buffer.from(id, 'hex'), deps.partitions) === partition)
  for await (const source of deps.recordSourcesSince(partition, nowMs - windowMs)) {
    const { id, position, seenAtMs } = toSeen(source)
    seen.remember(id, position, seenAtMs)
  }
  for (const { id, position } of held) seen.remember(id, position, nowMs)
  return seen
}
