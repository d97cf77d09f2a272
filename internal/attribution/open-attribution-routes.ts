import type { ClickHouseClient } from '@clickhouse/client'
import {
  DIRECTORY_IMPORTS,
  MODEL_ARTEFACTS,
  MODEL_NAMES,
  MODEL_SHADOWS,
  MODELS,
  OVERRIDE_PREVIEWS,
  POOLS,
  PRICE_OVERRIDES,
  REATTRIBUTIONS,
  SCIM_GROUPS,
  USAGE_CONVENTIONS,
} from '../../streams/buckets.js'
import { CHANGES } from '../../streams/changes.js'
import type { AuditSink } from '../auth/audit-entry.js'
import type { Broker } from '../broker/connect.js'
import type { Publisher } from '../broker/publisher.js'
import { bucketRecords } from '../broker/records.js'
import { followStreamCapacity, withinStreamCapacity } from '../broker/stream-capacity.js'
import { type WatchedRecords, watchRecords } from '../broker/watched-records.js'
import type { Watermark } from '../broker/watermark.js'
import { directoryRoutes } from '../directory/directory-routes.js'
import type { ImportJob } from '../directory/file/directory-file-job.js'
import { directoryFileRoutes } from '../directory/file/directory-file-routes.js'
import type { StoredRule } from '../directory/mapping/mapping-rule.js'
import { mappingRoutes } from '../directory/mapping/mapping-rule-routes.js'
import type { OpenDirectory } from '../directory/open-directory.js'
import { GroupIndex, type ScimGroup } from '../directory/scim/scim-group.js'
import type { ScimDeps } from '../directory/scim/scim-route.js'
import { scimRoutes } from '../directory/scim/scim-routes.js'
import type { Mutate } from '../http/mutations/mutations.js'
import type { ResidencyDeps } from '../http/residency-guard.js'
import type { CursorCodec } from '../http/resource/pages.js'
import type { Route } from '../http/route.js'
import type { TenantIds } from '../ids/ids.js'
import { loadModel, ModelCache } from '../inference/models/artefacts.js'
import { modelRoutes } from '../inference/models/model-routes.js'
import type { StoredModel } from '../inference/models/model-version.js'
import type { StoredShadow } from '../inference/models/shadow.js'
import { untilAvailable } from '../process/main.js'
import type { Dimension } from '../records/dimensions.js'
import { refusalOfCrossing, thisInstance } from '../residency/residency.js'
import { findAllocationWeights } from '../store/queries/attribution/allocation-weights.js'
import { auditQueue } from '../store/queries/attribution/audit-queue.js'
import { findStatedServices } from '../store/queries/attribution/stated-services.js'
import { traceNeighbours } from '../store/queries/attribution/trace-neighbours.js'
import { factsOfRecord } from '../store/queries/attribution/training-window.js'
import { listAnswers } from '../store/queries/audit-log.js'
import { readVersions } from '../store/queries/records/attributions.js'
import { mergedInto } from '../store/queries/records/merged.js'
import type { Records } from '../store/queries/records/open-records.js'
import { selectedOwners, versionsClosedByPeople } from '../store/queries/records/selected-records.js'
import { similarRecords } from '../store/queries/records/similar.js'
import type { Logger } from '../telemetry/log.js'
import type { StoredConvention } from '../valuation/conventions/convention.js'
import { conventionRoutes } from '../valuation/conventions/convention-routes.js'
import { modelNameRoutes } from '../valuation/names/model-name-routes.js'
import type { StoredModelName } from '../valuation/names/name.js'
import type { StoredOverride } from '../valuation/prices/override.js'
import { priceRoutes } from '../valuation/prices/price-routes.js'
import { auditRoutes } from './audits/audit-queue-routes.js'
import { changePublisher, slicePublisher } from './changes/publish-changes.js'
import type { ReattributionJob } from './changes/reattribution-job.js'
import { changeRoutes } from './changes/reattribution-routes.js'
import { conventionJobRoutes } from './convention-jobs/convention-job-routes.js'
import { mappingJobRoutes } from './mapping-jobs/mapping-job-routes.js'
import { type OverridePreview, overrideRoutes } from './overrides/override-routes.js'
import type { StoredPool } from './pools/pool.js'
import { WatchedPools } from './pools/pool-policy.js'
import { poolRoutes } from './pools/pool-routes.js'
import { reattributionRoutes } from './reattributions/reattribution-routes.js'
import { type AttributionRoutesDeps, attributionRoutes } from './records/record-routes.js'
import { explainByModel } from './stages/b/explain-by-model.js'
import { NearestServices } from './unknown-names/nearest-services.js'
import { unknownNameRoutes } from './unknown-names/unknown-name-routes.js'

