import type { IncomingHttpHeaders } from 'node:http'
import type { Dispatcher } from 'undici'
import type { AttemptReason } from '../attempt-outcomes.js'
import type { Checked, Guard } from '../guard.js'
import { retryAfterMs } from '../retry-schedule.js'
import type { Target } from '../target-url.js'
import type { Connection, Connections } from './connections.js'

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
export const attempt = (request: AttemptRequest, deps: AttemptDeps): Promise<AttemptResult> =>
  new Promise((resolve) => new Attempt(request, deps, resolve).start())

/** Reads an answer as undici brings it, up to a limit of bytes and time. */
class Attempt implements Dispatcher.DispatchHandler {
  private readonly request: AttemptRequest
  private readonly deps: AttemptDeps
  private readonly resolve: (result: AttemptResult) => void
  private readonly startedAt = performance.now()
  private timer: NodeJS.Timeout | undefined
  private connection: Connection | undefined
  private controller: Dispatcher.DispatchController | undefined
  private status: number | null = null
  private retryAfter: string | undefined
  private bytes = 0
  private kept: Buffer[] | undefined
  private isOver = false

  constructor(request: AttemptRequest, deps: AttemptDeps, resolve: (result: AttemptResult) => void) {
    this.request = request
    this.deps = deps
    this.resolve = resolve
  }

  start(): void {
    this.timer = setTimeout(() => this.end('timeout'), this.deps.timeoutMs)
    const checked = this.deps.guard.check(this.request.target.hostname)
    if (checked instanceof Promise) void checked.then((answer) => this.post(answer))
    else this.post(checked)
  }

  private post(checked: Checked): void {
    if (this.isOver) return
    if (checked.kind === 'disallowed') return this.end('disallowed_address')
    if (checked.kind === 'unresolved') return this.end('unresolved')
    const { endpointId, target, headers, body } = this.request
    try {
      this.connection = this.deps.connections.take(endpointId, target, checked.addresses)
      this.connection.client.dispatch({ path: target.path, method: 'POST', headers, body }, this)
    } catch (cause) {
      this.end(reasonOf(cause))
    }
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
    const { keepBytes } = this.request
    if (this.bytes < keepBytes) {
      this.kept ??= []
      this.kept.push(chunk.subarray(0, keepBytes - this.bytes))
    }
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
  private end(without: AttemptReason): void {
    if (this.isOver) return
    this.isOver = true
    clearTimeout(this.timer)
    // What is not complete costs its connection.
    this.controller?.abort(OVER)
    this.connection?.release()
    const latencyMs = Math.round(performance.now() - this.startedAt)
    const { status } = this
    if (status !== null && status >= 200 && status < 300) {
      this.resolve({
        kind: 'acknowledged',
        status,
        latencyMs,
        kept: this.kept === undefined ? NONE : Buffer.concat(this.kept),
      })
      return
    }
    if (status === null && this.connection !== undefined) this.deps.connections.avoid(this.request.endpointId)
    const askedMs = status === 429 || status === 503 ? retryAfterMs(this.retryAfter, Date.now()) : undefined
    const reason = status === null ? without : 'status'
    this.resolve({ kind: 'failed', reason, status, latencyMs, retryAfterMs: askedMs })
  }
}

const NONE = Buffer.alloc(0)
const OVER = new Error('the attempt is over')

/** By code: words are the receiver's or the library's. */
function reasonOf(cause: unknown): AttemptReason {
  const code = String((cause as { readonly code?: unknown }).code ?? '')
  if (code === 'UND_ERR_CONNECT_TIMEOUT' || code === 'ETIMEDOUT') return 'timeout'
  if (/^(?:ERR_TLS|ERR_SSL|EPROTO|CERT_|UNABLE_TO_|SELF_SIGNED|DEPTH_ZERO|HOSTNAME_|INVALID_CA)/.test(code))
    return 'tls'
  return 'connection'
}
