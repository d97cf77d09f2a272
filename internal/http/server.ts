import type { HttpRequest, HttpResponse, TemplatedApp, us_listen_socket } from 'uWebSockets.js'
import { addressBudgets, type ClientAddressOf, clientAddresses } from '../auth/addresses.js'
import type { Authenticator, Caller } from '../auth/authenticate.js'
import type { RateLimit } from '../auth/rate-limits.js'
import { type Problem, problem } from '../problems/problem-catalogue.js'
import type { ProblemForm } from '../problems/render.js'
import type { Logger } from '../telemetry/log.js'
import { AccessLog, type NotableAnswer } from './access-log.js'
import { type Build, buildOf } from './builds.js'
import { closeListener } from './close-listener.js'
import { Exchange, type ExchangeHooks } from './exchange.js'
import { reloadTls } from './node-http.js'
import { limitBy, takeFrom } from './rate-limit.js'
import { NO_HEADERS, readHeaders } from './request-headers.js'
import { countsOf, PROBES, type RequestCounts } from './request-metrics.js'
import { insufficientScope, isAdmitted, type Method, type Route, type TenantRoute, takesNoQuery } from './route.js'
import { Shares } from './shares.js'
import { followTlsFiles, type TlsFiles } from './tls.js'
import { turnNow } from './turn-clock.js'

export interface ServerSettings {
  readonly host: string
  readonly port: number
  readonly errorDocsUrl: string
  /** Rate limit per address over all public routes. Default: that of `addressBudgets`. */
  readonly addressLimit?: RateLimit
  /** Networks of proxies whose X-Forwarded-For counts, in CIDR notation. Default: none. */
  readonly trustedProxies?: readonly string[]
  /** Enables HTTPS. The files may be replaced at any time. */
  readonly tls?: TlsFiles | undefined
  /** Default: the newest build that answers every request. */
  readonly build?: Build
}

export interface ServerDeps {
  readonly authenticator: Authenticator
  /** Required if there are partner routes. */
  readonly partnerAuthenticator?: Authenticator
  /** For how long the credential mirror has been stale; 0 while it is current. */
  readonly credentialsAwayMs: () => number
  /** Aborts when the process is about to stop. */
  readonly leaving?: AbortSignal
  /** Asked by `OPTIONS /` and `OPTIONS *`, as HAProxy's plain `option httpchk` sends. Default: ready. */
  readonly readiness?: () => Problem | { readonly status: string }
  readonly log: Logger
}

/** How long ingestion trusts stale credentials. All other routes require current ones. */
export const CREDENTIALS_TRUSTED_MS = 15 * 60 * 1000

export interface RunningServer {
  readonly port: number
  /**
   * Accepts no new connections; resolves when every open request has its reply.
   *
   * @param isReplaced whether others take its place, to whom clients go without noticing
   */
  drain(isReplaced?: boolean): Promise<void>
}

/** @throws Error when the address cannot be listened on */
export async function serve(
  settings: ServerSettings,
  routes: readonly Route[],
  deps: ServerDeps,
): Promise<RunningServer> {
  const { build = buildOf('auto'), trustedProxies = [] } = settings
  const open = new OpenRequests(deps.log, clientAddresses(trustedProxies), build.name === 'node')
  deps.leaving?.addEventListener('abort', () => open.leave(), { once: true })
  const served: Served = { ...deps, budgetOfAddress: addressBudgets(settings.addressLimit) }
  const listening = await listenAndFollow(
    settings,
    build,
    (app) => register(app, settings, routes, served, open),
    deps.log,
  )
  return {
    port: listening.port,
    async drain(isReplaced = false) {
      open.leave()
      if (isReplaced) await closeListener(listening.close)
      else listening.close()
      return open.none()
    },
  }
}

