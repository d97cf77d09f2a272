import { isBrokerAway } from '../broker/errors.js'
import { Attempts, networkOf, tooManyAttempts } from '../gateway/address-limit.js'
import type { Exchange } from '../gateway/exchange.js'
import { takeFrom } from '../gateway/rate-limit.js'
import { type Problem, problem } from '../problems/catalogue.js'
import type { OAuthDeps } from './authorization-server.js'
import { authenticateClient } from './client-authentication.js'
import type { StoredClient } from './clients.js'
import { oauthProblem, oauthProblemForm } from './errors.js'
import { isFormType, type Parameters, readParameters } from './form.js'

const BODY_BYTES_MAX = 16 * 1024

/**
 * Failed authentications an address: a client's secret has 256 random bits, so that this is there to keep noise down.
 * It never holds up a client that authenticates, whoever else shares its address.
 */
const FAILURES_PER_ADDRESS = { perSecond: 1, burst: 20 } as const

const TOO_MANY_FAILURES = 'Too many attempts to authenticate have failed; try again later.'

export const AWAY = problem('SERVICE_UNAVAILABLE', 'Credentials cannot be checked now.', { retryAfterSeconds: 1 })

/** What a route does for an authenticated client. */
export type ServeClient = (exchange: Exchange, client: StoredClient, form: Parameters) => Promise<void>

/** The frame of the routes that clients post a form to: reads it, authenticates the client, takes from its budget. */
export function clientRequests(deps: OAuthDeps, serve: ServeClient): (exchange: Exchange) => void {
  const failures = new Attempts(FAILURES_PER_ADDRESS)

  const serveForm = (exchange: Exchange, address: string, body: Buffer): Promise<void> | undefined => {
    const form = readParameters(body.toString('utf8'))
    if (form === undefined) {
      exchange.replyProblem(oauthProblem('invalid_request', 'A parameter stands twice, or the form cannot be read.'))
      return undefined
    }
    const nowMs = deps.clock()
    const authentication = authenticateClient(deps.mode, deps.findClient, exchange.headers.authorization, form)
    if (!authentication.ok) {
      const isFailure = authentication.problem.error === 'invalid_client'
      const waitMs = isFailure ? failures.take(networkOf(address), nowMs) : 0
      exchange.replyProblem(waitMs === 0 ? authentication.problem : tooManyAttempts(TOO_MANY_FAILURES, waitMs))
      return undefined
    }
    const { client } = authentication
    const budget = deps.budgetsOf(client.tenant_id, client.id).token
    exchange.tenantId = client.tenant_id
    exchange.budget = budget
    const exhausted = takeFrom(budget, 1, nowMs)
    if (exhausted === undefined) return serve(exchange, client, form)
    exchange.replyProblem(exhausted)
    return undefined
  }

  return (exchange) => {
    exchange.problemForm = oauthProblemForm(exchange.header('accept'))
    const refusal = unreadable(exchange, deps)
    if (refusal !== undefined) return exchange.refuseAndClose(refusal)
    const address = exchange.remoteAddress()
    exchange.readBody(BODY_BYTES_MAX, (body) => {
      serveForm(exchange, address, body)?.catch((cause: unknown) => answerFailure(exchange, cause))
    })
  }
}

/** A broker that is away is no defect; what was asked of it may have happened all the same. */
export function answerFailure(exchange: Exchange, cause: unknown): void {
  if (isBrokerAway(cause)) exchange.replyProblem(AWAY)
  else exchange.fail(cause)
}

/** Why the body need not be read. */
function unreadable(exchange: Exchange, deps: OAuthDeps): Problem | undefined {
  if (!deps.isBrokerUp()) return AWAY
  // Parameters in an address end up in logs (RFC 6749 2.3.1).
  if (exchange.query !== '') return oauthProblem('invalid_request', 'The parameters belong into the body.')
  if (isFormType(exchange.headers.contentType)) return undefined
  return problem('UNSUPPORTED_MEDIA_TYPE', 'The body must be application/x-www-form-urlencoded.')
}
