import type { ClickHouseClient } from '@clickhouse/client'
import { OBSERVATIONS, OBSERVATIONS_CHECKPOINT, OBSERVATIONS_OF_ALL } from '../../../streams/observations.js'
import { quarantineSubject } from '../../../streams/quarantine.js'
import type { Progress } from '../../broker/checkpoint.js'
import type { Broker } from '../../broker/connect.js'
import type { StoredEntry } from '../../broker/log.js'
import { logIdOf, type OwnedLog } from '../../broker/owned-logs.js'
import type { PlannedLog } from '../../broker/planned-log.js'
import type { GroupPublisher } from '../../broker/publisher.js'
import { type Poison, poisonReason, quarantine } from '../../broker/quarantine.js'
import { insertsOfLog } from '../../store/log-sink.js'
import { type ObservationSource, observationSources } from '../../store/queries/reports/observations.js'
import { OBSERVATIONS_TABLE, type ObservationRow } from '../../store/tables/observations.js'
import type { Logger } from '../../telemetry/log.js'
import { type AdmittedObservation, decodeObservations } from './observation-codec.js'

export interface ObservationsActorDeps extends GroupPublisher {
  /** Keeps rows once for a token. */
  readonly insert: (rows: readonly ObservationRow[], token: string) => Promise<void>
  /** Positions of the stored observations with these event ids, across tenants. */
  readonly sourcesOf: (eventIds: readonly string[]) => Promise<readonly ObservationSource[]>
  /** Of the stream that is read now: when it was created, seconds since the epoch. */
  readonly logId: number
  readonly log: Logger
}

/**
 * Moves observations from the stream OBSERVATIONS to the read model, each once: a batch by its token, and an event id
 * of a tenant by its first arrival.
 */
export function observationsActor(deps: ObservationsActorDeps): PlannedLog<Progress> {
  return {
    key: OBSERVATIONS_CHECKPOINT,
    stream: OBSERVATIONS.name,
    subject: OBSERVATIONS_OF_ALL,
    initial: { done: 0 },
    async open() {
      return async (entries, extent, _before, planned) => {
        const { observations, poison } = decoded(entries)
        const rows = (await withoutKnown(observations, deps)).map((observation) => toRow(observation, deps.logId))
        return {
          plan: planned ?? extent,
          after: { done: extent.last },
          size: observations.length,
          inserts: rows.length > 0,
          async applyEffects() {
            for (const { id, reason } of poison) {
              deps.log.error({ id, reason }, 'quarantined an unreadable observation')
            }
            await quarantine(deps, quarantineSubject('observations'), poison)
            await deps.insert(rows, `observations.${extent.first}-${extent.last}`)
          },
        }
      }
    },
  }
}

function decoded(entries: readonly StoredEntry[]) {
  const observations: AdmittedObservation[] = []
  const poison: Poison[] = []
  for (const { sequence, subject: log, messageId, data } of entries) {
    try {
      observations.push(...decodeObservations(data, sequence))
    } catch (cause) {
      const reason = poisonReason('unreadable_message', cause)
      poison.push({ id: `observations.${sequence}`, data, reason, log, messageId })
    }
  }
  return { observations, poison }
}

/**
 * Drops observations that the table holds from another position, and repeats within the batch. Rows stored from the
 * same position are from an earlier attempt at this batch, and must be written identically.
 */
async function withoutKnown(
  observations: readonly AdmittedObservation[],
  { sourcesOf, logId }: ObservationsActorDeps,
): Promise<AdmittedObservation[]> {
  if (observations.length === 0) return []
  const first = new Map<string, string>()
  for (const source of await sourcesOf([...new Set(observations.map(({ eventId }) => eventId))])) {
    first.set(nameOf(source), placeOf(source.logId, source))
  }
  return observations.filter((observation) => {
    const name = nameOf(observation)
    const place = placeOf(logId, observation)
    const known = first.get(name)
    if (known === undefined) first.set(name, place)
    return known === undefined || known === place
  })
}

const nameOf = ({ tenantId, eventId }: Pick<AdmittedObservation, 'tenantId' | 'eventId'>): string =>
  `${eventId} ${tenantId}`

const placeOf = (logId: number, { position }: Pick<AdmittedObservation, 'position'>): string =>
  `${logId}.${position.sequence}.${position.index}`

const toRow = (observation: AdmittedObservation, logId: number): ObservationRow => ({
  tenantId: observation.tenantId,
  id: observation.id,
  eventId: observation.eventId,
  type: observation.type,
  source: observation.source,
  occurredAtMs: observation.occurredAtMs,
  receivedAtMs: observation.receivedAtMs,
  principal: observation.principal,
  traceId: observation.traceId ?? '',
  data: observation.data,
  sourceLog: logId,
  sourceSequence: observation.position.sequence,
  sourceIndex: observation.position.index,
})

/** The log of observations with the actor that moves them to the read model. */
export async function openObservations({
  broker,
  store,
  publish,
  publishTogether,
  bytesMax,
  log,
}: Pick<ObservationsActorDeps, keyof GroupPublisher | 'log'> & {
  readonly broker: Broker
  readonly store: ClickHouseClient
  /** Of the stream OBSERVATIONS. */
  readonly bytesMax: number
}): Promise<OwnedLog<Progress>> {
  const logId = await logIdOf(broker, OBSERVATIONS.name)
  const actor = observationsActor({
    publish,
    publishTogether,
    insert: insertsOfLog(store, OBSERVATIONS_TABLE, logId),
    sourcesOf: (eventIds) => observationSources(store, eventIds),
    logId,
    log,
  })
  return { ...actor, bytesMax, keepMs: undefined }
}
