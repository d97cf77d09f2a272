import type { HttpRequest, HttpResponse } from 'uWebSockets.js'
import { randomBytes } from 'node:crypto'
import { type ClientAddressOf, plainAddress } from '../auth/addresses.js'
import type { Budget } from '../auth/rate-limits.js'
import { type Problem, problem } from '../problems/problem-catalogue.js'
import { type ProblemForm, type RenderedProblem, renderProblem } from '../problems/render.js'
import { type BegunSpan, endRequest, SPANS } from '../telemetry/spans/spans.js'
import { traceparentOf } from '../telemetry/spans/trace-context.js'
import { type NotableAnswer, SLOW_MS } from './access-log.js'
import type { RequestHeaders } from './request-headers.js'
import { PROBES, statusOf, UNKNOWN_REQUESTS } from './request-metrics.js'
import { traceIdOf } from './trace-id.js'
import { turnNow } from './turn-clock.js'

/** Callbacks from an exchange to its server. */
export interface ExchangeHooks {
  /** Whether the process is about to stop: each reply then ends its connection, so that the client opens another. */
  readonly isLeaving: boolean
  /** Whether the parser sees where each request ends. uWebSockets.js decodes chunked bodies leniently, for instance. */
  readonly isStrict: boolean
  /** Of the client, behind proxies that are trusted. */
  readonly clientAddressOf: ClientAddressOf
  /**
   * Reserves memory for a body that arrives in chunks or is decoded; false when all tenants together, or this one, hold
   * too much already.
   *
   * @param tenantId null before authentication
   */
  hold(bytes: number, tenantId: string | null): boolean
  /** @param tenantId whose reservation it was */
  release(bytes: number, tenantId: string | null): void
  /** A request has been answered, or its client has gone. */
  settled(): void
  /** After a refusal, and after an answer that took long. */
  notable(answer: NotableAnswer): void
  /** @param isAnswered whether a reply has begun, so that no other can be sent */
  failed(exchange: Exchange, cause: unknown, isAnswered?: boolean): void
}

/** State of `Exchange.reply`: `cork` calls back synchronously. */
let answering: HttpResponse
let answerHead: Buffer = Buffer.alloc(0)
let answerBody: string | Uint8Array = ''
let isLastAnswer = false
const writeAnswer = (): void => {
  answering.writeStatus(answerHead).end(answerBody, isLastAnswer)
}

/**
 * The status line and headers as bytes, cached. Replies of one batch share them, and uWebSockets.js writes bytes faster
 * than strings: 0.6 us less per request.
 */
function headBytes(head: string, lines: string): Buffer {
  if (head !== lastHead || lines !== lastLines) {
    lastHead = head
    lastLines = lines
    lastHeadBytes = Buffer.from(head + lines)
  }
  return lastHeadBytes
}
let lastHead = ''
let lastLines = ''
let lastHeadBytes: Buffer = Buffer.alloc(0)

/** One request and its reply. Only the first `reply` call has an effect; none has one after the client disconnected. */
export class Exchange {
  readonly path: string
  readonly query: string
  readonly headers: Readonly<RequestHeaders>
  readonly parameter: string
  /** The caller's tenant, for problem bodies; null before authentication. */
  tenantId: string | null = null
  /** The rate-limit budget shown in the RateLimit headers; undefined before authentication. */
  budget: Budget | undefined
  /** Path for the log, where the real one is a capability URL and must not be logged. */
  loggedPath: string | undefined
  /** How problems are rendered, if not as `application/problem+json`. */
  problemForm: ProblemForm | undefined
  /** Where the request is counted. */
  counts = UNKNOWN_REQUESTS
  /** Method and pattern of the path, for the log and the span; empty if there is no such route. */
  route = ''
  private readonly begunMs = turnNow()
  private settled = false
  /**
   * No Content-Length is visible: a body may be hidden, or end elsewhere than a proxy in front has seen, so that the
   * reply waits for the next turn.
   */
  private readonly isUnframed: boolean
  private isReplied = false
  private readonly hooks: ExchangeHooks
  private whenAborted: (() => void) | undefined
  private readonly response: HttpResponse
  private readonly request: HttpRequest
  private readonly errorDocsUrl: string
  private errorCode: string | undefined
  private trace = ''
  /** Undefined before it is decided whether the request is sampled; null if it is not. */
  private begunSpan: BegunSpan | null | undefined
  private client: string | undefined
  private heldBytes = 0
  private heldFor: string | null = null

