import type { KV } from '@nats-io/kv'
import { INVOCATIONS, invocationsSubject } from '../../../streams/invocations.js'
import { readCheckpoint } from '../../broker/checkpoint.js'
import type { LogEntry, LogRange } from '../../broker/log.js'
import { decodeGroup } from '../../invocations/group.js'
import type { RecordSource } from '../../store/queries/sources.js'
import type { Checkpoint } from './checkpoint.js'
import { type FoundEvent, IN_ANOTHER_LOG, type SeenEvent, SeenEvents } from './seen-events.js'

export interface LoadSeenDeps {
  readonly readLog: (range: LogRange) => Promise<LogEntry[]>
  readonly checkpoints: KV
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
  deps: LoadSeenDeps,
  wanted?: ReadonlySet<string>,
): Promise<readonly SeenEvent[]> {
  const held: SeenEvent[] = []
  for (const stage of ['b', 'c'] as const) {
    const checkpoint = await readCheckpoint<Checkpoint>(deps.checkpoints, `${stage}.${partition}`)
    const subject = invocationsSubject(stage, partition)
    for (let from = (checkpoint?.done ?? 0) + 1; ; ) {
      const range = { stream: INVOCATIONS.name, subject, from, messagesMax: 500, bytesMax: 8 * 1024 * 1024 }
      const entries = await deps.readLog(range)
      const last = entries.at(-1)
      if (last === undefined) break
      for (const { data, sequence } of entries) {
        for (const { id, position } of readable(data, sequence)) {
          if (wanted === undefined || wanted.has(hexOf(id))) held.push({ id, position })
        }
      }
      from = last.sequence + 1
    }
  }
  return held
}

/** A message that cannot be read is its own stage's to quarantine. */
function readable(data: Uint8Array, sequence: number): ReturnType<typeof decodeGroup> {
  try {
    return decodeGroup(data, sequence)
  } catch {
    return []
  }
}

const hexOf = (id: Uint8Array): string => Buffer.from(id.buffer, id.byteOffset, id.length).toString('hex')