export interface OpenAttributionDeps extends ResidencyDeps {
  readonly broker: Broker
  readonly store: ClickHouseClient
  readonly records: Pick<Records, 'list' | 'ask'>
  readonly directory: OpenDirectory
  readonly rules: WatchedRecords<StoredRule>
  readonly watermark: Watermark
  readonly publish: Publisher['publish']
  readonly mutate: Mutate
  readonly auditSink: AuditSink
  readonly cursors: CursorCodec
  readonly idsOf: (tenantId: string) => TenantIds
  /** The tag keys that a tenant has declared. */
  readonly dimensionsOf: (tenantId: string) => readonly Dimension[]
  /** Names of a tenant's credentials, by id. */
  readonly credentialNames: AttributionRoutesDeps['credentialNames']
  readonly baseUrl: string
  readonly endSignIns: ScimDeps['endSignIns']
  readonly prepareLeaving: ScimDeps['prepareLeaving']
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

/**
 * The routes of records, their changes, and what decides about them: directory, prices, model names, models and pools.
 */
export async function openAttributionRoutes(deps: OpenAttributionDeps): Promise<OpenAttribution> {
  const { broker, onLost, records, rules } = deps
  const models = await watchRecords<StoredModel>(await broker.bucket(MODELS), onLost)
  const nearestServices = new NearestServices(deps.directory.directory)
  const reads = recordReads(deps, nearestServices, await modelExplainer(deps, models))
  const prices = await watchRecords<StoredOverride>(await broker.bucket(PRICE_OVERRIDES), onLost)
  const names = await watchRecords<StoredModelName>(await broker.bucket(MODEL_NAMES), onLost)
  const policies = new WatchedPools()
  const pools = await watchRecords<StoredPool>(await broker.bucket(POOLS), onLost, (...change) =>
    policies.apply(...change),
  )
  const conventions = await watchRecords<StoredConvention>(await broker.bucket(USAGE_CONVENTIONS), onLost)
  const groupIndex = new GroupIndex()
  const groups = await watchRecords<ScimGroup>(await broker.bucket(SCIM_GROUPS), onLost, (id, group) =>
    groupIndex.apply(id, group),
  )
  const imports = bucketRecords<ImportJob>(await broker.bucket(DIRECTORY_IMPORTS), async () => undefined)
  const shadows = await watchRecords<StoredShadow>(await broker.bucket(MODEL_SHADOWS), onLost)
  // For thousands of names at once.
  const isPool = (tenantId: string, name: string) => policies.of(tenantId).isPool(name)
  return {
    reads,
    routes: [
      ...attributionRoutes(reads),
      ...auditRoutes({
        ...reads,
        queue: (question, signal) => records.ask(question.tenantId, signal, (read) => auditQueue(read, question)),
      }),
      ...(await openChangeRoutes(deps, nearestServices, isPool, { rules, conventions, pools, prices })),
      ...mappingRoutes({ ...deps, isPool }),
      ...directoryRoutes({ ...deps, ...deps.directory, isPool }),
      ...directoryFileRoutes({ ...deps, ...deps.directory, isPool, imports }),
      ...scimRoutes({ ...deps, ...deps.directory, groups, groupIndex }),
      ...priceRoutes({ ...deps, prices }),
      ...modelRoutes({ ...deps, models, shadowsOf: shadows.of }),
      ...modelNameRoutes({ ...deps, names }),
      ...conventionRoutes({ ...deps, conventions }),
      ...poolRoutes({
        ...deps,
        pools,
        isService: (...named) => deps.directory.directory.serviceEntry(...named) !== undefined,
      }),
    ],
  }
}

const recordReads = (
  { store, records, ...deps }: OpenAttributionDeps,
  nearestServices: NearestServices,
  explainModel: AttributionRoutesDeps['explainModel'],
): AttributionRoutesDeps => ({
  ...deps,
  nearestServices: async (tenantId, name) => (await nearestServices.of(tenantId)).of(name),
  list: records.list,
  readVersions: (...question) => readVersions(store, ...question),
  mergedInto: (...question) => mergedInto(store, ...question),
  similar: (question, signal) =>
    records.ask(question.tenantId, signal, (read) => similarRecords(read, question, signal)),
  findWeights: (...question) => findAllocationWeights(store, ...question),
  explainModel,
})

/** Explains choices of models by the versions that records cite, and by what the records say of their calls. */
async function modelExplainer(
  { broker, store, directory, log }: OpenAttributionDeps,
  models: WatchedRecords<StoredModel>,
) {
  const artefacts = await broker.objects(MODEL_ARTEFACTS)
  return explainByModel({
    version: models.get,
    versionsOf: models.of,
    models: new ModelCache((version) => loadModel(artefacts, version), EXPLAINING_BYTES_MAX),
    facts: (...record) => factsOfRecord(store, ...record),
    neighbours: (...traces) => traceNeighbours(store, ...traces),
    directory: directory.directory,
    log,
  })
}
/** Size of the models that a gateway keeps in memory to explain records. */
const EXPLAINING_BYTES_MAX = 64 * 1024 * 1024

/** What writes to the log of changes: people's decisions, and jobs that re-attribute. */
async function openChangeRoutes(
  deps: OpenAttributionDeps,
  nearestServices: NearestServices,
  isPool: (tenantId: string, name: string) => boolean,
  watched: {
    readonly rules: WatchedRecords<StoredRule>
    readonly conventions: WatchedRecords<StoredConvention>
    readonly pools: WatchedRecords<StoredPool>
    readonly prices: WatchedRecords<StoredOverride>
  },
): Promise<readonly Route[]> {
  const { broker, store, publish, log, signal } = deps
  const capacity = await untilAvailable(
    'the log of changes',
    () => followStreamCapacity(broker.manager, CHANGES.name, { log, signal }),
    log,
  )
  const publishWithinCapacity = withinStreamCapacity(publish, capacity)
  const jobs = bucketRecords<ReattributionJob>(await broker.bucket(REATTRIBUTIONS), async () => undefined)
  const publishSlice = slicePublisher(publishWithinCapacity)
  const names = unknownNameRoutes({
    ...deps,
    ...deps.directory,
    isPool,
    nearestServices,
    findStated: (...question) => findStatedServices(store, ...question),
    jobs,
    publishSlice,
  })
  const refusalToShow = (tenantId: string) =>
    refusalOfCrossing(deps.residencyRegionOf(tenantId), [thisInstance(deps.instanceRegion)])
  const overrides = overrideRoutes({
    ...deps,
    refusalToShow,
    selectedOwners: (selection, caller) =>
      deps.records.ask(selection.tenantId, signal, (read) => selectedOwners(read, selection, caller, signal)),
    countReplaced: (tenantId) => versionsClosedByPeople(store, tenantId),
    previews: bucketRecords<OverridePreview>(await broker.bucket(OVERRIDE_PREVIEWS), async () => undefined),
    jobs,
    publishSlice,
  })
  const changes = changeRoutes({
    ...deps,
    readVersions: (tenantId, id) => readVersions(store, tenantId, id, signal),
    publish: changePublisher(publishWithinCapacity),
  })
  const mapping = mappingJobRoutes({ ...deps, ...watched, isPool, refusalToShow, jobs, publishSlice })
  const usage = conventionJobRoutes({ ...deps, ...watched, refusalToShow, jobs, publishSlice })
  const answers = reattributionRoutes({
    ...deps,
    ...deps.directory,
    ...watched,
    isPool,
    refusalToShow,
    jobs,
    publishSlice,
    listAnswers: (...question) => listAnswers(store, ...question),
  })
  return [...changes, ...names, ...overrides, ...mapping, ...usage, ...answers]
}
