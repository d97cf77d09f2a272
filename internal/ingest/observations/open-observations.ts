import type { ClickHouseClient } from '@clickhouse/client'
import { OBSERVATIONS } from '../../../streams/observations.js'
import type { Progress } from '../../broker/checkpoint.js'
import type { Broker } from '../../broker/connect.js'
import { logIdOf, type OwnedLog } from '../../broker/owned-logs.js'
import type { Publisher } from '../../broker/publisher.js'
import { insertsOfLog } from '../../store/log-sink.js'
import { observationSources } from '../../store/queries/reports/observations.js'
import { OBSERVATIONS_TABLE } from '../../store/tables/observations.js'
import type { Logger } from '../../telemetry/log.js'
import { observationsActor } from './observation-actor.js'

export interface OpenObservationsDeps {
  readonly broker: Broker
  readonly store: ClickHouseClient
  readonly publish: Publisher['publish']
  /** Of the stream OBSERVATIONS. */
  readonly bytesMax: number
  readonly log: Logger
}

/** The log of observations with the actor that moves them to the read model. */
export async function openObservations(deps: OpenObservationsDeps): Promise<OwnedLog<Progress>> {
  const { broker, store, publish, bytesMax, log } = deps
  const logId = await logIdOf(broker, OBSERVATIONS.name)
  const actor = observationsActor({
    publish,
    insert: insertsOfLog(store, OBSERVATIONS_TABLE, logId),
    sourcesOf: (eventIds) => observationSources(store, eventIds),
    logId,
    log,
  })
  return { ...actor, bytesMax, keepMs: undefined }
}
