import type { IncomingMessage, OutgoingHttpHeaders } from 'node:http'
import type { Readable } from 'node:stream'
import { addressBudgets, type ClientAddressOf, networkOf, plainAddress } from '../../auth/addresses.js'
import type { Authenticator, Caller, Credentials } from '../../auth/authenticate.js'
import type { Budget } from '../../auth/rate-limits.js'
import { AccessLog, SLOW_MS } from '../../http/access-log.js'
import { TOO_MANY_BODIES } from '../../http/exchange.js'
import { addressOfMessage } from '../../http/message-address.js'
import { CONNECTIONS_MAX } from '../../http/own-listener.js'
import { takeFrom, takeOrOwe } from '../../http/rate-limit.js'
import { countsOfListener, type RequestCounts } from '../../http/request-metrics.js'
import { CREDENTIALS_TRUSTED_MS } from '../../http/server.js'
import { Shares } from '../../http/shares.js'
import { traceIdOf } from '../../http/trace-id.js'
import { type Problem, problem } from '../../problems/problem-catalogue.js'
import type { Logger } from '../../telemetry/log.js'
import { type BegunSpan, endRequest, SPANS } from '../../telemetry/spans/spans.js'
import { traceparentOf } from '../../telemetry/spans/trace-context.js'
import type { AdmissionDeps } from '../admission/admission.js'
import { noRoomFor } from '../admission/room.js'
import { BodyBuffers, TakenBuffers } from '../bodies/body-buffers.js'
import { WholeCopy } from '../bodies/body-copy.js'
import { GrowingBytes } from '../bodies/growing-bytes.js'
import { admitSourceEvents } from './admit-source-events.js'
import { type BodyHolder, readIntakeBody } from './intake-body.js'
import {
  INTAKE_EVENTS_MAX,
  type IntakeAnswer,
  type IntakeRoute,
  type ReadBody,
  type RefusedRequest,
} from './intake-route.js'
import { keepDeclaredTags } from './kept-tags.js'
import { type Pace, PacedBytes } from './paced-bytes.js'
import { asProblemJson } from './problem-json.js'

export interface IntakeDeps {
  readonly authenticator: Authenticator
  /** For how long the credential mirror has been stale; 0 while it is current. */
  readonly credentialsAwayMs: () => number
  readonly clientAddressOf: ClientAddressOf
  readonly admission: AdmissionDeps
  /** What a tenant trusts its gateways with that callers could write. */
  readonly trustedFieldsOf: (tenantId: string, intake: string) => readonly string[]
  /** The folded tag keys that the tenant has declared. */
  readonly declaredTagsOf: (tenantId: string) => ReadonlySet<string>
  readonly room: IntakeRoom
  readonly errorDocsUrl: string
  readonly log: Logger
}

/** A request as it is read here: of HTTP, or a call of gRPC. */
export type IntakeMessage = Readable &
  Pick<IncomingMessage, 'url' | 'method' | 'headers' | 'headersDistinct'> & {
    readonly socket: { readonly remoteAddress?: string | undefined; readonly remotePort?: number | undefined }
  }

/** Where its answer goes. */
export interface IntakeResponse {
  readonly writableEnded: boolean
  readonly destroyed: boolean
  readonly writeHead: (status: number, headers: OutgoingHttpHeaders) => unknown
  readonly end: (body: Uint8Array) => unknown
}

export type IntakeRequests = (message: IntakeMessage, response: IntakeResponse) => Promise<void>

/** What all listeners of the intake have room for. */
export interface IntakeRoom {
  /** Bytes that are kept of bodies and for unpacking them: eight bodies in zstd for the first credential. */
  readonly memory: Shares
  /** Requests under way, most of which wait for the rest of their body. */
  readonly requests: Shares
  /** Turns of the event loop. */
  readonly pace: PacedBytes
}

export const intakeRoom = (): IntakeRoom => ({
  memory: new Shares(192 * 1024 * 1024),
  requests: new Shares(CONNECTIONS_MAX),
  pace: new PacedBytes(),
})

