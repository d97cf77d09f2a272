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
 * redirect.
 *
 * @param done called once, and not before this returns. Not a promise: what is posted within the call waits on the
 *   connection of this answer already when undici looks for more, so that it neither sets the connection aside, with a
 *   timer, nor takes a further turn of the loop to see whether it was closed meanwhile.
 */
export const attempt = (request: AttemptRequest, deps: AttemptDeps, done: (result: AttemptResult) => void): void =>
  new Attempt(request, deps, done).start()

/**
 * Reads an answer as undici brings it, up to a limit of bytes and time. In the form of handler that undici 7 has inside:
 * one in the newer form is wrapped in it, and an object made of the headers of every answer, of which we look at one of
 * few. undici 8 takes the newer form alone, and the type of this class will then say so.
 */
class Attempt implements Dispatcher.DispatchHandler {
  private readonly request: AttemptRequest
  private readonly deps: AttemptDeps
  private readonly done: (result: AttemptResult) => void
  private readonly startedAt = performance.now()
  private timer: NodeJS.Timeout | undefined
  private connection: Connection | undefined
  private abort: ((error?: Error) => void) | undefined
  private status: number | null = null
  private retryAfter: string | undefined
  private bytes = 0
  private kept: Buffer[] | undefined
  private isOver = false

  constructor(request: AttemptRequest, deps: AttemptDeps, done: (result: AttemptResult) => void) {
    this.request = request
    this.deps = deps
    this.done = done
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

  onConnect(abort: (error?: Error) => void): void {
    this.abort = abort
    if (this.isOver) abort(OVER)
  }

  onHeaders(status: number, headers: readonly Buffer[]): boolean {
    if (status < 200) return true
    this.status = status
    if (maySayWhen(status)) this.retryAfter = headerIn(headers, 'retry-after')
    return true
  }

  onData(chunk: Buffer): boolean {
    const { keepBytes } = this.request
    if (this.bytes < keepBytes) {
      this.kept ??= []
      this.kept.push(chunk.subarray(0, keepBytes - this.bytes))
    }
    this.bytes += chunk.length
    if (this.bytes > ANSWER_BYTES_MAX) this.end('connection')
    return true
  }

  onComplete(): void {
    this.abort = undefined // it is complete, and its connection can be used again
    this.end('connection', true)
  }

  onError(error: Error): void {
    this.end(reasonOf(error))
  }

  /**
   * @param without why there is no answer, where there is none: whatever has begun with a status is one
   * @param isLater whether `start` has returned for sure
   */
  private end(without: AttemptReason, isLater = false): void {
    if (this.isOver) return
    this.isOver = true
    clearTimeout(this.timer)
    // What is not complete costs its connection.
    this.abort?.(OVER)
    this.connection?.release()
    const result = this.resultWithout(without)
    if (isLater) this.done(result)
    else queueMicrotask(() => this.done(result))
  }

  private resultWithout(without: AttemptReason): AttemptResult {
    const latencyMs = Math.round(performance.now() - this.startedAt)
    const { status, kept } = this
    if (status !== null && status >= 200 && status < 300) {
      return { kind: 'acknowledged', status, latencyMs, kept: kept === undefined ? NONE : Buffer.concat(kept) }
    }
    if (status === null && this.connection !== undefined) this.deps.connections.avoid(this.request.endpointId)
    const askedMs = retryAfterMs(this.retryAfter, Date.now())
    const reason = status === null ? without : 'status'
    return { kind: 'failed', reason, status, latencyMs, retryAfterMs: askedMs }
  }
}

const maySayWhen = (status: number): boolean => status === 429 || status === 503

/** Names and values in turn, as they came. */
function headerIn(headers: readonly Buffer[], name: string): string | undefined {
  const at = headers.findIndex((text, i) => i % 2 === 0 && text.toString('latin1').toLowerCase() === name)
  return at < 0 ? undefined : headers[at + 1]?.toString('latin1')
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
