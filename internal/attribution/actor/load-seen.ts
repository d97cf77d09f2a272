import type { RecordSource } from '../../store/queries/records/sources.js'
import { type HeldDeps, heldInvocations } from './held-invocations.js'
import { type FoundEvent, IN_ANOTHER_LOG, type SeenEvent, SeenEvents } from './seen-events.js'

export interface LoadSeenDeps extends HeldDeps {
  /** Where a partition's records came from that became valid since an instant, the oldest first. */
  readonly recordSourcesSince: (partition: number, sinceMs: number) => AsyncIterable<RecordSource>
  /** Where events came from that have a record since an instant. */
  readonly recordSourcesOf: (ids: readonly Uint8Array[], sinceMs: number) => Promise<readonly RecordSource[]>
  readonly clock: () => number
  /** Of the log that is read now. */
  readonly logId: number
  readonly limits?: SeenLimits
}

/** How much a partition of stage A remembers. */
export interface SeenLimits {
  readonly windowMs: number
  readonly exactEventsMax: number
}

/** An event is deduplicated for seven days (design section 4); 2 million exact ones take about 100 MB. */
const LIMITS: SeenLimits = { windowMs: 7 * 24 * 60 * 60 * 1000, exactEventsMax: 2_000_000 }

/**
 * Rebuilds what a partition of stage A has seen: the events that have a record, and those that stages B and C
 * still hold. What was in the batch under way is in its plan and comes again.
 */
export async function loadSeenEvents(partition: number, deps: LoadSeenDeps): Promise<SeenEvents> {
  const { windowMs, exactEventsMax } = deps.limits ?? LIMITS
  const toSeen = ({ id, validFromMs, logId, position }: RecordSource): FoundEvent => {
    return { id, position: logId === deps.logId ? position : IN_ANOTHER_LOG, seenAtMs: validFromMs }
  }
  const seen = new SeenEvents({
    windowMs,
    exactEventsMax,
    async find(ids, nowMs) {
      // First what is held, then what has a record: an event that moves on meanwhile is found in one or both.
      const held = await heldEvents(partition, deps, new Set(ids.map(hexOf)))
      const recorded = await deps.recordSourcesOf(ids, nowMs - windowMs)
      return [...recorded.map(toSeen), ...held.map((event) => ({ ...event, seenAtMs: nowMs }))]
    },
  })
  const nowMs = deps.clock()
  // In this order for the same reason; but remembered last, since they are the youngest.
  const held = await heldEvents(partition, deps)
  for await (const source of deps.recordSourcesSince(partition, nowMs - windowMs)) {
    const { id, position, seenAtMs } = toSeen(source)
    seen.remember(id, position, seenAtMs)
  }
  for (const { id, position } of held) seen.remember(id, position, nowMs)
  return seen
}

/** The events that stage A has handed on and that have no record yet. @param wanted hex of their ids; all if absent */
async function heldEvents(
  partition: number,
  deps: HeldDeps,
  wanted?: ReadonlySet<string>,
): Promise<readonly SeenEvent[]> {
  const held: SeenEvent[] = []
  for await (const { id, position } of heldInvocations(partition, deps)) {
    if (wanted === undefined || wanted.has(hexOf(id))) held.push({ id, position })
  }
  return held
}

const hexOf = (id: Uint8Array): string => Buffer.from(id.buffer, id.byteOffset, id.length).toString('hex')