/** Answers requests: credential, limit, body, the route's `read`, admission, the route's `answer`. */
export function intakeRequests(routes: readonly IntakeRoute[], deps: IntakeDeps): IntakeRequests {
  const buffers = new BodyBuffers()
  const accessLog = new AccessLog(deps.log)
  const counts = countsOfListener('intake')
  const budgetOfAddress = addressBudgets()
  const routeAt = new Map(routes.map((route) => [route.path, route]))

  return async (message, response) => {
    const begunMs = deps.admission.clock()
    const { remoteAddress = '', remotePort = 0 } = message.socket
    const pace = deps.room.pace.of(networkOf(plainAddress(remoteAddress)), remotePort)
    // Node hands over thousands of requests in one turn of the event loop. Where one has its turn it is read at once, so
    // that few are under way.
    const turn = (bytes: number): Promise<void> => new Promise((resolve) => pace(bytes, resolve))
    await turn(firstBytesOf(message))
    const path = routePath(message.url ?? '')
    const route = routeAt.get(path)
    const address = addressOfMessage(message, deps.clientAddressOf)
    const request = new IntakeExchange(message, response, path, route, deps, begunMs, {
      buffers,
      accessLog,
      counts,
      pace,
    })
    try {
      if (route === undefined) {
        const budget = budgetOfAddress(address, deps.admission.clock())
        return request.refuse(takeFrom(budget, 1, deps.admission.clock()) ?? NO_SUCH_PATH)
      }
      const caller = admitCaller(message, route, address, deps)
      if ('problem' in caller) {
        request.budget = caller.exhausted
        return request.refuse(caller.problem)
      }
      request.take(caller)
      request.budget = caller.budgets.ingest
      const result = await handle(request, route, caller, deps)
      if (result === undefined) return
      // One message of the log may hold the events of hundreds of requests.
      await turn(0)
      if ('code' in result) {
        deps.admission.received.refused(caller, route.intake, result.code, deps.admission.clock())
        request.refuse(result)
      } else request.reply(result)
    } catch (cause) {
      deps.log.error({ err: cause, trace_id: request.traceId, path: route?.path }, 'intake request failed unexpectedly')
      request.refuse(problem('INTERNAL_ERROR', ''))
    } finally {
      request.releaseAll()
    }
  }
}

/** Of a piece of a body, as sockets bring it. */
const PIECE_BYTES = 64 * 1024

const firstBytesOf = ({ headers }: IntakeMessage): number =>
  Math.min(Number(headers['content-length'] ?? PIECE_BYTES), PIECE_BYTES)

type NoCaller = { readonly problem: Problem; readonly exhausted?: Budget | undefined }

function admitCaller(
  message: IntakeMessage,
  route: IntakeRoute,
  address: string,
  { authenticator, credentialsAwayMs, admission }: IntakeDeps,
): Caller | NoCaller {
  if (credentialsAwayMs() > CREDENTIALS_TRUSTED_MS) return { problem: CREDENTIALS_AWAY }
  const credentials = intakeCredentials(message)
  if ('code' in credentials) return { problem: credentials }
  const authentication = authenticator.authenticate(credentials, admission.clock(), { address })
  if (!authentication.ok) return authentication
  const methods: readonly (string | undefined)[] = route.methods
  if (methods.includes(message.method)) return authentication.caller
  const allow = route.methods.join(', ')
  return { problem: problem('METHOD_NOT_ALLOWED', `Allowed methods: ${allow}.`, { allow }) }
}

