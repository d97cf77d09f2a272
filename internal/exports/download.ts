import type { Budget } from '../auth/rate-limits.js'
import type { Exchange } from '../http/exchange.js'
import { wantedRange } from '../http/range.js'
import { limitBy } from '../http/rate-limit.js'
import type { PublicRoute } from '../http/route.js'
import { problem } from '../problems/problem-catalogue.js'
import { type Place, type ResidencyRegion, refusalOfCrossing } from '../residency/residency.js'
import type { BlobStore } from './blobs/blob-store.js'
import { DOWNLOAD_PATH, type DownloadTokens } from './download-url.js'
import { GET_FILE } from './export-contract.js'
import { hasFiles, type StoredFile, type StoredJob } from './export-job.js'

export interface DownloadRouteDeps {
  readonly tokens: DownloadTokens
  readonly jobs: {
    get(id: string): StoredJob | undefined
    read(id: string): Promise<StoredJob | undefined>
  }
  readonly blobs: BlobStore
  readonly places: readonly Place[]
  readonly residencyRegionOf: (tenantId: string) => ResidencyRegion
  /** The rate limit budget shared by all downloads of a tenant. */
  readonly downloadBudgetOf: (tenantId: string) => Budget
  /** While the broker is down, changes of the tenant's residency may be missing, so files are not served. */
  readonly isBrokerUp: () => boolean
  readonly clock: () => number
}

/**
 * `GET /v1/exports/files/{token}`: the signed URL is the authorization. Range requests resume interrupted downloads.
 */
export const downloadRoute = (deps: DownloadRouteDeps): PublicRoute => ({
  method: 'get',
  path: `${DOWNLOAD_PATH}/:token`,
  access: 'public',
  operation: GET_FILE,
  handle(exchange) {
    // uWebSockets.js recycles the request once this handler returns: read the headers now.
    const wanted = {
      range: exchange.header('range'),
      ifRange: exchange.header('if-range'),
      ifNoneMatch: exchange.header('if-none-match'),
    }
    exchange.loggedPath = DOWNLOAD_PATH
    return download(exchange, wanted, deps)
  },
})

interface Wanted {
  readonly range: string
  readonly ifRange: string
  readonly ifNoneMatch: string
}

async function download(exchange: Exchange, wanted: Wanted, deps: DownloadRouteDeps): Promise<void> {
  const nowMs = deps.clock()
  const permission = deps.tokens.read(exchange.parameter, nowMs)
  if (permission === undefined) return exchange.replyProblem(INVALID)
  const { tenantId, jobId } = permission
  exchange.tenantId = tenantId
  const limited = limitBy(deps.downloadBudgetOf(tenantId), exchange, nowMs)
  if (limited !== undefined) return exchange.replyProblem(limited)
  if (!deps.isBrokerUp()) return exchange.replyProblem(UNCHECKABLE)
  const blocked = refusalOfCrossing(deps.residencyRegionOf(tenantId), deps.places)
  if (blocked !== undefined) return exchange.replyProblem(blocked)

  const job = deps.jobs.get(jobId) ?? (await deps.jobs.read(jobId))
  if (job === undefined || job.tenant_id !== tenantId || !hasFiles(job, nowMs)) return exchange.replyProblem(GONE)
  await replyFile(exchange, job.result[permission.download], wanted, deps.blobs)
}

async function replyFile(
  exchange: Exchange,
  { key, name, media_type: mediaType, bytes, sha256 }: StoredFile,
  { range, ifRange, ifNoneMatch }: Wanted,
  blobs: BlobStore,
): Promise<void> {
  const etag = `"${sha256}"`
  const lines = `\r\nETag: ${etag}\r\nAccept-Ranges: bytes\r\nCache-Control: private, no-cache`
  if (ifNoneMatch.split(',').some((tag) => tag.trim().replace(/^W\//, '') === etag || tag.trim() === '*')) {
    return exchange.replyEmpty(`304 Not Modified${lines}`)
  }
  const wanted = wantedRange(range, ifRange, etag, bytes)
  if (wanted.kind === 'unsatisfiable') {
    return exchange.replyProblem(
      problem('RANGE_NOT_SATISFIABLE', `The file has ${bytes} bytes.`, { contentRange: `bytes */${bytes}` }),
    )
  }
  if ((await blobs.size(key)) !== bytes) return exchange.replyProblem(GONE)
  const more = `${lines}\r\nContent-Type: ${mediaType}\r\nContent-Disposition: attachment; filename="${name}"`
  if (wanted.kind === 'whole') return exchange.replyStream(`200 OK${more}`, bytes, blobs.read(key))
  const { first, last } = wanted
  const head = `206 Partial Content${more}\r\nContent-Range: bytes ${first}-${last}/${bytes}`
  return exchange.replyStream(head, last - first + 1, blobs.read(key, wanted))
}

const INVALID = problem(
  'DOWNLOAD_URL_INVALID',
  'The download URL is invalid or expired. Get the job again for a new URL.',
)
const GONE = problem('NOT_FOUND', 'The file is no longer available.')
const UNCHECKABLE = problem(
  'SERVICE_UNAVAILABLE',
  'The data residency of the tenant cannot be checked at the moment.',
  {
    retryAfterSeconds: 1,
  },
)
