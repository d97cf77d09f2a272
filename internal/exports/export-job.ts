import type { CohortScope } from '../auth/tenant.js'
import type { ExportRequest } from './export-request.js'

/** An export job as stored under its id in the KV bucket `jobs`. */

export const JOB_STATUSES = ['queued', 'running', 'succeeded', 'failed', 'expired'] as const
export type JobStatus = (typeof JOB_STATUSES)[number]

/** Why a job has failed. A closed set that API clients rely on. */
export const FAILURE_REASONS = [
  'residency_blocked',
  'residency_unknown',
  'cohorts_unknown',
  'floor_unknown',
  'totals_differ',
  'store_unavailable',
  'files_unavailable',
  'internal_error',
] as const
export type FailureReason = (typeof FAILURE_REASONS)[number]

/** A finished file in the blob store. */
export interface StoredFile {
  /** Key in the blob store. */
  readonly key: string
  /** File name of the download. */
  readonly name: string
  readonly media_type: string
  readonly bytes: number
  /** Hex. */
  readonly sha256: string
}

/** Progress of a running job, from which another exporter can resume. */
export interface JobWork {
  /**
   * The instant as of which all records are read, milliseconds since the epoch, so that a retry reads the same rows.
   * Versions that stage or fold by other rules give it another name: their exporters find no value, and start over.
   */
  readonly read_as_of_ms: number
  /** People that a row has at least. */
  readonly k: number
  /** What the cohort rule folds. Absent: every group. */
  readonly cohort_scope?: CohortScope
  /** How many of the request's filters, from the first on, are applied. */
  readonly filters_applied: number
  /** Slices whose groups are staged, with the number of groups. */
  readonly slices: readonly { readonly staging: string; readonly rows: number }[]
  /** Folded months, with the number of their folded groups. */
  readonly folds: readonly { readonly fold: string; readonly groups: number }[]
  /** Parts of the file already written, in order. */
  readonly parts: readonly { readonly key: string; readonly rows: number }[]
}

export interface StoredJob {
  readonly id: string
  readonly tenant_id: string
  readonly created_at: string
  /** Id of the credential that created the job. */
  readonly created_by: string
  /** The schedule that has ordered it: it reports success once the files are in the tenant's bucket. */
  readonly schedule_id?: string
  readonly status: JobStatus
  readonly request: ExportRequest
  /** Number of attempts, not counting those that ended because the exporter was stopping. */
  readonly attempts: number
  readonly started_at: string | null
  readonly finished_at: string | null
  /** 0 to 100. */
  readonly percent: number
  readonly work: JobWork | null
  readonly result: {
    readonly file: StoredFile
    readonly manifest: StoredFile
    readonly rows: number
    readonly filters_applied: number
    /** When the files are deleted. */
    readonly expires_at: string
  } | null
  readonly failure: FailureReason | null
  /** Whether its temporary blobs and staged groups have been deleted. */
  readonly is_cleared: boolean
}

/** A job as it is ordered. */
export const newJob = (
  id: string,
  tenantId: string,
  createdBy: string,
  request: ExportRequest,
  nowMs: number,
): StoredJob => ({
  id,
  tenant_id: tenantId,
  created_at: new Date(nowMs).toISOString(),
  created_by: createdBy,
  status: 'queued',
  request,
  attempts: 0,
  started_at: null,
  finished_at: null,
  percent: 0,
  work: null,
  result: null,
  failure: null,
  is_cleared: false,
})

/** Retention of a job's files. */
export const FILE_RETENTION_MS = 7 * 24 * 60 * 60 * 1000

/** Maximum number of queued and running jobs per tenant. */
export const OPEN_JOBS_MAX = 1_000

export const hasEnded = ({ status }: StoredJob): boolean => status !== 'queued' && status !== 'running'

/** Whether the files can be downloaded now. */
export const hasFiles = (job: StoredJob, nowMs: number): job is StoredJob & { readonly result: object } =>
  job.status === 'succeeded' && job.result !== null && nowMs < Date.parse(job.result.expires_at)

/** The status shown to clients: files expire on time, even before the sweep has deleted them. */
export const statusAt = (job: StoredJob, nowMs: number): JobStatus =>
  job.status === 'succeeded' && !hasFiles(job, nowMs) ? 'expired' : job.status