/** @returns undefined when the client has gone */
async function handle(
  request: IntakeExchange,
  route: IntakeRoute,
  caller: Caller,
  { admission, trustedFieldsOf, declaredTagsOf }: IntakeDeps,
): Promise<IntakeAnswer | Problem | undefined> {
  const { ingest } = caller.budgets
  // Before the body is read, whatever becomes of it; the other events once they are counted.
  const exhausted = takeFrom(ingest, 1, admission.clock())
  if (exhausted !== undefined) return exhausted
  if (!request.takePlace()) return TOO_MANY_BODIES
  const kept = new GrowingBytes(request.buffers)
  const copy = route.copy?.({ contentType: request.contentType, caller }, kept) ?? new WholeCopy(kept)
  if ('code' in copy) return copy
  const body = await readIntakeBody(request.message, request, copy)
  if (body === undefined || 'code' in body) return body
  const receivedAtMs = admission.clock()
  const asked = {
    contentType: request.contentType,
    caller: { ...caller, trustedFields: trustedFieldsOf(caller.tenantId, route.intake) },
    receivedAtMs,
    header: (name: string) => request.header(name),
  }
  const read: ReadBody = await route.read(body, asked, copy)
  if (read.kind === 'refused') return read.problem
  const { length } = read.events
  if (length > INTAKE_EVENTS_MAX) return TOO_MANY_EVENTS
  const refused = length > 0 ? noRoomFor(length, caller.tenantId, admission) : undefined
  if (refused !== undefined) return refused
  const limited = length > 1 ? takeOrOwe(ingest, length - 1, admission.clock()) : undefined
  if (limited !== undefined) return limited
  if (length > 0 && read.hasOwnSpans !== true) request.beginSpan()
  if (route.keepsTags !== true) keepDeclaredTags(read.events, declaredTagsOf(caller.tenantId))
  const sender = { ...caller, intake: route.intake, traceparent: request.traceparent }
  const admitted = await admitSourceEvents(read.events, sender, receivedAtMs, admission)
  if ('code' in admitted) return admitted
  admission.received.add(caller, route.intake, read.senders, receivedAtMs)
  return read.answer(admitted)
}

interface SharedByRequests {
  readonly pace: Pace
  readonly buffers: BodyBuffers
  readonly accessLog: AccessLog
  readonly counts: RequestCounts
}

/** One request and its answer, which is given once. */
class IntakeExchange implements BodyHolder {
  readonly message: IntakeMessage
  readonly traceId: string
  tenantId: string | null = null
  /** Shown in the RateLimit headers. */
  budget: Budget | undefined
  readonly buffers: TakenBuffers
  readonly pace: Pace
  private readonly response: IntakeResponse
  private readonly path: string
  private readonly route: IntakeRoute | undefined
  private readonly deps: IntakeDeps
  private readonly accessLog: AccessLog
  private readonly counts: RequestCounts
  private readonly begunMs: number
  private errorCode: string | undefined
  private span: BegunSpan | undefined
  private principal: string | undefined
  private heldBytes = 0
  private hasPlace = false

  constructor(
    message: IntakeMessage,
    response: IntakeResponse,
    path: string,
    route: IntakeRoute | undefined,
    deps: IntakeDeps,
    begunMs: number,
    { buffers, accessLog, counts, pace }: SharedByRequests,
  ) {
    this.message = message
    this.response = response
    this.path = path
    this.route = route
    this.deps = deps
    this.accessLog = accessLog
    this.counts = counts
    this.pace = pace
    this.begunMs = begunMs
    this.buffers = new TakenBuffers(buffers)
    this.traceId = traceIdOf(this.header('traceparent'))
  }

  get contentType(): string {
    return this.header('content-type')
  }

  /** Whether nobody waits for the answer any more. */
  get isSettled(): boolean {
    return this.response.writableEnded || this.response.destroyed
  }

  header(name: string): string {
    const value = this.message.headers[name]
    return typeof value === 'string' ? value : ''
  }

  take({ tenantId, principal }: Caller): void {
    this.tenantId = tenantId
    this.principal = principal
  }

  takePlace(): boolean {
    this.hasPlace = this.deps.room.requests.hold(1, this.tenantId, this.principal)
    return this.hasPlace
  }

  hold(bytes: number): boolean {
    if (!this.deps.room.memory.hold(bytes, this.tenantId, this.principal)) return false
    this.heldBytes += bytes
    return true
  }

  release(bytes: number): void {
    this.deps.room.memory.release(bytes, this.tenantId, this.principal)
    this.heldBytes -= bytes
  }

  releaseAll(): void {
    const { requests } = this.deps.room
    this.release(this.heldBytes)
    if (this.hasPlace) requests.release(1, this.tenantId, this.principal)
    this.hasPlace = false
    this.buffers.giveBack()
  }

  refuse(what: Problem): void {
    const { path: instance, traceId, tenantId, contentType } = this
    this.errorCode = what.code
    const request: RefusedRequest = { instance, traceId, tenantId, errorDocsUrl: this.deps.errorDocsUrl, contentType }
    this.reply((this.route?.writeProblem ?? asProblemJson)(what, request))
  }