function register(
  app: TemplatedApp,
  settings: ServerSettings,
  routes: readonly Route[],
  served: Served,
  open: OpenRequests,
): void {
  const formOf = problemForms(routes)
  const begin = (response: HttpResponse, request: HttpRequest) =>
    beginExchange(response, request, settings, open, formOf)
  for (const route of routes) {
    const counts = countsOfRoute(route)
    const serve = (exchange: Exchange | undefined, name: string): void => {
      if (exchange === undefined) return
      exchange.counts = counts
      exchange.route = name
      answer(exchange, route, served)
    }
    const name = `${METHOD_NAME[route.method]} ${route.path}`
    app[route.method](route.path, (response, request) => serve(begin(response, request), name))
    if (route.method !== 'get') continue
    const headName = `HEAD ${route.path}`
    app.head(route.path, (response, request) => serve(begin(withoutBody(response), request), headName))
  }
  const beginUnknown = (response: HttpResponse, request: HttpRequest) => {
    const exchange = begin(response, request)
    if (exchange === undefined) return undefined
    const refused =
      limitUnknown(exchange, served) ?? (KNOWN_METHODS.has(request.getMethod()) ? undefined : NO_SUCH_METHOD)
    if (refused === undefined) return exchange
    exchange.replyProblem(refused)
    return undefined
  }
  answerOtherMethods(app, routes, beginUnknown)
  app.options('/', (response, request) => {
    const exchange = begin(response, request)
    const readiness = served.readiness?.()
    if (readiness !== undefined && 'code' in readiness) exchange?.replyProblem(readiness)
    else exchange?.replyEmpty('204 No Content\r\nCache-Control: no-store')
  })
  app.any('/*', (response, request) => {
    const exchange = beginUnknown(fitting(response, request), request)
    exchange?.replyProblem(problem('NOT_FOUND', 'No such path.'))
  })
}

type FormOf = (path: string) => ProblemForm | undefined

/** Where a standard writes problems in its own way, it does so below its first segment, also on paths without route. */
function problemForms(routes: readonly Route[]): FormOf {
  const forms = new Map<string, ProblemForm>()
  for (const { path, problemForm } of routes) {
    if (problemForm !== undefined) forms.set(`/${path.split('/', 2)[1]}/`, problemForm)
  }
  const prefixes = [...forms]
  return (path) => prefixes.find(([prefix]) => path.startsWith(prefix))?.[1]
}

/** Of RFC 9110 and 5789: those that a path may have or lack. */
const KNOWN_METHODS: ReadonlySet<string> = new Set([
  ...['get', 'head', 'post', 'put', 'patch', 'delete', 'connect', 'options', 'trace'],
])
const NO_SUCH_METHOD = problem('NOT_IMPLEMENTED', 'No path of the service has this method.')

/** Of request bodies that are being received or processed, over all tenants. */
const BODY_BYTES_MAX = 256 * 1024 * 1024

/** Counts open requests and replies to those that fail. */
class OpenRequests implements ExchangeHooks {
  isLeaving = false
  readonly clientAddressOf: ClientAddressOf
  readonly isStrict: boolean
  private count = 0
  /** For bodies over 64 KiB. */
  private readonly memory = new Shares(BODY_BYTES_MAX)
  private whenNone: (() => void) | undefined
  private readonly log: Logger
  private readonly accessLog: AccessLog

  constructor(log: Logger, clientAddressOf: ClientAddressOf, isStrict: boolean) {
    this.log = log
    this.isStrict = isStrict
    this.clientAddressOf = clientAddressOf
    this.accessLog = new AccessLog(log)
  }

  leave(): void {
    this.isLeaving = true
  }

  opened(): void {
    this.count++
  }

  hold(bytes: number, tenantId: string | null): boolean {
    return this.memory.hold(bytes, tenantId)
  }

  release(bytes: number, tenantId: string | null): void {
    this.memory.release(bytes, tenantId)
  }

  settled(): void {
    if (--this.count === 0) this.whenNone?.()
  }

  notable(answer: NotableAnswer): void {
    this.accessLog.note(answer)
  }

  failed(exchange: Exchange, cause: unknown, isAnswered = false): void {
    if (isAnswered) logFailure(exchange, cause, this.log)
    else fail(exchange, cause, this.log)
  }

