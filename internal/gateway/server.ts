import uWS, { type HttpRequest, type HttpResponse, type TemplatedApp, type us_listen_socket } from 'uWebSockets.js'
import type { Authenticator, Caller } from '../auth/authenticate.js'
import { problem } from '../problems/catalogue.js'
import type { Logger } from '../telemetry/log.js'
import { Exchange, readHeaders } from './exchange.js'
import type { Method, Route } from './route.js'

export interface ServerSettings {
  readonly host: string
  readonly port: number
  readonly errorDocsUrl: string
}

export interface RunningServer {
  readonly port: number
  /** Takes no new connection, and resolves when every request that has come in is answered. */
  drain(): Promise<void>
}

/** @throws Error when the address cannot be listened on */
export async function serve(
  settings: ServerSettings,
  routes: readonly Route[],
  authenticator: Authenticator,
  log: Logger,
): Promise<RunningServer> {
  const app = uWS.App()
  const open = new OpenRequests()
  const begin = (response: HttpResponse, request: HttpRequest) => beginExchange(response, request, settings, open)
  for (const route of routes) {
    app[route.method](route.path, (response, request) => {
      const exchange = begin(response, request)
      if (exchange !== undefined) answer(exchange, route, authenticator, log)
    })
  }
  refuseOtherMethods(app, routes, begin)
  app.any('/*', (response, request) => {
    const exchange = begin(response, request)
    exchange?.replyProblem(problem('NOT_FOUND', 'No route has this path.'))
  })

  const socket = await new Promise<us_listen_socket | false>((resolve) => {
    app.listen(settings.host, settings.port, resolve)
  })
  if (socket === false) throw new Error(`cannot listen on ${settings.host}:${settings.port}`)
  return {
    port: uWS.us_socket_local_port(socket),
    drain: () => {
      uWS.us_listen_socket_close(socket)
      return open.none()
    },
  }
}

/** Counts the requests that are not answered yet. */
class OpenRequests {
  private count = 0
  private whenNone: (() => void) | undefined

  readonly opened = (): void => {
    this.count++
  }

  readonly settled = (): void => {
    if (--this.count === 0) this.whenNone?.()
  }

  none(): Promise<void> {
    if (this.count === 0) return Promise.resolve()
    return new Promise((resolve) => {
      this.whenNone = resolve
    })
  }
}

/** The one wrapper of every route: credential, scope, then the route; a throw becomes a 500. */
function answer(exchange: Exchange, route: Route, authenticator: Authenticator, log: Logger): void {
  try {
    if (route.access === 'public') {
      watch(route.handle(exchange), exchange, log)
      return
    }
    const authentication = authenticator.authenticate(exchange.headers, Date.now())
    if (!authentication.ok) {
      exchange.replyProblem(authentication.problem)
      return
    }
    const { caller } = authentication
    exchange.tenantId = caller.tenantId
    if (isAllowed(route.access, caller)) watch(route.handle(exchange, caller), exchange, log)
    else exchange.replyProblem(problem('INSUFFICIENT_SCOPE', `This needs the scope ${route.access}.`))
  } catch (cause) {
    fail(exchange, cause, log)
  }
}

/** Checks what concerns every request; undefined when it was refused here. */
function beginExchange(
  response: HttpResponse,
  request: HttpRequest,
  settings: ServerSettings,
  open: OpenRequests,
): Exchange | undefined {
  open.opened()
  const read = readHeaders(request)
  if (!read.ok) {
    const exchange = new Exchange(response, request, NO_HEADERS, settings.errorDocsUrl, open.settled)
    exchange.refuseAndClose(problem('MALFORMED_REQUEST', `The header ${read.repeated} may stand only once.`))
    return undefined
  }
  const exchange = new Exchange(response, request, read.headers, settings.errorDocsUrl, open.settled)
  if (read.headers.transferEncoding !== '') {
    // This parser's chunked decoding is lenient, so that two hops could see different bodies.
    exchange.refuseAndClose(
      problem('LENGTH_REQUIRED', 'Send the body with a Content-Length, not with Transfer-Encoding.'),
    )
    return undefined
  }
  if (!PLAIN_TARGET.test(exchange.path) || !PLAIN_TARGET.test(exchange.query)) {
    exchange.refuseAndClose(problem('MALFORMED_REQUEST', 'The request target may hold visible ASCII characters only.'))
    return undefined
  }
  return exchange
}

const PLAIN_TARGET = /^[\x21-\x7e]*$/

const NO_HEADERS = {
  host: '',
  contentLength: '',
  contentType: '',
  contentEncoding: '',
  transferEncoding: '',
  authorization: '',
  apiKey: '',
  idempotencyKey: '',
  traceparent: '',
} as const

const isAllowed = (access: Exclude<Route['access'], 'public'>, { scopes }: Caller): boolean =>
  access === 'any' ? scopes.size > 0 : scopes.has(access)

function watch(pending: void | Promise<void>, exchange: Exchange, log: Logger): void {
  pending?.catch((cause: unknown) => fail(exchange, cause, log))
}

function fail(exchange: Exchange, cause: unknown, log: Logger): void {
  const { traceId, path } = exchange
  log.error({ err: cause, trace_id: traceId, path }, 'a request failed unexpectedly')
  exchange.replyProblem(problem('INTERNAL_ERROR', ''))
}

function refuseOtherMethods(
  app: TemplatedApp,
  routes: readonly Route[],
  begin: (response: HttpResponse, request: HttpRequest) => Exchange | undefined,
): void {
  const methodsOf = new Map<string, string[]>()
  for (const { path, method } of routes) methodsOf.set(path, [...(methodsOf.get(path) ?? []), METHOD_NAME[method]])
  for (const [path, methods] of methodsOf) {
    const allow = methods.join(', ')
    app.any(path, (response, request) => {
      const exchange = begin(response, request)
      exchange?.replyProblem(problem('METHOD_NOT_ALLOWED', `This path takes ${allow}.`, { allow }))
    })
  }
}

const METHOD_NAME: Record<Method, string> = { get: 'GET', post: 'POST', patch: 'PATCH', del: 'DELETE' }
