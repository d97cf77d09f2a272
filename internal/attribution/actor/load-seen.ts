import type { ClickHouseClient } from '@clickhouse/client'
import type { JetStreamManager } from '@nats-io/jetstream'
import type { KV } from '@nats-io/kv'
import { INVOCATIONS, invocationsSubject } from '../../../streams/invocations.js'
import { readLog } from '../../broker/log.js'
import { decodeGroup } from '../../invocations/group.js'
import { recordSources } from '../../store/queries/sources.js'
import type { Checkpoint } from './checkpoint.js'
import { SeenEvents } from './seen-events.js'

export interface LoadSeenDeps {
  readonly store: ClickHouseClient
  readonly manager: JetStreamManager
  readonly checkpoints: KV
  readonly clock: () => number
  /** Of the log that is read now. */
  readonly logId: number
}

/** An event is deduplicated for seven days (design section 4). */
const WINDOW_MS = 7 * 24 * 60 * 60 * 1000
/** Before every position of this log. */
const IN_ANOTHER_LOG = { sequence: -1, index: 0 }
const RECORDS_MAX = 4_000_000

/**
 * Rebuilds what a partition of stage A has seen: the events that have a record, and those that stages B and C
 * still hold. What was in the batch under way is in its plan and comes again.
 */
export async function loadSeenEvents(partition: number, deps: LoadSeenDeps): Promise<SeenEvents> {
  const seen = new SeenEvents()
  // First what is held, then what has a record: an event that moves on meanwhile is found in one or both.
  for (const stage of ['b', 'c'] as const) {
    const checkpoint = (await deps.checkpoints.get(`${stage}.${partition}`))?.json<Checkpoint>()
    const subject = invocationsSubject(stage, partition)
    for (let from = (checkpoint?.done ?? 0) + 1; ; ) {
      const range = { stream: INVOCATIONS.name, subject, from, messagesMax: 500, bytesMax: 8 * 1024 * 1024 }
      const entries = await readLog(deps.manager, range)
      const last = entries.at(-1)
      if (last === undefined) break
      for (const { data, sequence } of entries) {
        for (const { id, position } of readable(data, sequence)) seen.remember(id, position)
      }
      from = last.sequence + 1
    }
  }
  const records = recordSources(deps.store, partition, deps.clock() - WINDOW_MS, RECORDS_MAX)
  for await (const { id, logId, position } of records) {
    seen.remember(id, logId === deps.logId ? position : IN_ANOTHER_LOG)
  }
  return seen
}

/** A message that cannot be read is its own stage's to quarantine. */
function readable(data: Uint8Array, sequence: number): ReturnType<typeof decodeGroup> {
  try {
    return decodeGroup(data, sequence)
  } catch {
    return []
  }
}
