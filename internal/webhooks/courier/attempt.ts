import type { Dispatcher } from 'undici'
import type { Checked, Guard } from '../../outbound/address-guard.js'
import type { Target } from '../../outbound/target-url.js'
import type { AttemptReason } from '../attempt-outcomes.js'
import { retryAfterMs } from '../retry-schedule.js'
import type { Connection, Connections } from './connections.js'

/** One request to a receiver. */
export interface AttemptRequest {
  readonly endpointId: string
  readonly target: Target
  readonly headers: Readonly<Record<string, string>>
  readonly body: Uint8Array
  /** How many bytes of the response body to keep for the caller; no more than `RESPONSE_BYTES_MAX` are read. */
  readonly keepBytes: number
}

export type AttemptResult =
  | {
      readonly kind: 'acknowledged'
      readonly status: number
      readonly latencyMs: number
      readonly responseBody: Buffer
    }
  | Failed

export interface Failed {
  readonly kind: 'failed'
  readonly reason: AttemptReason
  /** Null: there was no response. */
  readonly status: number | null
  readonly latencyMs: number
  readonly retryAfterMs: number | undefined
}

export interface AttemptDeps {
  readonly guard: Guard
  readonly connections: Connections
  /** Of a whole attempt, from name resolution to the last byte that is read. */
  readonly timeoutMs: number
}

/** Maximum response bytes that are read. */
const RESPONSE_BYTES_MAX = 64 * 1024

/**
 * Posts to a receiver once: resolves its host again, connects only to an address of that answer, and follows no
 * redirect.
 *
 * @param onResult called once, never before this returns. Not a promise: a request that is posted within the callback
 *   is already queued on this connection when undici looks for the next one, so that undici neither marks the
 *   connection as idle (with a timer) nor spends another event-loop turn to check whether it was closed.
 */
export const attempt = (request: AttemptRequest, deps: AttemptDeps, onResult: (result: AttemptResult) => void): void =>
  new Attempt(request, deps, onResult).start()

/**
 * Reads a response up to a limit of bytes and time. It implements undici 7's internal handler interface: the newer
 * interface costs a wrapper and an object of all headers per response, of which only one header of few responses is
 * needed. undici 8 accepts only the newer interface; the type of this class will then fail to compile.
 */
class Attempt implements Dispatcher.DispatchHandler {
  private readonly request: AttemptRequest
  private readonly deps: AttemptDeps
  private readonly onResult: (result: AttemptResult) => void
  private readonly startedAt = performance.now()
  private timer: NodeJS.Timeout | undefined
  private connection: Connection | undefined
  private abort: ((error?: Error) => void) | undefined
  private status: number | null = null
  private retryAfter: string | undefined
  private bytes = 0
  private responseBody: Buffer[] | undefined
  private isOver = false

  constructor(request: AttemptRequest, deps: AttemptDeps, onResult: (result: AttemptResult) => void) {
    this.request = request
    this.deps = deps
    this.onResult = onResult
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
    if (mayHaveRetryAfter(status)) this.retryAfter = headerIn(headers, 'retry-after')
    return true
  }

  onData(chunk: Buffer): boolean {
    const { keepBytes } = this.request
    if (this.bytes < keepBytes) {
      this.responseBody ??= []
      this.responseBody.push(chunk.subarray(0, keepBytes - this.bytes))
    }
    this.bytes += chunk.length
    if (this.bytes > RESPONSE_BYTES_MAX) this.end('connection')
    return true
  }

  onComplete(): void {
    this.abort = undefined // the response is complete, and its connection can be reused
    this.end('connection', true)
  }

  onError(error: Error): void {
    this.end(reasonOf(error))
  }

  /**
   * @param without the reason if there is no response; anything that started with a status is a response
   * @param isLater whether `start` has certainly returned
   */
  private end(without: AttemptReason, isLater = false): void {
    if (this.isOver) return
    this.isOver = true
    clearTimeout(this.timer)
    // An incomplete response makes its connection unusable.
    this.abort?.(OVER)
    this.connection?.release()
    const result = this.resultWithout(without)
    if (isLater) this.onResult(result)
    else queueMicrotask(() => this.onResult(result))
  }

  private resultWithout(without: AttemptReason): AttemptResult {
    const latencyMs = Math.round(performance.now() - this.startedAt)
    const { status, responseBody } = this
    if (status !== null && status >= 200 && status < 300) {
      return {
        kind: 'acknowledged',
        status,
        latencyMs,
        responseBody: responseBody === undefined ? NONE : Buffer.concat(responseBody),
      }
    }
    if (status === null && this.connection !== undefined) this.deps.connections.avoid(this.request.endpointId)
    const reason = status === null ? without : 'status'
    return { kind: 'failed', reason, status, latencyMs, retryAfterMs: retryAfterMs(this.retryAfter, Date.now()) }
  }
}

const mayHaveRetryAfter = (status: number): boolean => status === 429 || status === 503

/** @param headers names and values, alternating, as received */
function headerIn(headers: readonly Buffer[], name: string): string | undefined {
  const at = headers.findIndex((text, i) => i % 2 === 0 && text.toString('latin1').toLowerCase() === name)
  return at < 0 ? undefined : headers[at + 1]?.toString('latin1')
}

const NONE = Buffer.alloc(0)
const OVER = new Error('the attempt is over')

/** Decided by the error's code, never by its message, which is the receiver's or the library's. */
function reasonOf(cause: unknown): AttemptReason {
  const code = String((cause as { readonly code?: unknown }).code ?? '')
  if (code === 'UND_ERR_CONNECT_TIMEOUT' || code === 'ETIMEDOUT') return 'timeout'
  if (/^(?:ERR_TLS|ERR_SSL|EPROTO|CERT_|UNABLE_TO_|SELF_SIGNED|DEPTH_ZERO|HOSTNAME_|INVALID_CA)/.test(code))
    return 'tls'
  return 'connection'
}
