import type { ClickHouseClient } from '@clickhouse/client'
import { CHANGES } from '../../streams/changes.js'
import { INVOCATIONS, laneOf, REPLAY_WINDOW_MS } from '../../streams/invocations.js'
import type { Broker } from '../broker/connect.js'
import type { Membership } from '../broker/members.js'
import { logIdOf, type OwnedLog, type OwnedLogs } from '../broker/owned-logs.js'
import { partitionsHeld } from '../broker/partitions.js'
import type { Publisher } from '../broker/publisher.js'
import { admittableBytes, followStreamCapacity, withinStreamCapacity } from '../broker/stream-capacity.js'
import type { Watermark } from '../broker/watermark.js'
import type { PublishEvent } from '../events/publish-event.js'
import type { identityKeysCache } from '../ids/ids.js'
import { untilAvailable } from '../process/main.js'
import { countRecords } from '../records/record-metrics.js'
import { insertsOfLog } from '../store/log-sink.js'
import { storedPairs } from '../store/queries/attribution/tag-values.js'
import { tenantsWithClosed } from '../store/queries/records/closed.js'
import { seenTwice } from '../store/queries/records/seen-twice.js'
import { recordedIds } from '../store/queries/records/sources.js'
import { versionsBefore } from '../store/queries/records/versions.js'
import { insertVersions } from '../store/queries/records/versions-sink.js'
import { ADMISSION_KEYS } from '../store/tables/admission-keys.js'
import { ATTRIBUTIONS } from '../store/tables/attributions.js'
import { CLOSED } from '../store/tables/closed.js'
import { QUARANTINED } from '../store/tables/quarantined.js'
import type { Logger } from '../telemetry/log.js'
import { type ActorDeps, partitionActor } from './actor/partition-actor.js'
import { readPartitions } from './actor/read-partitions.js'
import type { Stage } from './actor/stage.js'
import { type ChangesActorDeps, type ChangesProgress, changesActor } from './changes/changes-actor.js'
import { openReattribution } from './changes/open-reattribution.js'
import { comparisonPublisher, correctionPublisher } from './changes/publish-changes.js'
import type { ReferenceData } from './open-reference-data.js'
import { type OpenStages, openStages } from './open-stages.js'
import { type Announce, announcer } from './records/record-event.js'
import { CLOSED_MAX, lookingForTwins, RoomForMerges } from './sightings/seen-twice.js'
import { ValueLimit, valueWarning } from './tags/value-limit.js'

/** Small batches: the other partitions of this process wait for one at a time, and their tenants are to notice little of a flood. */
const LANE_BATCH_BYTES_MAX = 1024 * 1024

export interface AttributorDeps {
  readonly broker: Broker
  readonly store: ClickHouseClient
  readonly logs: OwnedLogs
  readonly membership: Membership
  readonly member: string
  readonly watermark: Watermark
  readonly reference: ReferenceData
  readonly publish: Publisher['publish']
  readonly publishEvent: PublishEvent
  readonly identityKeyOf: ReturnType<typeof identityKeysCache>
  /** Whether an endpoint of the tenant subscribes to `attribution.materialized`. */
  readonly isSubscribed: (tenantId: string) => boolean
  readonly isToldOfMerges: (tenantId: string) => boolean
  readonly audit: ChangesActorDeps['audit']
  /** Of the stages, those that this process runs. */
  readonly stages: readonly Stage['name'][]
  readonly partitions: number
  readonly invocationsBytesMax: number
  readonly staleMs: number
  readonly onLost: (cause: unknown) => void
  readonly clock: () => number
  readonly log: Logger
}

/**
 * Runs the stages on the partitions that this process owns, and the changes of records where this process owns them, until
 * `signal` aborts.
 *
 * @returns once they run; `stopped` resolves when nothing that does not belong to `logs` is in flight any more
 */
