import { CHANGES } from '../../streams/changes.js'
import { INVOCATIONS, REPLAY_WINDOW_MS } from '../../streams/invocations.js'
import { logIdOf, type OwnedLog, type OwnedLogs } from '../broker/owned-logs.js'
import { partitionsHeld } from '../broker/partitions.js'
import { BATCH_BYTES_MAX } from '../broker/planned-log.js'
import type { GroupPublisher } from '../broker/publisher.js'
import {
  admittableBytes,
  batchBytesWithin,
  batchesAtOnce,
  followStreamCapacity,
  groupsWithinStreamCapacity,
} from '../broker/stream-capacity.js'
import type { Watermark } from '../broker/watermark.js'
import { untilAvailable } from '../process/main.js'
import { countRecords } from '../records/record-metrics.js'
import { insertsOfLog } from '../store/log-sink.js'
import { tenantsWithClosed } from '../store/queries/records/closed.js'
import { seenTwice } from '../store/queries/records/seen-twice.js'
import { recordedIds } from '../store/queries/records/sources.js'
import { insertVersions, versionsBefore } from '../store/queries/records/versions.js'
import { storedPairs } from '../store/queries/stored-values.js'
import { ADMISSION_KEYS } from '../store/tables/admission-keys.js'
import { ATTRIBUTIONS } from '../store/tables/attributions.js'
import { CLOSED } from '../store/tables/closed.js'
import { QUARANTINED } from '../store/tables/quarantined.js'
import { type ActorDeps, partitionActor } from './actor/partition-actor.js'
import { readPartitions } from './actor/read-partitions.js'
import { firstRecent } from './actor/recent-messages.js'
import type { Stage } from './actor/stage.js'
import { type ChangesActorDeps, type ChangesProgress, changesActor } from './changes/changes-actor.js'
import { openReattribution } from './changes/open-reattribution.js'
import { comparisonPublisher, correctionPublisher } from './changes/publish-changes.js'
import { type OpenStages, openStages, type StagesDeps } from './open-stages.js'
import { type AnnounceDeps, announcer } from './records/record-event.js'
import { CLOSED_MAX, MergeCapacity, sameCallFinder } from './sightings/seen-twice.js'
import { LanePace, laneStage, untilWorkedOff } from './stages/lane.js'
import { ValueLimit, valueWarning } from './tags/value-limit.js'

/** The events of other tenants wait for a batch of the lane. */
const LANE_BATCH_BYTES_MAX = 1024 * 1024

export interface AttributorDeps
  extends Omit<StagesDeps, 'logId' | 'logDeps' | 'watermark'>,
    GroupPublisher,
    AnnounceDeps {
  readonly logs: OwnedLogs
  readonly watermark: Watermark
  readonly subscribesToMerges: ChangesActorDeps['subscribesToMerges']
  readonly audit: ChangesActorDeps['audit']
  /** Of the stages, those that this process runs. */
  readonly stages: readonly Stage['name'][]
  readonly invocationsBytesMax: number
}

/**
 * Runs the stages on the partitions that this process owns, and the changes of records where this process owns them,
 * until `signal` aborts.
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
  const actorDeps = await openActorDeps(deps, logId, signal)

  // A correction must be newer than the version it replaces, which a clock ahead of this one may have dated.
  logs.run(await openChanges(deps, opened), () => Math.max(deps.clock(), deps.watermark.newestPlanned() + 1))
  const stages = opened.stages.filter(({ name }) => deps.stages.includes(name))
  const bytesMax = admittableBytes(deps.invocationsBytesMax)
  const batches = batchesAtOnce(deps.partitions)
  const batchBytesMax = Math.min(BATCH_BYTES_MAX, batchBytesWithin(deps.invocationsBytesMax, batches))
  if (deps.stages.includes('a')) {
    const pace = new LanePace((tenantId) => opened.facts.mappingOf(tenantId).isCostly)
    const lane = laneStage({
      partitions: deps.partitions,
      untilWorkedOff: async () =>
        pace.note(await untilWorkedOff({ ...logs.deps, manager: broker.manager }, deps.partitions)),
    })
    const actor = partitionActor(lane, 0, actorDeps)
    logs.run({
      ...actor,
      cut: (messages) => pace.cut(messages),
      batchBytesMax: Math.min(LANE_BATCH_BYTES_MAX, batchBytesMax),
      bytesMax,
      keepMs: REPLAY_WINDOW_MS,
    })
  }
  const reading = readPartitions(
    { partitions: deps.partitions, held: () => partitionsHeld(broker.manager, deps.partitions), log },
    (partition) => {
      for (const stage of stages) {
        const actor = partitionActor(stage, partition, actorDeps)
        logs.run({ ...actor, batchBytesMax, bytesMax, keepMs: REPLAY_WINDOW_MS, neededFrom: firstRecent })
      }
    },
    signal,
  )
  return { stopped: Promise.all([reading, opened.inference.stopped]) }
}

async function openActorDeps(deps: AttributorDeps, logId: number, signal: AbortSignal): Promise<ActorDeps> {
  const { broker, store, reference, partitions, publish, publishTogether, publishEvent, clock, log } = deps
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
  const changesPublisher = groupsWithinStreamCapacity(deps, changesCapacity)
  const findSameCalls = sameCallFinder({
    isWanted: (tenantId) => reference.settingsOf(tenantId).merge_seen_calls,
    capacity: new MergeCapacity({ fullTenants: () => tenantsWithClosed(store, CLOSED_MAX), clock, log }),
    find: (...question) => seenTwice(store, ...question),
    compare: comparisonPublisher(changesPublisher),
  })
  const announce = announcer(deps)
  return {
    partitions,
    publish,
    publishTogether,
    async insert(rows, token, isRepeat, spans) {
      const kept = await tagValues.apply(rows)
      const insert = () => insertVersions(store, kept, `${logId}.${token}`, isRepeat)
      const inserted = await (spans === undefined || rows.length === 0 ? insert() : spans.ofInsert(insert, rows.length))
      countRecords(inserted)
      await findSameCalls(inserted)
      await announce(inserted)
    },
    recordKeys: insertsOfLog(store, ADMISSION_KEYS, logId),
    recordQuarantined: insertsOfLog(store, QUARANTINED, logId),
    async hasRecord(invocations) {
      const ids = invocations.map(({ id }) => id)
      const recorded = await recordedIds(store, ids)
      return ids.map((id) => recorded.has(Buffer.from(id).toString('hex')))
    },
    correct: correctionPublisher(changesPublisher, logId),
    log,
  }
}

async function openChanges(deps: AttributorDeps, opened: OpenStages): Promise<OwnedLog<ChangesProgress>> {
  const { store } = deps
  const logId = await logIdOf(deps.broker, CHANGES.name)
  const actor = changesActor({
    ...deps,
    versionsBefore: (...args) => versionsBefore(store, ...args),
    slices: await openReattribution(deps, opened),
    insert: insertsOfLog(store, ATTRIBUTIONS, logId),
    close: insertsOfLog(store, CLOSED, logId),
  })
  return { ...actor, bytesMax: admittableBytes(CHANGES.max_bytes), keepMs: REPLAY_WINDOW_MS }
}