  constructor(
    response: HttpResponse,
    request: HttpRequest,
    headers: Readonly<RequestHeaders>,
    errorDocsUrl: string,
    hooks: ExchangeHooks,
  ) {
    this.response = response
    this.request = request
    this.headers = headers
    this.isUnframed = headers.contentLength === '' && !hooks.isStrict
    this.errorDocsUrl = errorDocsUrl
    this.hooks = hooks
    this.path = request.getUrl()
    this.query = request.getQuery() ?? ''
    this.parameter = request.getParameter(0) ?? ''
    response.onAborted(() => {
      if (this.settled) return
      this.settle(LEFT)
      this.whenAborted?.()
    })
  }

  /** True once a reply was given or the client disconnected. */
  get isSettled(): boolean {
    return this.settled || this.isReplied
  }

  /**
   * The first value of a header that few routes need; empty when absent. Valid only until the route's handler returns.
   */
  header(name: string): string {
    return this.request.getHeader(name)
  }

  /** Registers a callback for a client that disconnects before the reply. */
  onAborted(stop: () => void): void {
    this.whenAborted = stop
  }

  /** Address of the client. To read it after the handler returned, call `keepAddress` within the handler. */
  get address(): string {
    this.client ??= this.hooks.clientAddressOf(
      plainAddress(Buffer.from(this.response.getRemoteAddressAsText()).toString('latin1')),
      this.headers.forwardedFor,
    )
    return this.client
  }

  /** uWebSockets.js drops the address when the client disconnects. */
  keepAddress(): void {
    this.client ??= this.address
  }

  /** 32 hex digits: from the caller's traceparent, otherwise generated. */
  get traceId(): string {
    if (this.trace === '') this.trace = traceIdOf(this.headers.traceparent)
    return this.trace
  }

  /** The request's span, if it is sampled. It must be decided before the request's trace is shown to anybody. */
  private get span(): BegunSpan | undefined {
    if (!SPANS.isOn) return undefined
    // Once: a second decision by chance would sample more than the ratio, and requests whose events are not.
    if (this.begunSpan === undefined) {
      this.begunSpan = (this.isTraced && SPANS.beginRequest(this.headers.traceparent, () => this.traceId)) || null
    }
    return this.begunSpan ?? undefined
  }

  /** Probes come all the time and show nothing; a path that is no route is anybody's text. */
  private get isTraced(): boolean {
    return this.route !== '' && this.counts !== PROBES
  }

  /** The context that the request's events carry through the stages, if it is sampled. */
  get traceparent(): string | undefined {
    const { span } = this
    return span && traceparentOf(span.context)
  }

  /** Continues the trace of a replayed reply, unless the caller sent a traceparent. */
  continueTrace(traceId: string): void {
    if (this.headers.traceparent === '') this.trace = traceId
  }

  /** Reserves memory beside the body's until the reply; false when too much is held already. */
  hold(bytes: number): boolean {
    // The tenant at the first reservation pays for all of them: a tenant named in the body is known only later.
    const heldFor = this.heldBytes === 0 ? this.tenantId : this.heldFor
    if (this.settled || !this.hooks.hold(bytes, heldFor)) return false
    this.heldFor = heldFor
    this.heldBytes += bytes
    return true
  }

  /** Gives back what is needed no longer than the reply. */
  release(bytes: number): void {
    // With the reply, all is given back.
    if (this.settled) return
    this.heldBytes -= bytes
    this.hooks.release(bytes, this.heldFor)
  }

  /**
   * Reads the whole body of up to `bytesMax` bytes and passes it to `then` once. A longer one is refused and the
   * connection closed. Lent bytes are valid only within `then`.
   */
  readBody(bytesMax: number, then: (bytes: Buffer, areLent: boolean) => void): void {
    if (this.headers.transferEncoding !== '') return this.readChunks(bytesMax, then)
    const announced = Number(this.headers.contentLength)
    if (!Number.isSafeInteger(announced) || announced < 0) {
      this.refuseAndClose(problem('MALFORMED_REQUEST', 'Content-Length is not a valid integer.'))
      return
    }
    if (announced > bytesMax) {
      this.refuseAndClose(tooLarge(bytesMax))
      return
    }
    if (announced > SMALL_BODY_BYTES && !this.hold(announced)) {
      this.refuseAndClose(TOO_MANY_BODIES)
      return
    }
    let body: Buffer | undefined
    let size = 0
    this.response.onData((chunk, isLast) => {
      if (this.settled) return
      if (isLast && body === undefined) return this.guard(then, Buffer.from(chunk), true)
      // uWebSockets.js reuses the chunk's memory after this call, and never delivers more than Content-Length bytes.
      if (body === undefined) {
        if (this.heldBytes === 0 && !this.hold(announced)) return this.refuseAndClose(TOO_MANY_BODIES)
        body = Buffer.allocUnsafeSlow(announced)
      }
      body.set(new Uint8Array(chunk), size)
      size += chunk.byteLength
      if (isLast) this.guard(then, body, false)
    })
  }