  none(): Promise<void> {
    if (this.count === 0) return Promise.resolve()
    return new Promise((resolve) => {
      this.whenNone = resolve
    })
  }
}

interface Served extends ServerDeps {
  readonly budgetOfAddress: ReturnType<typeof addressBudgets>
}

/** Wraps every route: credential, rate limit, scope, then the handler; an exception becomes a 500. */
function answer(exchange: Exchange, route: Route, deps: Served): void {
  try {
    if (route.access === 'public') {
      const isLimited = route.isProbe !== true && route.limitsItself !== true
      const limited = isLimited ? limitAddress(exchange, deps) : undefined
      if (limited !== undefined) return exchange.replyProblem(limited)
      watch(route.handle(exchange), exchange, deps.log)
      return
    }
    const caller = admitCaller(exchange, route, deps)
    if ('code' in caller) refuse(exchange, route, caller, deps)
    else watch(route.handle(exchange, caller), exchange, deps.log)
  } catch (cause) {
    fail(exchange, cause, deps.log)
  }
}

function limitAddress(exchange: Exchange, { budgetOfAddress }: Served): Problem | undefined {
  const nowMs = turnNow()
  return limitBy(budgetOfAddress(exchange.address, nowMs), exchange, nowMs)
}

/**
 * A request without a route is charged to the caller's reads, which the answer then shows; without a credential to the
 * address.
 */
function limitUnknown(exchange: Exchange, served: Served): Problem | undefined {
  const { apiKey, authorization } = exchange.headers
  if (apiKey === '' && authorization === '') return limitAddress(exchange, served)
  const nowMs = turnNow()
  const authentication = served.authenticator.authenticate(exchange.headers, nowMs, exchange)
  if (!authentication.ok) return limitAddress(exchange, served)
  const { tenantId, budgets } = authentication.caller
  exchange.tenantId = tenantId
  exchange.budget = budgets.read
  return takeFrom(budgets.read, 1, nowMs)
}

/** Why a request is denied, and its caller if known. */
type Refusal = Problem & { readonly deniedCaller?: Caller }

function refuse(exchange: Exchange, route: TenantRoute, refusal: Refusal, { log }: ServerDeps): void {
  const { deniedCaller, ...what } = refusal
  if (deniedCaller === undefined || route.whenDenied === undefined) return exchange.replyProblem(what)
  watch(route.whenDenied(exchange, deniedCaller, what), exchange, log)
}

function admitCaller(exchange: Exchange, route: TenantRoute, deps: ServerDeps): Caller | Refusal {
  if (deps.credentialsAwayMs() > (route.isIngestion === true ? CREDENTIALS_TRUSTED_MS : 0)) {
    return problem('SERVICE_UNAVAILABLE', 'Credentials cannot be verified right now.', { retryAfterSeconds: 1 })
  }
  const nowMs = turnNow()
  const authenticator = route.isForPartners === true ? deps.partnerAuthenticator : deps.authenticator
  if (authenticator === undefined) throw new Error(`no partner authenticator for ${route.path}`)
  const authentication = authenticator.authenticate(exchange.headers, nowMs, exchange)
  if (!authentication.ok) {
    exchange.budget = authentication.exhausted
    return authentication.problem
  }
  const { caller } = authentication
  const budget = caller.budgets[route.rateClass]
  exchange.tenantId = caller.tenantId
  exchange.budget = budget
  // Before all other checks: a refused request costs as much as a served one.
  const limited = route.chargesItself === true ? undefined : takeFrom(budget, 1, nowMs)
  if (limited !== undefined) return limited
  if (!isAdmitted(route.access, caller.scopes)) {
    return { ...insufficientScope(route.access), deniedCaller: caller }
  }
  if (exchange.query !== '' && takesNoQuery(route))
    return problem('INVALID_FILTER', 'This endpoint accepts no query parameters.')
  return caller
}

function countsOfRoute(route: Route): RequestCounts {
  if (route.access !== 'public') return countsOf(route.rateClass)
  return route.isProbe === true ? PROBES : countsOf('public')
}