  /**
   * Only a request that brings events is traced: others, refused ones among them, may bring spans of this product, and
   * a span of each would be exported with the next.
   */
  beginSpan(): void {
    if (SPANS.isOn) this.span = SPANS.beginRequest(this.header('traceparent'), () => this.traceId)
  }

  /** The context that the request's events carry through the stages, if it is sampled. */
  get traceparent(): string | undefined {
    return this.span && traceparentOf(this.span.context)
  }

  private note(status: number): void {
    const endMs = this.deps.admission.clock()
    const duration_ms = endMs - this.begunMs
    const route = this.route === undefined ? '' : `${this.message.method} ${this.route.path}`
    if (this.span !== undefined) endRequest(this.span, route, status, this.begunMs, endMs)
    this.counts.answered(status, duration_ms)
    if (status < 400 && duration_ms < SLOW_MS) return
    this.accessLog.note({ route, status, error_code: this.errorCode, trace_id: this.traceId, duration_ms })
  }

  reply({ status, headers, body }: IntakeAnswer): void {
    if (this.isSettled) return
    // The rest of a body that nobody reads: the connection ends with the answer, or a little later, so that its sender
    // can read the answer before it notices.
    const isUnread = !this.message.readableEnded
    const bytes = typeof body === 'string' ? Buffer.from(body) : body
    this.response.writeHead(status, {
      ...headers,
      ...rateLimitHeaders(this.budget, this.deps.admission.clock()),
      'Content-Length': bytes.length,
      ...(isUnread && { Connection: 'close' }),
    })
    this.response.end(bytes)
    this.note(status)
    if (isUnread) discardRest(this.message)
  }
}

/** Bytes of an unread body that are let pass before its connection is cut: cut at once, it would lose the answer. */
const DISCARDED_BYTES_MAX = 20 * 1024 * 1024

function discardRest(message: IntakeMessage): void {
  let size = 0
  message.on('data', (chunk: Buffer) => {
    size += chunk.length
    if (size > DISCARDED_BYTES_MAX) message.destroy()
  })
  message.resume()
}

function rateLimitHeaders(budget: Budget | undefined, nowMs: number): Record<string, string> {
  const lines = budget?.headerLines(nowMs).trim().split('\r\n') ?? []
  return Object.fromEntries(lines.map((line) => line.split(': ')))
}

/**
 * The path without its query. Exporters join an endpoint with a path of their own: slashes may be doubled or last, and
 * OTLP's paths may have a prefix, such as Langfuse's `/api/public/otel`.
 */
function routePath(url: string): string {
  const path = url.replace(/[?#].*$/s, '').replace(/\/{2,}/g, '/')
  return OTLP_PATH.exec(path)?.[0] ?? path.replace(/(?<=.)\/$/, '')
}
const OTLP_PATH = /\/v1(?:development)?\/(?:traces|logs|metrics|profiles)(?=\/?$)/

const NO_SUCH_PATH = problem('NOT_FOUND', 'No such path on the intake port; the API has a port of its own.')
const CREDENTIALS_AWAY = problem('SERVICE_UNAVAILABLE', 'Credentials cannot be verified right now.', {
  retryAfterSeconds: 1,
})
const TOO_MANY_EVENTS = problem('PAYLOAD_TOO_LARGE', `A body may hold at most ${INTAKE_EVENTS_MAX} events.`)

/**
 * The credentials of a request as the authenticator takes them. Besides what the API takes, Basic: many tools can send
 * nothing but a user and a password. The password is then the API key or the token; the user name is ignored.
 */
function intakeCredentials({ headersDistinct }: Pick<IncomingMessage, 'headersDistinct'>): Credentials | Problem {
  const [apiKey = '', ...otherKeys] = headersDistinct['x-api-key'] ?? []
  const [authorization = '', ...others] = headersDistinct['authorization'] ?? []
  if (otherKeys.length + others.length > 0) return REPEATED
  const basic = /^basic +([A-Za-z0-9+/]+={0,2})$/i.exec(authorization)?.[1]
  if (basic === undefined) return { apiKey, authorization }
  const text = Buffer.from(basic, 'base64').toString('latin1')
  return { apiKey, authorization: `Bearer ${text.slice(text.indexOf(':') + 1)}` }
}

const REPEATED = problem('MALFORMED_REQUEST', 'Headers X-API-Key and Authorization must not be repeated.')