  /** A body of unknown length; its memory is held as it comes. */
  private readChunks(bytesMax: number, then: (bytes: Buffer, areLent: boolean) => void): void {
    let body = Buffer.alloc(0)
    let size = 0
    this.response.onData((chunk, isLast) => {
      if (this.isSettled) return
      const needed = size + chunk.byteLength
      if (needed > bytesMax) return this.refuseAndClose(tooLarge(bytesMax))
      if (needed > body.length) {
        const grown = Math.min(bytesMax, Math.max(needed, 2 * body.length, CHUNKED_BYTES_FIRST))
        if (!this.hold(grown)) return this.refuseAndClose(TOO_MANY_BODIES)
        const before = body
        body = Buffer.allocUnsafeSlow(grown)
        before.copy(body, 0, 0, size)
        this.release(before.length)
      }
      // uWebSockets.js reuses the chunk's memory after this call.
      body.set(new Uint8Array(chunk), size)
      size = needed
      if (isLast) this.guard(then, body.subarray(0, size), false)
    })
  }

  /** An exception in a uWebSockets.js callback would end the process. */
  private guard(then: (bytes: Buffer, areLent: boolean) => void, bytes: Buffer, areLent: boolean): void {
    try {
      then(bytes, areLent)
    } catch (cause) {
      this.fail(cause)
    }
  }

  /**
   * @param head the status line's code and reason, with further header lines after CRLF
   * @param body read within the call
   */
  reply(head: string, body: string | Uint8Array): void {
    if (this.isSettled) return
    if (this.isUnframed) {
      const whole = head + this.commonLines()
      const kept = typeof body === 'string' ? body : Buffer.from(body)
      this.nextTurn(statusOf(head), () => this.response.writeStatus(whole).end(kept, this.isLast))
      return
    }
    this.settle(statusOf(head))
    answering = this.response
    answerHead = headBytes(head, this.commonLines())
    answerBody = body
    isLastAnswer = this.isLast
    this.response.cork(writeAnswer)
  }

  /**
   * Replies on the next event-loop turn. A reply within the handler, or within a promise continuation of it, would
   * still serve a request that arrived behind this one; after a later reply uWebSockets.js has closed such a connection
   * (`deploy/decisions/http-parser.md`).
   */
  private nextTurn(status: number, write: () => void): void {
    this.isReplied = true
    this.whenAborted = undefined
    setImmediate(() => {
      if (this.settled) return
      this.settle(status)
      this.response.cork(write)
    })
  }

  /**
   * A streamed reply, with backpressure from the client. After the first part is sent, a failure can only be signalled
   * by closing the connection before Content-Length bytes.
   *
   * @param head as of `reply`
   * @param size of the whole body, bytes; more than 0
   */
  async replyStream(head: string, size: number, parts: AsyncIterable<Uint8Array>): Promise<void> {
    if (this.isUnframed) await new Promise(setImmediate)
    if (this.isSettled) return
    let hasBegun = false
    let wake: () => void = () => undefined
    this.whenAborted = () => wake()
    try {
      for await (const part of parts) {
        if (this.settled) return
        let [isTaken, isDone] = [false, false]
        const from = this.response.getWriteOffset()
        this.response.cork(() => {
          if (!hasBegun) this.response.writeStatus(head + this.commonLines() + this.closeLine())
          ;[isTaken, isDone] = this.response.tryEnd(part, size)
        })
        hasBegun = true
        if (!isTaken && !isDone) {
          await new Promise<void>((resolve) => {
            wake = resolve
            this.response.onWritable((offset) => {
              ;[isTaken, isDone] = this.response.tryEnd(part.subarray(offset - from), size)
              if (isTaken || isDone) resolve()
              return isTaken
            })
          })
        }
        if (isDone && !this.settled) return this.settle(statusOf(head))
      }
      throw new Error(`a body ended before its ${size} bytes`)
    } catch (cause) {
      if (this.settled) return
      if (!hasBegun) throw cause
      this.hooks.failed(this, cause, true)
      this.response.close()
    }
  }

