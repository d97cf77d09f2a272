import { JOBS } from '../../streams/buckets.js'
import type { Broker } from '../broker/connect.js'
import type { Publisher } from '../broker/publisher.js'
import { type WatchedRecords, watchRecords } from '../broker/watched-records.js'
import type { MutationRequest, Reply } from '../http/mutations/mutation.js'
import type { Mutate } from '../http/mutations/mutations.js'
import { invalid } from '../http/mutations/read-body.js'
import { pageOfAll, readPage } from '../http/resource/collection.js'
import { noSuch, refusalOfId } from '../http/resource/own-id.js'
import type { CursorCodec } from '../http/resource/pages.js'
import type { Route } from '../http/route.js'
import type { TenantIds } from '../ids/ids.js'
import { type Problem, problem } from '../problems/problem-catalogue.js'
import type { Dimension } from '../records/dimensions.js'
import { type Place, type ResidencyRegion, refusalOfCrossing, thisInstance } from '../residency/residency.js'
import { type DownloadRouteDeps, downloadRoute } from './download.js'
import { createDownloadTokens } from './download-url.js'
import { CREATE_EXPORT, EXAMPLE_BODY, GET_JOB, JOBS_PATH, LIST_JOBS, PATH } from './export-contract.js'
import { showFilters } from './export-filters.js'
import { hasEnded, newJob, OPEN_JOBS_MAX, type StoredJob } from './export-job.js'
import { type ExportBody, exportBody, readRequest } from './export-request.js'
import { isQueuedIn, jobQueue } from './queue.js'
import { showJob, showJobWithFiles } from './show-export.js'

interface ExportRoutesDeps extends DownloadRouteDeps {
  readonly mutate: Mutate
  readonly jobs: WatchedRecords<StoredJob>
  /** Puts a job into the queue unless it is already queued. @throws when the queue does not accept it */
  readonly enqueue: (job: StoredJob) => Promise<void>
  readonly residencyRegionOf: (tenantId: string) => ResidencyRegion
  /** Where files are processed and stored, for the residency check. */
  readonly places: readonly Place[]
  /** The tag keys that a tenant has declared. */
  readonly dimensionsOf: (tenantId: string) => readonly Dimension[]
  readonly baseUrl: string
  readonly cursors: CursorCodec
  readonly idsOf: (tenantId: string) => TenantIds
}

const ACCESS = { access: 'export:create', method: 'get', rateClass: 'read' } as const

/** The routes of exports: `POST /v1/exports/focus`, `GET /api/v1/jobs[/{job_id}]` and file downloads. */
const exportRoutes = (deps: ExportRoutesDeps): readonly Route[] => [
  deps.mutate({
    method: 'post',
    path: PATH,
    access: 'export:create',
    rateClass: 'control',
    action: 'export.create',
    operation: CREATE_EXPORT,
    body: { schema: exportBody, example: EXAMPLE_BODY },
    handle: (request) => create(request, deps),
  }),
  {
    ...ACCESS,
    path: JOBS_PATH,
    operation: LIST_JOBS,
    handle(exchange, caller) {
      const read = readPage(exchange, caller, JOBS_PATH, deps)
      if (!read.ok) return exchange.replyProblem(read.problem)
      const nowMs = deps.clock()
      const keyOf = ({ created_at, id }: StoredJob) => [created_at, id]
      const show = (job: StoredJob) => showJob(job, nowMs)
      exchange.replyJson('200 OK', pageOfAll(read.request, deps.jobs.of(caller.tenantId), keyOf, 'descending', show))
    },
  },
  {
    ...ACCESS,
    path: `${JOBS_PATH}/:id`,
    operation: GET_JOB,
    async handle(exchange, { tenantId }) {
      const id = exchange.parameter
      const refusal = refusalOfId('job', id, deps.idsOf(tenantId), 'job')
      if (refusal !== undefined) return exchange.replyProblem(refusal)
      // Right after creation on another gateway, the job may not have reached this gateway's mirror yet.
      const job = deps.jobs.get(id) ?? (await deps.jobs.read(id))
      if (job?.tenant_id !== tenantId) return exchange.replyProblem(noSuch('job'))
      // No address of a file whose download would be refused.
      exchange.replyJson(
        '200 OK',
        refusalOfCrossing(deps.residencyRegionOf(tenantId), deps.places) === undefined
          ? showJobWithFiles(job, deps.clock(), deps)
          : showJob(job, deps.clock()),
      )
    },
  },
  downloadRoute(deps),
]

async function create(
  { caller, body, newId }: MutationRequest<ExportBody>,
  { jobs, enqueue, residencyRegionOf, places, dimensionsOf, clock }: ExportRoutesDeps,
): Promise<Reply | Problem> {
  const { tenantId } = caller
  const read = readRequest(body, clock(), dimensionsOf(tenantId))
  if (!read.ok) return invalid(read.errors)
  const blocked = refusalOfCrossing(residencyRegionOf(tenantId), places)
  if (blocked !== undefined) return blocked

  const id = newId('job')
  if (jobs.get(id) === undefined && openJobsOf(jobs.of(tenantId)) >= OPEN_JOBS_MAX) {
    return problem('CONFLICT', `Limit reached: at most ${OPEN_JOBS_MAX} queued or running export jobs per tenant.`)
  }
  const job = await jobs.createOnce(id, newJob(id, tenantId, caller.principal, read.request, clock()))
  if (!hasEnded(job)) await enqueue(job)
  const status_url = `${JOBS_PATH}/${id}`
  const { period, group_by, file_format, filters = [] } = job.request
  return {
    status: 202,
    body: { job_id: id, status: 'queued', status_url },
    location: status_url,
    target: id,
    changes: { after: { period: { ...period }, group_by: [...group_by], filters: showFilters(filters), file_format } },
  }
}

function openJobsOf(jobs: Iterable<StoredJob>): number {
  let open = 0
  for (const job of jobs) if (!hasEnded(job)) open++
  return open
}

export interface OpenExportRoutesDeps extends Omit<ExportRoutesDeps, 'jobs' | 'enqueue' | 'tokens' | 'places'> {
  readonly broker: Broker
  readonly publish: Publisher['publish']
  /** The instance's secret that signs download URLs. */
  readonly downloadsKey: Uint8Array
  readonly instanceRegion: string | null
  /** Called once when the watch of a KV bucket is lost. */
  readonly onLost: (cause: unknown) => void
}

/** Connects the routes of exports to the bucket of jobs and the queue. */
export async function openExportRoutes(deps: OpenExportRoutesDeps): Promise<readonly Route[]> {
  return exportRoutes({
    ...deps,
    jobs: await watchRecords<StoredJob>(await deps.broker.bucket(JOBS), deps.onLost),
    enqueue: jobQueue(deps.publish, isQueuedIn(deps.broker)),
    tokens: createDownloadTokens(deps.downloadsKey),
    places: [thisInstance(deps.instanceRegion), deps.blobs.place],
  })
}
