import type { HttpRequest, HttpResponse } from 'uWebSockets.js'
import { randomBytes } from 'node:crypto'
import { type Problem, problem } from '../problems/catalogue.js'
import { type RenderedProblem, renderProblem } from '../problems/render.js'

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

type ReadHeaders =
  | { readonly ok: true; readonly headers: RequestHeaders }
  | { readonly ok: false; readonly repeated: string }

const FIELD_OF = new Map<string, keyof RequestHeaders>([
  ['host', 'host'],
  ['content-length', 'contentLength'],
  ['content-type', 'contentType'],
  ['content-encoding', 'contentEncoding'],
  ['transfer-encoding', 'transferEncoding'],
  ['authorization', 'authorization'],
  ['x-api-key', 'apiKey'],
  ['idempotency-key', 'idempotencyKey'],
  ['traceparent', 'traceparent'],
])

/**
 * Reads the headers in one pass. `getHeader` would show only the first of several equal fields, so that a
 * repeated one is found here and refused: two hops could each believe another of them.
 */
export function readHeaders(request: HttpRequest): ReadHeaders {
  const headers: RequestHeaders = {
    host: '',
    contentLength: '',
    contentType: '',
    contentEncoding: '',
    transferEncoding: '',
    authorization: '',
    apiKey: '',
    idempotencyKey: '',
    traceparent: '',
  }
  let seen = 0
  let repeated = ''
  request.forEach((name, value) => {
    const field = FIELD_OF.get(name)
    if (field === undefined) return
    const bit = 1 << BIT_OF[field]
    if ((seen & bit) !== 0) repeated = name
    seen |= bit
    headers[field] = value
  })
  return repeated === '' ? { ok: true, headers } : { ok: false, repeated }
}

const BIT_OF = Object.fromEntries([...FIELD_OF.values()].map((field, i) => [field, i])) as Record<
  keyof RequestHeaders,
  number
>

export type Body = { readonly ok: true; readonly bytes: Buffer } | { readonly ok: false; readonly problem: Problem }

/** One request and its answer. Exactly one of the `reply` methods has effect; none has after the client left. */
export class Exchange {
  readonly path: string
  readonly query: string
  readonly headers: RequestHeaders
  readonly parameter: string
  /** The caller's tenant, for problem bodies; null before authentication. */
  tenantId: string | null = null
  private settled = false
  private readonly whenSettled: () => void
  private whenAborted: (() => void) | undefined
  private readonly response: HttpResponse
  private readonly errorDocsUrl: string
  private trace = ''

  constructor(
    response: HttpResponse,
    request: HttpRequest,
    headers: RequestHeaders,
    errorDocsUrl: string,
    whenSettled: () => void,
  ) {
    this.response = response
    this.headers = headers
    this.errorDocsUrl = errorDocsUrl
    this.whenSettled = whenSettled
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

  /** Called when the client leaves before it was answered. */
  onAborted(stop: () => void): void {
    this.whenAborted = stop
  }

  /** 32 hex digits: of the caller's traceparent, else our own. */
  get traceId(): string {
    if (this.trace === '') {
      const given = /^00-([0-9a-f]{32})-[0-9a-f]{16}-[0-9a-f]{2}$/.exec(this.headers.traceparent)?.[1]
      this.trace = given !== undefined && !/^0+$/.test(given) ? given : randomBytes(16).toString('hex')
    }
    return this.trace
  }

  /**
   * Reads the whole body, `bytesMax` at most, and gives it to `then` once. A longer one is refused and the
   * connection closed. The bytes are the caller's to keep only within `then`.
   */
  readBody(bytesMax: number, then: (bytes: Buffer) => void): void {
    if (Number(this.headers.contentLength) > bytesMax) {
      this.refuseAndClose(tooLarge(bytesMax))
      return
    }
    let held: Buffer[] | undefined
    let size = 0
    this.response.onData((chunk, isLast) => {
      if (this.settled) return
      size += chunk.byteLength
      if (size > bytesMax) return this.refuseAndClose(tooLarge(bytesMax))
      const bytes = Buffer.from(chunk)
      if (isLast && held === undefined) return then(bytes)
      // uWebSockets.js takes the chunk's memory back after this call.
      held ??= []
      held.push(Buffer.copyBytesFrom(bytes))
      if (isLast) then(Buffer.concat(held, size))
    })
  }

  /** @param head status line's code and reason, with further header lines after CRLF (see `head`) */
  reply(head: string, body: string): void {
    if (this.settled) return
    this.settle()
    this.response.cork(() => {
      this.response.writeStatus(head).end(body)
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
        this.response.writeStatus(headOf(rendered)).end(rendered.body, true)
      })
    })
  }

  private settle(): void {
    this.settled = true
    this.whenSettled()
  }

  private render(what: Problem): RenderedProblem {
    const { traceId, tenantId, errorDocsUrl } = this
    return renderProblem(what, { instance: this.path, traceId, tenantId, errorDocsUrl })
  }
}

/** uWebSockets.js writes the status text as it is, so that fixed headers can ride on it in one call. */
const headOf = ({ status, headers }: RenderedProblem): string =>
  headers.reduce((head, [name, value]) => `${head}\r\n${name}: ${value}`, status)

const tooLarge = (bytesMax: number): Problem =>
  problem('PAYLOAD_TOO_LARGE', `The body may have at most ${bytesMax} bytes.`)