export async function openAttributor(
  deps: AttributorDeps,
  signal: AbortSignal,
): Promise<{ readonly stopped: Promise<unknown> }> {
  const { broker, logs, log } = deps
  const logId = await logIdOf(broker, INVOCATIONS.name)
  const opened = await openStages({ ...deps, logId, logDeps: logs.deps }, signal)
  const announce = announcer(deps)
  const actorDeps = await openActorDeps(deps, logId, announce, signal)

  // A correction must be newer than the version it replaces, which a clock ahead of this one may have dated.
  logs.run(await openChanges(deps, opened, announce), () => Math.max(deps.clock(), deps.watermark.newestPlanned() + 1))
  const stages = opened.stages.filter(({ name }) => deps.stages.includes(name))
  const bytesMax = admittableBytes(deps.invocationsBytesMax)
  const reading = readPartitions(
    { partitions: deps.partitions, held: () => partitionsHeld(broker.manager), log },
    (partition) => {
      const ofLane = partition === laneOf(deps.partitions) ? { batchBytesMax: LANE_BATCH_BYTES_MAX } : {}
      for (const stage of stages) {
        logs.run({ ...partitionActor(stage, partition, actorDeps), ...ofLane, bytesMax, keepMs: REPLAY_WINDOW_MS })
      }
    },
    signal,
  )
  return { stopped: Promise.all([reading, opened.inference.stopped]) }
}

async function openActorDeps(
  { broker, store, reference, publish, publishEvent, clock, log }: AttributorDeps,
  logId: number,
  announce: Announce,
  signal: AbortSignal,
): Promise<ActorDeps> {
  const changesCapacity = await untilAvailable(
    'the log of changes',
    () => followStreamCapacity(broker.manager, CHANGES.name, { log, signal }),
    log,
  )
  const tagValues = new ValueLimit({
    storedPairs: (tenantId, foldedKey, limit) => storedPairs(store, tenantId, foldedKey, limit),
    warn: valueWarning({ publishEvent, clock, log }),
    clock: () => performance.now(),
  })
  const publishChanges = withinStreamCapacity(publish, changesCapacity)
  const lookForTwins = lookingForTwins({
    isWanted: (tenantId) => reference.settingsOf(tenantId).merge_seen_calls,
    room: new RoomForMerges({ fullTenants: () => tenantsWithClosed(store, CLOSED_MAX), clock, log }),
    find: (...question) => seenTwice(store, ...question),
    compare: comparisonPublisher(publishChanges),
  })
  return {
    publish,
    async insert(rows, token, isRepeat, spans) {
      const kept = await tagValues.apply(rows)
      const insert = () => insertVersions(store, kept, `${logId}.${token}`, isRepeat)
      const inserted = await (spans === undefined || rows.length === 0 ? insert() : spans.ofInsert(insert, rows.length))
      countRecords(inserted)
      await lookForTwins(inserted)
      await announce(inserted)
    },
    recordKeys: insertsOfLog(store, ADMISSION_KEYS, logId),
    recordQuarantined: insertsOfLog(store, QUARANTINED, logId),
    async hasRecord(invocations) {
      const ids = invocations.map(({ id }) => id)
      const recorded = await recordedIds(store, ids)
      return ids.map((id) => recorded.has(Buffer.from(id).toString('hex')))
    },
    correct: correctionPublisher(publishChanges, logId),
    log,
  }
}

async function openChanges(
  deps: AttributorDeps,
  { inference, rowDeps, facts, allocation }: OpenStages,
  announce: Announce,
): Promise<OwnedLog<ChangesProgress>> {
  const { broker, store, publish, publishEvent, audit, log } = deps
  const { directory, rules } = deps.reference
  const logId = await logIdOf(broker, CHANGES.name)
  const actor = changesActor({
    publish,
    publishEvent,
    isToldOfMerges: deps.isToldOfMerges,
    versionsBefore: (...args) => versionsBefore(store, ...args),
    slices: await openReattribution({
      broker,
      store,
      publish,
      directory,
      directoryReached: deps.reference.directoryCopy.reached,
      rules,
      rulesReached: deps.reference.rulesCopy.reached,
      rowDeps,
      facts,
      stageB: inference.stage,
      allocation,
    }),
    insert: insertsOfLog(store, ATTRIBUTIONS, logId),
    close: insertsOfLog(store, CLOSED, logId),
    announce,
    audit,
    log,
  })
  return { ...actor, bytesMax: admittableBytes(CHANGES.max_bytes), keepMs: REPLAY_WINDOW_MS }
}
