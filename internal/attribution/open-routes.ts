import type { ClickHouseClient } from '@clickhouse/client'
import { MODEL_ARTEFACTS, MODEL_NAMES, MODELS, POOLS, PRICE_OVERRIDES, REATTRIBUTIONS } from '../../streams/buckets.js'
import { CHANGES } from '../../streams/changes.js'
import type { Broker } from '../broker/connect.js'
import type { Publisher } from '../broker/publisher.js'
import { bucketRecords } from '../broker/records.js'
import { followStreamCapacity, withinStreamCapacity } from '../broker/stream-capacity.js'
import { type WatchedRecords, watchRecords } from '../broker/watched-records.js'
import type { Watermark } from '../broker/watermark.js'
import type { Mutate } from '../http/mutations/mutations.js'
import type { CursorCodec } from '../http/resource/pages.js'
import type { Route } from '../http/route.js'
import type { TenantIds } from '../ids/ids.js'
import { untilAvailable } from '../process/main.js'
import type { Dimension } from '../records/dimensions.js'
import { findAllocationWeights } from '../store/queries/attribution/allocation-weights.js'
import { auditQueue } from '../store/queries/attribution/audit-queue.js'
import { findStatedServices } from '../store/queries/attribution/stated-services.js'
import { traceNeighbours } from '../store/queries/attribution/trace-neighbours.js'
import { factsOfRecord } from '../store/queries/attribution/training-window.js'
import { findAttribution } from '../store/queries/records/attributions.js'
import { closedVersionsOf } from '../store/queries/records/closed.js'
import type { Records } from '../store/queries/records/open-records.js'
import type { Logger } from '../telemetry/log.js'
import { auditRoutes } from './audits/routes.js'
import type { ReattributionJob } from './changes/job.js'
import { changePublisher, slicePublisher } from './changes/publish.js'
import { changeRoutes } from './changes/routes.js'
import type { OpenDirectory } from './directory/open-directory.js'
import { directoryRoutes } from './directory/routes.js'
import { loadModel, ModelCache } from './inference/models/artefacts.js'
import { openModelRoutes } from './inference/models/open-routes.js'
import type { StoredModel } from './inference/models/version.js'
import { allocationPolicy } from './pools/policy.js'
import type { StoredPool } from './pools/pool.js'
import { poolRoutes } from './pools/routes.js'
import { type AttributionRoutesDeps, attributionRoutes } from './records/routes.js'
import { explainByModel } from './stages/b/explain-by-model.js'
import { unknownNameRoutes } from './unknown-names/routes.js'
import { nearestServices } from './unknown-names/unknown-names.js'
import type { StoredModelName } from './valuation/names/name.js'
import { modelNameRoutes } from './valuation/names/routes.js'
import type { StoredOverride } from './valuation/prices/override.js'
import { priceRoutes } from './valuation/prices/routes.js'

export interface OpenAttributionDeps {
  readonly broker: Broker
  readonly store: ClickHouseClient
  readonly records: Pick<Records, 'list' | 'ask'>
  readonly directory: OpenDirectory
  readonly watermark: Watermark
  readonly publish: Publisher['publish']
  readonly mutate: Mutate
  readonly cursors: CursorCodec
  readonly idsOf: (tenantId: string) => TenantIds
  /** The tag keys that a tenant has declared. */
  readonly dimensionsOf: (tenantId: string) => readonly Dimension[]
  /** Called once when a KV watch is lost. */
  readonly onLost: (cause: unknown) => void
  /** Aborts when the process stops. */
  readonly signal: AbortSignal
  readonly clock: () => number
  readonly log: Logger
}

export interface OpenAttribution {
  readonly routes: readonly Route[]
  /** What reads records, for the routes of partners. */
  readonly reads: AttributionRoutesDeps
}