  /** A reply without a body, and without a Content-Length. */
  replyEmpty(head: string): void {
    if (this.isSettled) return
    const whole = head + this.commonLines() + this.closeLine()
    const write = (): void => {
      this.response.writeStatus(whole).endWithoutBody()
    }
    if (this.isUnframed) return this.nextTurn(statusOf(head), write)
    this.settle(statusOf(head))
    this.response.cork(write)
  }

  replyJson(status: string, value: unknown): void {
    this.replyJsonText(status, JSON.stringify(value))
  }

  /** @param text JSON whose numbers have more digits than a float holds */
  replyJsonText(status: string, text: string): void {
    this.reply(`${status}\r\nContent-Type: application/json\r\nCache-Control: no-store`, text)
  }

  replyProblem(problem: Problem): void {
    const rendered = this.render(problem)
    this.reply(headOf(rendered), rendered.body)
  }

  /** Replies and closes the connection, so that nothing behind the request is served. */
  refuseAndClose(problem: Problem): void {
    if (this.isSettled) return
    const rendered = this.render(problem)
    const whole = headOf(rendered) + this.commonLines()
    this.nextTurn(statusOf(whole), () => this.response.writeStatus(whole).end(rendered.body, true))
  }

  /** Logs an unexpected failure and replies 500. */
  fail(cause: unknown): void {
    this.hooks.failed(this, cause)
  }

  /** Headers common to all replies: RateLimit fields of the caller, and traceparent if there is a trace. */
  private commonLines(): string {
    const lines = this.budget === undefined ? '' : this.budget.headerLines(turnNow())
    return this.trace === '' && this.headers.traceparent === '' ? lines : lines + this.traceLine()
  }

  /** Whether the connection ends with the reply: what follows a chunked body could be another request to a proxy. */
  private get isLast(): boolean {
    return this.hooks.isLeaving || (this.headers.transferEncoding !== '' && !this.hooks.isStrict)
  }

  /** Of replies that uWebSockets.js cannot end together with their connection: the client does so. */
  private closeLine(): string {
    return this.isLast ? '\r\nConnection: close' : ''
  }

  /** Our own span in the trace (W3C Trace Context). */
  private traceLine(): string {
    const { traceparent } = this
    if (traceparent !== undefined) return `\r\ntraceparent: ${traceparent}`
    return `\r\ntraceparent: 00-${this.traceId}-${randomBytes(8).toString('hex')}-00`
  }

  private settle(status: number): void {
    this.settled = true
    const ms = turnNow() - this.begunMs
    this.counts.answered(status, ms)
    const { span } = this
    if (span !== undefined) endRequest(span, this.route, status, this.begunMs, this.begunMs + ms)
    this.hooks.release(this.heldBytes, this.heldFor)
    this.hooks.settled()
    // A service that is not ready is asked often, and says so itself.
    if ((status < 400 && ms < SLOW_MS) || this.counts === PROBES) return
    const { route, errorCode: error_code, traceId: trace_id } = this
    this.hooks.notable({ route, status, error_code, trace_id, duration_ms: ms })
  }

  private render(what: Problem): RenderedProblem {
    const { traceId, tenantId, errorDocsUrl } = this
    this.errorCode = what.code
    return renderProblem(what, { instance: this.path, traceId, tenantId, errorDocsUrl }, this.problemForm)
  }
}

/** uWebSockets.js writes the status text verbatim, so that headers can be appended to it in one call. */
const headOf = ({ status, headers }: RenderedProblem): string =>
  headers.reduce((head, [name, value]) => `${head}\r\n${name}: ${value}`, status)

/** No answer: the client disconnected before it. */
const LEFT = 0

/** Smaller bodies usually arrive in one chunk; memory is reserved for them only otherwise. */
const SMALL_BODY_BYTES = 64 * 1024

const CHUNKED_BYTES_FIRST = 4 * 1024

export const TOO_MANY_BODIES = problem('RATE_LIMITED', 'Too many request bodies in flight; retry later.', {
  retryAfterSeconds: 1,
})

const tooLarge = (bytesMax: number): Problem =>
  problem('PAYLOAD_TOO_LARGE', `The body exceeds the limit of ${bytesMax} bytes.`)