/** The checks common to all requests. @returns undefined when the request was refused */
function beginExchange(
  response: HttpResponse,
  request: HttpRequest,
  settings: ServerSettings,
  open: OpenRequests,
  formOf: FormOf,
): Exchange | undefined {
  open.opened()
  const read = readHeaders(request)
  if (!read.ok) {
    const exchange = new Exchange(response, request, NO_HEADERS, settings.errorDocsUrl, open)
    exchange.problemForm = formOf(exchange.path)
    exchange.refuseAndClose(problem('MALFORMED_REQUEST', `Header ${read.repeated} must not be repeated.`))
    return undefined
  }
  const exchange = new Exchange(response, request, read.headers, settings.errorDocsUrl, open)
  exchange.problemForm = formOf(exchange.path)
  const { contentLength, transferEncoding } = read.headers
  const isChunked = transferEncoding !== ''
  if (isChunked && transferEncoding.toLowerCase() !== 'chunked') {
    exchange.refuseAndClose(problem('NOT_IMPLEMENTED', 'The only Transfer-Encoding is chunked.'))
    return undefined
  }
  if (isChunked && contentLength !== '') {
    // RFC 9112 section 6.1: an attempt to hide a request, as likely as not.
    exchange.refuseAndClose(problem('MALFORMED_REQUEST', 'Content-Length and Transfer-Encoding exclude each other.'))
    return undefined
  }
  if (!isChunked && contentLength === '' && carriesBody(request.getMethod())) {
    // A field with an empty name ends the header list: a length behind it is hidden, and its body would be the next
    // request.
    exchange.refuseAndClose(
      problem('LENGTH_REQUIRED', 'POST, PUT and PATCH need a Content-Length; without a body send "Content-Length: 0".'),
    )
    return undefined
  }
  const { host } = read.headers
  if (host !== lastHost) {
    if (!HOST.test(host)) {
      exchange.refuseAndClose(problem('MALFORMED_REQUEST', 'Exactly one valid Host header is required.'))
      return undefined
    }
    lastHost = host
  }
  if (exchange.path !== lastPath || exchange.query !== '') {
    if (!PLAIN_TARGET.test(exchange.path) || !PLAIN_TARGET.test(exchange.query)) {
      exchange.refuseAndClose(
        problem('MALFORMED_REQUEST', 'The request target must contain visible ASCII characters only.'),
      )
      return undefined
    }
    lastPath = exchange.path
  }
  return exchange
}

const carriesBody = (method: string): boolean => method === 'post' || method === 'put' || method === 'patch'

const PLAIN_TARGET = /^[\x21-\x7e]*$/
/** RFC 9112 section 3.2: exactly one, and valid; duplicates were refused before. */
const HOST = /^(?:[A-Za-z0-9_.-]{1,253}|\[[0-9A-Fa-f:.]{2,45}\])(?::\d{1,5})?$/
/** Cache of the last valid Host: almost every request repeats it. */
let lastHost = ''
/** Cache of the last valid path. */
let lastPath = ''

function watch(pending: void | Promise<void>, exchange: Exchange, log: Logger): void {
  pending?.catch((cause: unknown) => fail(exchange, cause, log))
}

function fail(exchange: Exchange, cause: unknown, log: Logger): void {
  logFailure(exchange, cause, log)
  exchange.replyProblem(problem('INTERNAL_ERROR', ''))
}

function logFailure({ traceId, path, loggedPath = path }: Exchange, cause: unknown, log: Logger): void {
  log.error({ err: cause, trace_id: traceId, path: loggedPath }, 'request failed unexpectedly')
}

function createApp({ uws }: Build, tls: TlsFiles | undefined): TemplatedApp {
  return tls === undefined ? uws.App() : uws.SSLApp({ cert_file_name: tls.certFile, key_file_name: tls.keyFile })
}

/**
 * Listens; with TLS, opens a second server on the same port whenever the certificate is replaced. New connections go to
 * the second server, open ones finish on the first. Node's own server takes the new certificate itself.
 */
