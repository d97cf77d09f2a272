import type { ClickHouseClient } from '@clickhouse/client'
import { EVENTS } from '../../streams/events.js'
import type { Progress } from '../broker/checkpoint.js'
import type { Broker } from '../broker/connect.js'
import { logIdOf } from '../broker/owned-logs.js'
import type { PlannedLog } from '../broker/planned-log.js'
import { insertsOfLog } from '../store/log-sink.js'
import { eventPlaces } from '../store/queries/event-log.js'
import { EVENT_LOG } from '../store/tables/event-log.js'
import type { Logger } from '../telemetry/log.js'
import { eventLogActor } from './event-log-actor.js'

export interface OpenEventLogDeps {
  readonly broker: Broker
  readonly store: ClickHouseClient
  readonly log: Logger
}

/** The reader of EVENTS that writes the log of events. */
export async function openEventLog({ broker, store, log }: OpenEventLogDeps): Promise<PlannedLog<Progress>> {
  const logId = await logIdOf(broker, EVENTS.name)
  return eventLogActor({
    insert: insertsOfLog(store, EVENT_LOG, logId),
    placesOf: (eventIds) => eventPlaces(store, eventIds),
    logId,
    log,
  })
}
