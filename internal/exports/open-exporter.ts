import type { ClickHouseClient } from '@clickhouse/client'
import { CHECKPOINTS, EXPORT_PLACES, JOBS, TENANTS } from '../../streams/buckets.js'
import { EXPORTERS, EXPORTS } from '../../streams/exports.js'
import { settingsOf, type Tenant } from '../auth/tenant.js'
import type { Broker } from '../broker/connect.js'
import { mirrorBucket } from '../broker/mirror.js'
import { createPublisher } from '../broker/publisher.js'
import { followWatermark } from '../broker/watermark.js'
import { consumeWorkQueue } from '../broker/work-queue.js'
import { eventPublisher } from '../events/publish-event.js'
import type { TenantIds } from '../ids/ids.js'
import { tagFieldOf } from '../records/dimensions.js'
import { thisInstance } from '../residency/residency.js'
import { exportSource } from '../store/queries/exports/export-source.js'
import type { Logger } from '../telemetry/log.js'
import type { BlobStore } from './blobs/blob-store.js'
import type { StoredJob } from './export-job.js'
import { sweepJobs, type WorkerDeps, workOnJob } from './export-worker.js'
import { isQueuedIn, jobQueue } from './queue.js'
import { jobsAtOnce } from './slots.js'
import { waker } from './waiting-exports.js'

export interface OpenExporterDeps
  extends Pick<WorkerDeps, 'perTenant' | 'workloadsOf' | 'costObjectsOf' | 'unitPricesIn'> {
  readonly broker: Broker
  readonly store: ClickHouseClient
  readonly blobs: BlobStore
  readonly instanceRegion: string | null
  readonly idsOf: (tenantId: string) => TenantIds
  /** Called once when a KV watch is lost. */
  readonly onLost: (cause: unknown) => void
  readonly clock: () => number
  readonly log: Logger
}

const SWEEP_EVERY_MS = 30_000

/**
 * The exporter of a process: works on queued jobs and sweeps, until `signal` aborts.
 *
 * @returns once it works; `stopped` resolves when no job is in flight any more
 */
export async function openExporter(
  deps: OpenExporterDeps,
  signal: AbortSignal,
): Promise<{ readonly stopped: Promise<unknown> }> {
  const { broker, blobs, perTenant, onLost, clock, log } = deps
  const tenants = await mirrorBucket<Tenant>(await broker.bucket(TENANTS), onLost)
  const jobs = await broker.bucket(JOBS)
  const watermark = await followWatermark(await broker.bucket(CHECKPOINTS), onLost, clock)
  const { publish } = createPublisher(broker.connection)
  const watched = await mirrorBucket<StoredJob>(jobs, onLost)
  const enqueue = jobQueue(publish, isQueuedIn(broker))
  const working = {
    jobs,
    slots: await broker.bucket(EXPORT_PLACES),
    perTenant,
    wake: waker(watched, enqueue, perTenant),
    source: exportSource(deps.store),
    blobs,
    newestComplete: watermark.renewed,
    findTenant: (tenantId: string) => {
      const tenant = tenants.get(tenantId)
      if (tenant === undefined) return undefined
      const { residency_region, min_cohort, cohort_scope, dimensions } = settingsOf(tenant)
      const personalTags = dimensions.filter(({ personal }) => personal).map(({ key }) => tagFieldOf(key))
      return {
        name: tenant.name,
        residencyRegion: residency_region,
        minCohort: min_cohort,
        cohortScope: cohort_scope,
        personalTags,
      }
    },
    places: [thisInstance(deps.instanceRegion), blobs.place],
    workloadsOf: deps.workloadsOf,
    costObjectsOf: deps.costObjectsOf,
    unitPricesIn: deps.unitPricesIn,
    publishEvent: eventPublisher(publish, deps.idsOf),
    clock,
    log,
  }
  const queue = {
    manager: broker.manager,
    stream: EXPORTS.name,
    consumer: EXPORTERS.durable_name,
    concurrency: jobsAtOnce(perTenant),
    log,
  }
  return {
    stopped: Promise.all([
      sweepJobs({ ...working, watched, enqueue }, SWEEP_EVERY_MS, signal),
      consumeWorkQueue(queue, (work) => workOnJob(work, working, signal), signal),
    ]),
  }
}