async function listenAndFollow(
  settings: ServerSettings,
  build: Build,
  registerRoutes: (app: TemplatedApp) => void,
  log: Logger,
): Promise<{ readonly port: number; close(): void }> {
  const { tls } = settings
  const { uws } = build
  const open = async (port: number) => {
    const app = createApp(build, tls)
    registerRoutes(app)
    return { app, socket: await listen(app, { ...settings, port }) }
  }
  let listening = await open(settings.port)
  const port = uws.us_socket_local_port(listening.socket)
  const takeOver = async (files: TlsFiles): Promise<void> => {
    const before = listening
    if (build.name === 'node') reloadTls(before.app as never, files)
    else {
      listening = await open(port)
      uws.us_listen_socket_close(before.socket)
    }
    log.info('TLS certificate reloaded')
  }
  const refused = (cause: unknown): void => log.error({ err: cause }, 'cannot reload the TLS certificate')
  const stopFollowing = tls === undefined ? () => undefined : followTlsFiles(tls, () => takeOver(tls), refused)
  return {
    port,
    close() {
      uws.us_listen_socket_close(listening.socket)
      stopFollowing()
    },
  }
}

async function listen(app: TemplatedApp, { host, port }: ServerSettings): Promise<us_listen_socket> {
  const socket = await new Promise<us_listen_socket | false>((resolve) => {
    app.listen(host, port, resolve)
  })
  if (socket === false) throw new Error(`cannot listen on ${host}:${port}`)
  return socket
}

/** OPTIONS lists the methods of a path; any other method is a 405. */
function answerOtherMethods(
  app: TemplatedApp,
  routes: readonly Route[],
  begin: (response: HttpResponse, request: HttpRequest) => Exchange | undefined,
): void {
  const methodsOf = new Map<string, string[]>()
  for (const { path, method } of routes) methodsOf.set(path, [...(methodsOf.get(path) ?? []), METHOD_NAME[method]])
  for (const [path, methods] of methodsOf) {
    const allow = [...methods, ...(methods.includes('GET') ? ['HEAD'] : []), 'OPTIONS'].join(', ')
    app.options(path, (response, request) => {
      begin(response, request)?.replyEmpty(`204 No Content\r\nAllow: ${allow}\r\nCache-Control: no-store`)
    })
    app.any(path, (response, request) => {
      const exchange = begin(fitting(response, request), request)
      exchange?.replyProblem(problem('METHOD_NOT_ALLOWED', `Allowed methods: ${allow}.`, { allow }))
    })
  }
}

const METHOD_NAME: Record<Method, string> = { get: 'GET', post: 'POST', put: 'PUT', patch: 'PATCH', del: 'DELETE' }

const fitting = (response: HttpResponse, request: HttpRequest): HttpResponse =>
  request.getMethod() === 'head' ? withoutBody(response) : response

/**
 * Turns a GET reply into a HEAD reply: same headers and length, no body (RFC 9110 section 9.3.2). The length is written
 * as a header: when it is passed to `endWithoutBody`, this build of uWebSockets.js stops serving the connection.
 */
function withoutBody(response: HttpResponse): HttpResponse {
  let head = ''
  return new Proxy(response, {
    get(target, name, self) {
      if (name === 'writeStatus') {
        return (status: string | Buffer) => {
          head = status.toString()
          return self
        }
      }
      if (name === 'end') {
        return (body: string, isLast?: boolean) => {
          const length = Buffer.byteLength(body)
          if (isLast === true) return target.writeStatus(head).endWithoutBody(length, true)
          return target.writeStatus(`${head}\r\nContent-Length: ${length}`).endWithoutBody()
        }
      }
      if (name === 'tryEnd') {
        return (_: Uint8Array, size: number) => {
          target.writeStatus(`${head}\r\nContent-Length: ${size}`).endWithoutBody()
          return [true, true]
        }
      }
      if (name === 'endWithoutBody') return () => target.writeStatus(head).endWithoutBody()
      const value: unknown = Reflect.get(target, name)
      return typeof value === 'function' ? value.bind(target) : value
    },
  })
}
