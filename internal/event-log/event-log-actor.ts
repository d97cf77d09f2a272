import type { ClickHouseClient } from '@clickhouse/client'
import { EVENT_LOG_CHECKPOINT, EVENTS, EVENTS_OF_ALL } from '../../streams/events.js'
import type { Progress } from '../broker/checkpoint.js'
import type { Broker } from '../broker/connect.js'
import type { StoredEntry } from '../broker/log.js'
import { logIdOf } from '../broker/owned-logs.js'
import type { PlannedLog } from '../broker/planned-log.js'
import { envelopeText } from '../events/event.js'
import type { EventType } from '../events/event-contract.js'
import { LOGGED_TYPES } from '../events/readers.js'
import { insertsOfLog } from '../store/log-sink.js'
import { type EventPlace, eventPlaces } from '../store/queries/event-log.js'
import { EVENT_LOG, type EventRow } from '../store/tables/event-log.js'
import type { Logger } from '../telemetry/log.js'

export interface EventLogDeps {
  /** Inserts rows; a repeat with the same token changes nothing. */
  readonly insert: (rows: readonly EventRow[], token: string) => Promise<void>
  /** Where the stored events with these ids came from. */
  readonly placesOf: (eventIds: readonly string[]) => Promise<ReadonlyMap<string, EventPlace>>
  /** When EVENTS was created, seconds since the epoch. */
  readonly logId: number
  readonly log: Logger
}

/**
 * Nobody waits for the log of events, and most of what it passes over is `attribution.materialized`: so it reads once
 * per second.
 */
const PACE_MS = 1_000

/**
 * Copies events from the stream EVENTS to the log of events in the read model, each once: a batch by its token, and an
 * event by the id that a repeat shares with it. `attribution.materialized`, one per record, is left out: the record
 * itself shows it.
 */
export const eventLogActor = ({ insert, placesOf, logId, log }: EventLogDeps): PlannedLog<Progress> => ({
  key: EVENT_LOG_CHECKPOINT,
  stream: EVENTS.name,
  subject: EVENTS_OF_ALL,
  initial: { done: 0 },
  paceMs: PACE_MS,
  async open() {
    return async (entries, extent, before, planned) => {
      logGap(entries, before.done, log)
      const events = entries.flatMap((entry) => rowOf(entry, logId, log))
      const rows = await withoutKnown(events, placesOf)
      return {
        plan: planned ?? extent,
        after: { done: extent.last },
        size: entries.length,
        inserts: rows.length > 0,
        applyEffects: () => insert(rows, `event-log.${extent.first}-${extent.last}`),
      }
    }
  },
})

/** EVENTS discards its oldest messages by age and size, read or not. */
function logGap([first]: readonly StoredEntry[], done: number, log: Logger): void {
  const lost = (first?.sequence ?? 0) - 1 - done
  if (done > 0 && lost > 0) {
    log.error(
      { lost, from_sequence: done + 1 },
      'stream EVENTS discarded events (size or age limit) before they were read; the log of events will not list them',
    )
  }
}

function rowOf({ sequence, subject, storedAt, messageId, data }: StoredEntry, logId: number, log: Logger): EventRow[] {
  const [, tenantId = '', ...rest] = subject.split('.')
  const type = rest.join('.')
  if (!LOGGED_TYPES.includes(type as EventType)) return []
  const envelope = envelopeText(Buffer.from(data).toString(), { sequence, createdAt: storedAt, isReplayed: false })
  if (envelope === undefined) {
    log.error({ sequence, subject }, 'skipped an undecodable event message')
    return []
  }
  const createdAtMs = Date.parse(storedAt)
  return [{ tenantId, type, eventId: messageId, createdAtMs, envelope, sourceLog: logId, sourceSequence: sequence }]
}

/**
 * Drops events that the table holds from another place, and repeats within the batch. Rows stored from the same place
 * are from an earlier attempt at this batch, and must be written identically.
 */
async function withoutKnown(events: readonly EventRow[], placesOf: EventLogDeps['placesOf']): Promise<EventRow[]> {
  if (events.length === 0) return []
  const first = new Map(await placesOf([...new Set(events.map(({ eventId }) => eventId))]))
  return events.filter(({ eventId, sourceLog: log, sourceSequence: sequence }) => {
    const known = first.get(eventId)
    if (known === undefined) first.set(eventId, { log, sequence })
    return known === undefined || (known.log === log && known.sequence === sequence)
  })
}

/** The reader of EVENTS that writes the log of events. */
export async function openEventLog(
  broker: Broker,
  store: ClickHouseClient,
  log: Logger,
): Promise<PlannedLog<Progress>> {
  const logId = await logIdOf(broker, EVENTS.name)
  return eventLogActor({
    insert: insertsOfLog(store, EVENT_LOG, logId),
    placesOf: (eventIds) => eventPlaces(store, eventIds),
    logId,
    log,
  })
}
