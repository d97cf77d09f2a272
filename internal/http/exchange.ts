import type { HttpRequest, HttpResponse } from 'uWebSockets.js'
import { randomBytes } from 'node:crypto'
import { plainAddress } from '../auth/addresses.js'
import type { Budget } from '../auth/rate-limits.js'
import { type Problem, problem } from '../problems/catalogue.js'
import { type ProblemForm, type RenderedProblem, renderProblem } from '../problems/render.js'
import { turnNow } from './turn-clock.js'

/** The request headers that matter to us, read at once: uWebSockets.js recycles the request after the handler. */
export interface RequestHeaders {
  host: string
  contentLength: string
  contentType: string
  contentEncoding: string
  transferEncoding: string
  authorization: string
  apiKey: string
  idempotencyKey: string
  traceparent: string
}

/** Written out: a copy of another object costs a multiple, and every request takes one. */
const noHeaders = (): RequestHeaders => ({
  host: '',
  contentLength: '',
  contentType: '',
  contentEncoding: '',
  transferEncoding: '',
  authorization: '',
  apiKey: '',
  idempotencyKey: '',
  traceparent: '',
})
export const NO_HEADERS: Readonly<RequestHeaders> = noHeaders()

type ReadHeaders =
  | { readonly ok: true; readonly headers: RequestHeaders }
  | { readonly ok: false; readonly repeated: string }

/** What `readHeaders` is reading; uWebSockets.js calls back within the call, so that one callback serves all requests. */
let reading = noHeaders()
let repeated = ''
let seen = 0
const readHeader = (name: string, value: string): void => {
  if (!keep(name, value)) return
  // The names differ in length.
  const bit = 1 << name.length
  if ((seen & bit) !== 0) repeated = name
  seen |= bit
}

/** Keeps a header that is one of ours. The names differ in length, so that few characters are compared. */
function keep(name: string, value: string): boolean {
  switch (name.length) {
    case 4:
      if (name !== 'host') return false
      reading.host = value
      return true
    case 9:
      if (name !== 'x-api-key') return false
      reading.apiKey = value
      return true
    case 11:
      if (name !== 'traceparent') return false
      reading.traceparent = value
      return true
    case 12:
      if (name !== 'content-type') return false
      reading.contentType = value
      return true
    case 13:
      if (name !== 'authorization') return false
      reading.authorization = value
      return true
    case 14:
      if (name !== 'content-length') return false
      reading.contentLength = value
      return true
    case 15:
      if (name !== 'idempotency-key') return false
      reading.idempotencyKey = value
      return true
    case 16:
      if (name !== 'content-encoding') return false
      reading.contentEncoding = value
      return true
    case 17:
      if (name !== 'transfer-encoding') return false
      reading.transferEncoding = value
      return true
    default:
      return false
  }
}

/**
 * Reads the headers in one pass. `getHeader` would show only the first of several equal fields, so that a
 * repeated one is found here and refused: two hops could each believe another of them.
 */
export function readHeaders(request: HttpRequest): ReadHeaders {
  reading = noHeaders()
  repeated = ''
  seen = 0
  request.forEach(readHeader)
  return repeated === '' ? { ok: true, headers: reading } : { ok: false, repeated }
}

/** What the server wants to know of an exchange. */
export interface ExchangeHooks {
  /**
   * Room for a body that comes in parts, or grows; false when too much is held already, by all or by its tenant. Given
   * back by `settled`.
   *
   * @param tenantId null where nobody is authenticated
   */
  hold(bytes: number, tenantId: string | null): boolean
  /** @param tenantId the one for whom bytes are held */
  settled(heldBytes: number, tenantId: string | null): void
  /** @param isAnswered whether an answer has begun, and there can be no other */
  failed(exchange: Exchange, cause: unknown, isAnswered?: boolean): void
}

/** What `Exchange.reply` is writing: `cork` calls back within the call. */
let answering: HttpResponse
let answerHead: Buffer = Buffer.alloc(0)
let answerBody: string | Uint8Array = ''
const writeAnswer = (): void => {
  answering.writeStatus(answerHead).end(answerBody)
}

