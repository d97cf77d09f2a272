import type { Budget } from '../auth/rate-limits.js'
import type { Exchange } from '../http/exchange.js'
import { wantedRange } from '../http/range.js'
import { limitBy } from '../http/rate-limit.js'
import type { PublicRoute } from '../http/route.js'
import { problem } from '../problems/problem-catalogue.js'
import { type Place, type ResidencyRegion, refusalOfCrossing } from '../residency/residency.js'
import type { Logger } from '../telemetry/log.js'
import type { BlobStore } from './blobs/blob-store.js'
import { isStoreOfFilesAway } from './blobs/failures.js'
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
  readonly log: Logger
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
  await replyFile(exchange, job.result[permission.download], wanted, deps)
}

async function replyFile(
  exchange: Exchange,
  { key, name, media_type: mediaType, bytes, sha256 }: StoredFile,
  { range, ifRange, ifNoneMatch }: Wanted,
  { blobs, log }: DownloadRouteDeps,
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
  const more = `${lines}\r\nContent-Type: ${mediaType}\r\nContent-Disposition: attachment; filename="${name}"`
  const [head, size] =
    wanted.kind === 'whole'
      ? [`200 OK${more}`, bytes]
      : [
          `206 Partial Content${more}\r\nContent-Range: bytes ${wanted.first}-${wanted.last}/${bytes}`,
          wanted.last - wanted.first + 1,
        ]
  const patience = new Patience()
  try {
    if ((await blobs.size(key, patience.signal)) !== bytes) return exchange.replyProblem(GONE)
    const parts = blobs.read(key, wanted.kind === 'whole' ? undefined : wanted, patience.signal)
    await exchange.replyStream(head, size, patience.during(parts))
  } catch (cause) {
    if (!patience.signal.aborted && !isStoreOfFilesAway(cause)) throw cause
    log.warn({ err: cause, trace_id: exchange.traceId }, 'the store of export files did not answer')
    exchange.replyProblem(FILES_AWAY)
  } finally {
    patience.end()
  }
}

/** How long the store may take until the first bytes of a file, as every dependency of an answer may; and to go on. */
const FIRST_BYTES_MS_MAX = 1_500
const SILENT_MS_MAX = 10_000

/** Gives up a store of files that is silent, not a client that reads slowly. */
class Patience {
  private readonly late = new AbortController()
  private timer = this.within(FIRST_BYTES_MS_MAX)

  get signal(): AbortSignal {
    return this.late.signal
  }

  async *during(parts: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
    for await (const part of parts) {
      this.end()
      yield part
      this.timer = this.within(SILENT_MS_MAX)
    }
  }

  end(): void {
    clearTimeout(this.timer)
  }

  private within(ms: number): NodeJS.Timeout {
    return setTimeout(() => this.late.abort(), ms)
  }
}

const FILES_AWAY = problem('SERVICE_UNAVAILABLE', 'The store of export files is unavailable.', { retryAfterSeconds: 5 })
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