/** The routes of records, their changes, and what decides about them: directory, prices, model names, models and pools. */
export async function openAttributionRoutes(deps: OpenAttributionDeps): Promise<OpenAttribution> {
  const { broker, onLost, records } = deps
  const models = await watchRecords<StoredModel>(await broker.bucket(MODELS), onLost)
  const reads = recordReads(deps, await modelExplainer(deps, models))
  const prices = await watchRecords<StoredOverride>(await broker.bucket(PRICE_OVERRIDES), onLost)
  const names = await watchRecords<StoredModelName>(await broker.bucket(MODEL_NAMES), onLost)
  const pools = await watchRecords<StoredPool>(await broker.bucket(POOLS), onLost)
  const isPool = (tenantId: string, name: string) => allocationPolicy(pools.of(tenantId)).isPool(name)
  return {
    reads,
    routes: [
      ...attributionRoutes(reads),
      ...auditRoutes({
        ...reads,
        queue: (question, signal) => records.ask(question.tenantId, signal, (read) => auditQueue(read, question)),
      }),
      ...(await openChangeRoutes(deps, isPool)),
      ...directoryRoutes({ ...deps, ...deps.directory, isPool }),
      ...priceRoutes({ ...deps, prices }),
      ...(await openModelRoutes(broker, { ...deps, models }, onLost)),
      ...modelNameRoutes({ ...deps, names }),
      ...poolRoutes({
        ...deps,
        pools,
        isService: (...named) => deps.directory.directory.service(...named) !== undefined,
      }),
    ],
  }
}

const recordReads = (
  { store, records, ...deps }: OpenAttributionDeps,
  explainModel: AttributionRoutesDeps['explainModel'],
): AttributionRoutesDeps => ({
  ...deps,
  // One record at a time is asked for: its directory is read through once.
  nearestServices: (tenantId, name) => nearestServices(deps.directory.directory, tenantId).of(name),
  list: records.list,
  find: (...question) => findAttribution(store, ...question),
  closedVersionsOf: (...question) => closedVersionsOf(store, ...question),
  findWeights: (...question) => findAllocationWeights(store, ...question),
  explainModel,
})

/** Explains choices of models by the versions that records cite, and by what the records say of their calls. */
async function modelExplainer({ broker, store, log }: OpenAttributionDeps, models: WatchedRecords<StoredModel>) {
  const artefacts = await broker.objects(MODEL_ARTEFACTS)
  return explainByModel({
    version: models.get,
    versionsOf: models.of,
    models: new ModelCache((version) => loadModel(artefacts, version), EXPLAINING_BYTES_MAX),
    facts: (...record) => factsOfRecord(store, ...record),
    neighbours: (...traces) => traceNeighbours(store, ...traces),
    log,
  })
}
/** Size of the models that a gateway keeps in memory to explain records. */
const EXPLAINING_BYTES_MAX = 64 * 1024 * 1024

/** What writes to the log of changes: people's decisions, and jobs that re-attribute. */
async function openChangeRoutes(
  deps: OpenAttributionDeps,
  isPool: (tenantId: string, name: string) => boolean,
): Promise<readonly Route[]> {
  const { broker, store, publish, log, signal } = deps
  const room = await untilAvailable(
    'the log of changes',
    () => followStreamCapacity(broker.manager, CHANGES.name, { log, signal }),
    log,
  )
  const publishWithinCapacity = withinStreamCapacity(publish, room)
  const names = unknownNameRoutes({
    ...deps,
    ...deps.directory,
    isPool,
    findStated: (...question) => findStatedServices(store, ...question),
    jobs: bucketRecords<ReattributionJob>(await deps.broker.bucket(REATTRIBUTIONS), async () => undefined),
    publishSlice: slicePublisher(publishWithinCapacity),
  })
  const changes = changeRoutes({
    ...deps,
    find: (tenantId, id, atMs) => findAttribution(store, tenantId, id, atMs, signal),
    closedVersionsOf: (tenantId, id, byMs) => closedVersionsOf(store, tenantId, id, byMs, signal),
    publish: changePublisher(publishWithinCapacity),
  })
  return [...changes, ...names]
}