/**
 * A head with its lines as bytes. The answers of a group have the same ones, and uWebSockets.js takes bytes at a fraction
 * of what a string costs: 0.6 us less a request.
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

/** One request and its answer. Exactly one of the `reply` methods has effect; none has after the client left. */
export class Exchange {
  readonly path: string
  readonly query: string
  readonly headers: Readonly<RequestHeaders>
  readonly parameter: string
  /** The caller's tenant, for problem bodies; null before authentication. */
  tenantId: string | null = null
  /** The budget that the caller's fields show; none before authentication. */
  budget: Budget | undefined
  /** Its path where that may be written down; a path that is a permission may not. */
  loggedPath: string | undefined
  /** How its problems are written, where not plainly. */
  problemForm: ProblemForm | undefined
  private settled = false
  private readonly hooks: ExchangeHooks
  private whenAborted: (() => void) | undefined
  private readonly response: HttpResponse
  private readonly request: HttpRequest
  private readonly errorDocsUrl: string
  private trace = ''
  private peer: string | undefined
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
    this.errorDocsUrl = errorDocsUrl
    this.hooks = hooks
    this.path = request.getUrl()
    this.query = request.getQuery() ?? ''
    this.parameter = request.getParameter(0) ?? ''
    response.onAborted(() => {
      if (this.settled) return
      this.settle()
      this.whenAborted?.()
    })
  }

  /** True once answered, or when the client has gone. */
  get isSettled(): boolean {
    return this.settled
  }

  /** The first value of a header that few routes ask for; empty when absent. Only until the route's handler returns. */
  header(name: string): string {
    return this.request.getHeader(name)
  }

  /** Called when the client leaves before it was answered. */
  onAborted(stop: () => void): void {
    this.whenAborted = stop
  }

  /** The peer's. Whoever wants it in a later turn calls `keepAddress` in the handler's own. */
  get address(): string {
    this.peer ??= plainAddress(Buffer.from(this.response.getRemoteAddressAsText()).toString('latin1'))
    return this.peer
  }

  /** uWebSockets.js forgets the address when the caller leaves. */
  keepAddress(): void {
    this.peer ??= this.address
  }

  /** 32 hex digits: of the caller's traceparent, else our own. */
  get traceId(): string {
    if (this.trace === '') {
      const given = /^00-([0-9a-f]{32})-[0-9a-f]{16}-[0-9a-f]{2}$/.exec(this.headers.traceparent)?.[1]
      this.trace = given !== undefined && !/^0+$/.test(given) ? given : randomBytes(16).toString('hex')
    }
    return this.trace
  }

  /** Goes on in the trace of an answer that is given again, unless the caller named one of its own. */
  continueTrace(traceId: string): void {
    if (this.headers.traceparent === '') this.trace = traceId
  }

  /** Room for bytes that are worked with beside the body, until it is answered; false when too much is held already. */
  hold(bytes: number): boolean {
    // All that a request holds is its first tenant's: one that a body names comes after the body.
    const heldFor = this.heldBytes === 0 ? this.tenantId : this.heldFor
    if (this.settled || !this.hooks.hold(bytes, heldFor)) return false
    this.heldFor = heldFor
    this.heldBytes += bytes
    return true
  }

  /**
   * Reads the whole body, `bytesMax` at most, and gives it to `then` once. A longer one is refused and the
   * connection closed. Bytes that are lent are the caller's to read only within `then`.
   */
  readBody(bytesMax: number, then: (bytes: Buffer, areLent: boolean) => void): void {
    const announced = Number(this.headers.contentLength)
    if (!Number.isSafeInteger(announced) || announced < 0) {
      this.refuseAndClose(problem('MALFORMED_REQUEST', 'The Content-Length is no length.'))
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
      // uWebSockets.js takes the chunk's memory back after this call, and parts a body by its announced length.
      if (body === undefined) {
        if (this.heldBytes === 0 && !this.hold(announced)) return this.refuseAndClose(TOO_MANY_BODIES)
        body = Buffer.allocUnsafeSlow(announced)
      }
      body.set(new Uint8Array(chunk), size)
      size += chunk.byteLength
      if (isLast) this.guard(then, body, false)
    })
  }

  /** A throw in a callback of uWebSockets.js would end the process. */
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
    if (this.settled) return
    this.settle()
    answering = this.response
    answerHead = headBytes(head, this.commonLines())
    answerBody = body
    this.response.cork(writeAnswer)
  }

  /**
   * A reply whose body comes in parts, never faster than the client takes it. Once the first part is on its way a
   * failure can only be told by an end before the announced one.
   *
   * @param head as of `reply`
   * @param size of the whole body, bytes; more than 0
   */
  async replyStream(head: string, size: number, parts: AsyncIterable<Uint8Array>): Promise<void> {
    if (this.settled) return
    let hasBegun = false
    let wake: () => void = () => undefined
    this.whenAborted = () => wake()
    try {
      for await (const part of parts) {
        if (this.settled) return
        let [isTaken, isDone] = [false, false]
        const from = this.response.getWriteOffset()
        this.response.cork(() => {
          if (!hasBegun) this.response.writeStatus(head + this.commonLines())
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
        if (isDone && !this.settled) return this.settle()
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
    if (this.settled) return
    this.settle()
    const whole = head + this.commonLines()
    this.response.cork(() => {
      this.response.writeStatus(whole).endWithoutBody()
    })
  }

  replyJson(status: string, value: unknown): void {
    this.reply(`${status}\r\nContent-Type: application/json\r\nCache-Control: no-store`, JSON.stringify(value))
  }

  replyProblem(problem: Problem): void {
    const rendered = this.render(problem)
    this.reply(headOf(rendered), rendered.body)
  }

  /**
   * Answers and closes the connection. Within the handler a closing answer would still let a pipelined request be
   * served, so that it is given in the next turn (measured on this build of uWebSockets.js).
   */
  refuseAndClose(problem: Problem): void {
    if (this.settled) return
    const rendered = this.render(problem)
    setImmediate(() => {
      if (this.settled) return
      this.settle()
      this.response.cork(() => {
        this.response.writeStatus(headOf(rendered) + this.commonLines()).end(rendered.body, true)
      })
    })
  }

  /** Logs an unexpected failure and answers it with a 500. */
  fail(cause: unknown): void {
    this.hooks.failed(this, cause)
  }

  /** What every answer carries beside its own headers: the caller's budget, and the trace where anybody knows of one. */
  private commonLines(): string {
    const lines = this.budget === undefined ? '' : this.budget.headerLines(turnNow())
    return this.trace === '' && this.headers.traceparent === '' ? lines : lines + this.traceLine()
  }

  /** Our own place in the trace (W3C Trace Context); nothing is sampled here. */
  private traceLine(): string {
    return `\r\ntraceparent: 00-${this.traceId}-${randomBytes(8).toString('hex')}-00`
  }

  private settle(): void {
    this.settled = true
    this.hooks.settled(this.heldBytes, this.heldFor)
  }

  private render(what: Problem): RenderedProblem {
    const { traceId, tenantId, errorDocsUrl } = this
    return renderProblem(what, { instance: this.path, traceId, tenantId, errorDocsUrl }, this.problemForm)
  }
}

/** uWebSockets.js writes the status text as it is, so that fixed headers can ride on it in one call. */
const headOf = ({ status, headers }: RenderedProblem): string =>
  headers.reduce((head, [name, value]) => `${head}\r\n${name}: ${value}`, status)

/** Smaller bodies come in one part as a rule: they are counted only if they do not. */
const SMALL_BODY_BYTES = 64 * 1024

export const TOO_MANY_BODIES = problem('RATE_LIMITED', 'Too many bodies are on their way; try again.', {
  retryAfterSeconds: 1,
})

const tooLarge = (bytesMax: number): Problem =>
  problem('PAYLOAD_TOO_LARGE', `The body may have at most ${bytesMax} bytes.`)
