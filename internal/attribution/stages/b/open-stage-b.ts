import type { ClickHouseClient } from '@clickhouse/client'
import { DEGRADATIONS, MODEL_ARTEFACTS, MODEL_SHADOWS, MODELS } from '../../../../streams/buckets.js'
import type { Broker } from '../../../broker/connect.js'
import type { Membership } from '../../../broker/members.js'
import { followMirrorLag } from '../../../broker/mirror-lag.js'
import type { Watermark } from '../../../broker/watermark.js'
import type { Directory } from '../../../directory/directory.js'
import type { PublishEvent } from '../../../events/publish-event.js'
import { announceChanges } from '../../../inference/models/announce-changes.js'
import { loadModel, ModelCache, recheckFaults } from '../../../inference/models/artefacts.js'
import type { StoredModel } from '../../../inference/models/model-version.js'
import { measureServing, openServingBoard, type ServingBoard } from '../../../inference/models/serving-board.js'
import { countShadow } from '../../../inference/models/shadow.js'
import {
  resolvedClassesByPrincipal,
  resolvedClassesOfTraces,
} from '../../../store/queries/attribution/resolved-classes.js'
import { traceNeighbours } from '../../../store/queries/attribution/trace-neighbours.js'
import type { Logger } from '../../../telemetry/log.js'
import type { Stage } from '../../actor/stage.js'
import type { ReferenceData } from '../../open-reference-data.js'
import type { RowDeps } from '../../records/row.js'
import { Baseline } from './baseline.js'
import { Inferences } from './inferences.js'
import { stageB } from './stage-b.js'

export interface InferenceDeps {
  readonly broker: Broker
  readonly store: ClickHouseClient
  /** The live attributors. */
  readonly membership: Membership
  /** The name of this attributor. */
  readonly member: string
  readonly reference: ReferenceData
  readonly watermark: Pick<Watermark, 'latest'>
  readonly publishEvent: PublishEvent
  /** The lag at which the mirror of the model registry counts as stale. */
  readonly staleMs: number
  readonly clock: () => number
  readonly onLost: (cause: unknown) => void
  readonly log: Logger
}

/**
 * The inference stage of an attributor, with its serving models and the events about changes of each tenant's serving
 * state.
 */
export interface OpenInference {
  readonly board: ServingBoard
  /** @param directory another one, to try it out */
  stage(rowDeps: Omit<RowDeps, 'isIndexStale'>, directory?: Directory): Stage
  /** Resolves when the signal has aborted and all work in flight has ended. */
  readonly stopped: Promise<unknown>
}

export async function openInference(deps: InferenceDeps, signal: AbortSignal): Promise<OpenInference> {
  const { broker, store, membership, member, reference, clock, log, staleMs } = deps
  const models = await broker.bucket(MODELS)
  const board = await openServingBoard({
    models,
    degradations: await broker.bucket(DEGRADATIONS),
    isEnabled: (tenantId) => reference.settingsOf(tenantId).stage_b_enabled,
    member,
    clock,
    onLost: deps.onLost,
  })
  measureServing(board, reference.tenantIds)
  reference.onTenantChange(board.settingsChanged)
  const mirrorLag = await followMirrorLag(models, board, { clock, log, staleMs }, signal)
  const artefacts = await broker.objects(MODEL_ARTEFACTS)
  const shadows = await broker.bucket(MODEL_SHADOWS)
  const load = (version: StoredModel) => loadModel(artefacts, version)
  const owns = (key: string): boolean => membership.owns(key)

  const announcing = announceChanges({ ...deps, board, tenantIds: reference.tenantIds, owns }, signal)
  membership.onChange(announcing.recheckAll)
  const rechecking = recheckFaults({ board, load, owns }, signal)

  const ticks = (): number => performance.now()
  const inference = new Inferences({
    board,
    models: new ModelCache(load),
    isLive: (name) => membership.live().includes(name),
    member,
    clocks: { wall: ticks, processor: processorMs },
    log,
  })
  const baseline = new Baseline({
    byPrincipal: (window) => resolvedClassesByPrincipal(store, window),
    ofTraces: (window, traceIds) => resolvedClassesOfTraces(store, window, traceIds),
  })
  return {
    board,
    stage: (rowDeps, directory = reference.directory) =>
      stageB({
        ...rowDeps,
        isIndexStale: () => mirrorLag.lagMs() > staleMs || reference.directoryCopy.isIndexStale(),
        board,
        inference,
        baseline,
        directory,
        completeAsOf: deps.watermark.latest,
        ticks,
        neighbours: (window, traceIds, ofEachMax) => traceNeighbours(store, window, traceIds, ofEachMax),
        countShadow: (shadow) => countShadow(shadows, shadow),
        log,
      }),
    stopped: Promise.all([announcing.stopped, rechecking]),
  }
}

function processorMs(): number {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1_000
}
