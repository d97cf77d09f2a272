import type { ExportRequest } from './request.js'

/** An export job as it is kept under its id in the bucket `jobs`. */

export const JOB_STATUSES = ['queued', 'running', 'succeeded', 'failed', 'expired'] as const
export type JobStatus = (typeof JOB_STATUSES)[number]

/** Why a job has failed. A closed list: callers decide by it. */
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

/** A finished file: as it lies in the blob store. */
export interface StoredFile {
  /** Its key there. */
  readonly key: string
  /** As it is called when it is downloaded. */
  readonly name: string
  readonly media_type: string
  readonly bytes: number
  /** Hex. */
  readonly sha256: string
}

/** How far a running job has come: what another exporter need not do again. */
export interface JobWork {
  /**
   * The instant as of which everything is read, milliseconds since the epoch: a repeat reads the same rows. It was
   * `as_of_ms` while meters were folded one by one: an exporter of before or after finds none, and begins anew, as what
   * the other has staged and written would not fit its own.
   */
  readonly snapshot_ms: number
  /** Groups that are formed already, by slice: where they lie, and how many. */
  readonly slices: readonly { readonly staging: string; readonly rows: number }[]
  /** Parts of the file that are written, in order. */
  readonly parts: readonly { readonly key: string; readonly rows: number }[]
}

export interface StoredJob {
  readonly id: string
  readonly tenant_id: string
  readonly created_at: string
  /** Id of the credential that asked. */
  readonly created_by: string
  readonly status: JobStatus
  readonly request: ExportRequest
  /** How often an exporter has begun it, and was not told to leave it to another. */
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
    /** When the files are removed. */
    readonly expires_at: string
  } | null
  readonly failure: FailureReason | null
  /** Whether everything that it had in the blob store and in staging is gone. */
  readonly is_cleared: boolean
}

/** How long the files of a job are kept (design section 8). */
export const FILES_KEPT_MS = 7 * 24 * 60 * 60 * 1000

/** Jobs of a tenant that have not ended, at most. */
export const OPEN_JOBS_MAX = 1_000

export const hasEnded = ({ status }: StoredJob): boolean => status !== 'queued' && status !== 'running'

/** Whether its files can be had now. */
export const hasFiles = (job: StoredJob, nowMs: number): job is StoredJob & { readonly result: object } =>
  job.status === 'succeeded' && job.result !== null && nowMs < Date.parse(job.result.expires_at)

/** As it stands to callers: files go at their time, whether somebody has come to remove them or not. */
export const statusAt = (job: StoredJob, nowMs: number): JobStatus =>
  job.status === 'succeeded' && !hasFiles(job, nowMs) ? 'expired' : job.status
