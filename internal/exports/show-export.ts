import { DOWNLOAD_LIFETIME_MS, DOWNLOAD_PATH, type Download, type DownloadTokens } from './download-url.js'
import type { ShownJob, ShownJobWithFiles } from './export-contract.js'
import { JOBS_PATH } from './export-contract.js'
import { showFilters, suppressedOf } from './export-filters.js'
import { type FailureReason, hasFiles, type StoredJob, statusAt } from './export-job.js'

/** The detail text of each failure reason. */
const DETAILS: Readonly<Record<FailureReason, string>> = {
  residency_blocked: "The tenant's data residency does not allow the location where the file would be stored.",
  residency_unknown: "The tenant's data residency could not be determined.",
  cohorts_unknown: 'The number of people per group could not be determined.',
  floor_unknown: 'The records eligible for chargeback could not be determined.',
  totals_differ: 'The totals of the rows differ from the totals of the records; no file was published.',
  store_unavailable: 'The read model was unavailable for too long; create the export again.',
  files_unavailable: 'The file store was unavailable for too long; create the export again.',
  internal_error: 'An unexpected error occurred; create the export again, and report the job_id if it fails again.',
}

export function showJob(job: StoredJob, nowMs: number): ShownJob {
  const { period, group_by, file_format, focus_version, filters } = job.request
  const suppressed = suppressedOf(filters, job.result?.filters_applied ?? filters.length)
  return {
    job_id: job.id,
    status: statusAt(job, nowMs),
    status_url: `${JOBS_PATH}/${job.id}`,
    created_at: job.created_at,
    finished_at: job.finished_at,
    format: 'focus',
    period: { ...period },
    group_by: [...group_by],
    filters: showFilters(filters),
    ...(suppressed && { suppressed }),
    file_format,
    focus_version,
    progress: { percent: job.percent },
    failure: job.failure === null ? null : { reason: job.failure, detail: DETAILS[job.failure] },
    rows: job.result?.rows ?? null,
    files_expire_at: job.result?.expires_at ?? null,
  }
}

/** The job with download URLs, while its files are available. */
export function showJobWithFiles(
  job: StoredJob,
  nowMs: number,
  { tokens, baseUrl }: { readonly tokens: DownloadTokens; readonly baseUrl: string },
): ShownJobWithFiles {
  const shown = showJob(job, nowMs)
  if (!hasFiles(job, nowMs)) return shown
  const expiresAtMs = Math.min(nowMs + DOWNLOAD_LIFETIME_MS, Date.parse(job.result.expires_at))
  const urlOf = (download: Download): string => {
    const token = tokens.issue({ tenantId: job.tenant_id, jobId: job.id, download, expiresAtMs })
    return `${baseUrl}${DOWNLOAD_PATH}/${token}`
  }
  return {
    ...shown,
    result_url: urlOf('file'),
    manifest_url: urlOf('manifest'),
    expires_at: new Date(expiresAtMs).toISOString(),
  }
}
