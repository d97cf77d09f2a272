import type { IncomingHttpHeaders } from 'node:http'
import type { Dispatcher } from 'undici'
import type { AttemptReason } from '../attempt-outcomes.js'
import type { Guard } from '../guard.js'
import { retryAfterMs } from '../retry-schedule.js'
import type { Target } from '../target-url.js'
import type { Connections } from './connections.js'

/** One request to a receiver. */
export interface AttemptRequest {
  readonly endpointId: string
  readonly target: Target
  readonly headers: Readonly<Record<string, string>>
  readonly body: Uint8Array
  /** Bytes of the answer that are kept for whoever asked; beyond `ANSWER_BYTES_MAX` none is read. */
  readonly keepBytes: number
}

export type AttemptResult =
  | { readonly kind: 'acknowledged'; readonly status: number; readonly latencyMs: number; readonly kept: Buffer }
  | Failed

export interface Failed {
  readonly kind: 'failed'
  readonly reason: AttemptReason
  /** Null: there was no answer. */
  readonly status: number | null
  readonly latencyMs: number
  readonly retryAfterMs: number | undefined
}

export interface AttemptDeps {
  readonly guard: Guard
  readonly connections: Connections
  /** From the question to the resolver to the last byte that is read. */
  readonly timeoutMs: number
}

/** Of an answer at most (design section 9); what follows is not read. */
export const ANSWER_BYTES_MAX = 64 * 1024

/**
 * Posts to a receiver once: resolves its host anew, connects to an address of that answer and to no other, follows no
 * redirect. Never rejects.
 */
export async function attempt(request: AttemptRequest, deps: AttemptDeps): Promise<AttemptResult> {
  const { endpointId, target } = request
  const startedAt = performance.now()
  const failed = (reason: AttemptReason): Failed => ({
    kind: 'failed',
    reason,
    status: null,
    latencyMs: Math.round(performance.now() - startedAt),
    retryAfterMs: undefined,
  })
  const checked = await deps.guard.check(target.hostname)
  if (checked.kind === 'disallowed') return failed('disallowed_address')
  if (checked.kind === 'unresolved') return failed('unresolved')
  const leftMs = deps.timeoutMs - (performance.now() - startedAt)
  if (leftMs <= 0) return failed('timeout')
  const dispatcher = deps.connections.to(endpointId, target, checked.addresses)
  const result = await post(dispatcher, request, startedAt, leftMs)
  if (result.kind === 'failed' && result.status === null) deps.connections.avoid(endpointId)
  return result
}

function post(
  dispatcher: Dispatcher,
  { target, headers, body, keepBytes }: AttemptRequest,
  startedAt: number,
  timeoutMs: number,
): Promise<AttemptResult> {
  return new Promise((resolve) => {
    const answer = new Answer(keepBytes, startedAt, resolve)
    answer.timer = setTimeout(() => answer.end('timeout'), timeoutMs)
    try {
      dispatcher.dispatch({ origin: target.origin, path: target.path, method: 'POST', headers, body }, answer)
    } catch (cause) {
      answer.end(reasonOf(cause))
    }
  })
}

/** Reads an answer as undici brings it, up to a limit of bytes and time. */
class Answer implements Dispatcher.DispatchHandler {
  timer: NodeJS.Timeout | undefined
  private readonly keepBytes: number
  private readonly startedAt: number
  private readonly resolve: (result: AttemptResult) => void
  private controller: Dispatcher.DispatchController | undefined
  private status: number | null = null
  private retryAfter: string | undefined
  private bytes = 0
  private readonly kept: Buffer[] = []
  private isOver = false

  constructor(keepBytes: number, startedAt: number, resolve: (result: AttemptResult) => void) {
    this.keepBytes = keepBytes
    this.startedAt = startedAt
    this.resolve = resolve
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.controller = controller
    if (this.isOver) controller.abort(OVER)
  }

  onResponseStart(_: Dispatcher.DispatchController, status: number, headers: IncomingHttpHeaders): void {
    if (status < 200) return
    this.status = status
    this.retryAfter = headers['retry-after']
  }

  onResponseData(_: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.bytes < this.keepBytes) this.kept.push(chunk.subarray(0, this.keepBytes - this.bytes))
    this.bytes += chunk.length
    if (this.bytes > ANSWER_BYTES_MAX) this.end('connection')
  }

  onResponseEnd(): void {
    this.controller = undefined // it is complete, and its connection can be used again
    this.end('connection')
  }

  onResponseError(_: Dispatcher.DispatchController, error: Error): void {
    this.end(reasonOf(error))
  }

  /** @param without why there is no answer, where there is none: whatever has begun with a status is one */
  end(without: AttemptReason): void {
    if (this.isOver) return
    this.isOver = true
    clearTimeout(this.timer)
    // What is not complete costs its connection.
    this.controller?.abort(OVER)
    const latencyMs = Math.round(performance.now() - this.startedAt)
    const { status } = this
    if (status !== null && status >= 200 && status < 300) {
      this.resolve({ kind: 'acknowledged', status, latencyMs, kept: Buffer.concat(this.kept) })
    } else {
      const askedMs = status === 429 || status === 503 ? retryAfterMs(this.retryAfter, Date.now()) : undefined
      const reason = status === null ? without : 'status'
      this.resolve({ kind: 'failed', reason, status, latencyMs, retryAfterMs: askedMs })
    }
  }
}

const OVER = new Error('the attempt is over')

/** By code: words are the receiver's or the library's. */
function reasonOf(cause: unknown): AttemptReason {
  const code = String((cause as { readonly code?: unknown }).code ?? '')
  if (code === 'UND_ERR_CONNECT_TIMEOUT' || code === 'ETIMEDOUT') return 'timeout'
  if (/^(?:ERR_TLS|ERR_SSL|EPROTO|CERT_|UNABLE_TO_|SELF_SIGNED|DEPTH_ZERO|HOSTNAME_|INVALID_CA)/.test(code))
    return 'tls'
  return 'connection'
}
