import type { ShownJob, ShownJobWithFiles } from './contract.js'
import { JOBS_PATH } from './contract.js'
import { DOWNLOAD_LIFETIME_MS, DOWNLOAD_PATH, type Download, type DownloadTokens } from './download-url.js'
import { type FailureReason, hasFiles, type StoredJob, statusAt } from './job.js'

/** What a person can make of each reason. */
const DETAILS: Readonly<Record<FailureReason, string>> = {
  residency_blocked: "The tenant's data may not be taken to where the file would lie.",
  residency_unknown: 'Where the data of the tenant must stay could not be found out.',
  cohorts_unknown: 'How many people stand behind the rows could not be found out.',
  floor_unknown: 'Which records may be charged back could not be found out.',
  totals_differ: 'The rows did not come to the sum of their records; nothing was published.',
  store_unavailable: 'The read model could not be reached for too long; order the export again.',
  files_unavailable: 'The file could not be written for too long; order the export again.',
  internal_error: 'Something unexpected happened; order the export again, and tell us the job_id if it stays.',
}

export function showJob(job: StoredJob, nowMs: number): ShownJob {
  const { period, group_by, file_format, focus_version } = job.request
  return {
    job_id: job.id,
    status: statusAt(job, nowMs),
    status_url: `${JOBS_PATH}/${job.id}`,
    created_at: job.created_at,
    finished_at: job.finished_at,
    format: 'focus',
    period: { ...period },
    group_by: [...group_by],
    file_format,
    focus_version,
    progress: { percent: job.percent },
    failure: job.failure === null ? null : { reason: job.failure, detail: DETAILS[job.failure] },
    rows: job.result?.rows ?? null,
    files_expire_at: job.result?.expires_at ?? null,
  }
}

/** The same with addresses of its files, while there are any. */
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
