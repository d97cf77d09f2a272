import { networkOf } from '../../auth/addresses.js'
import { KeyedBudgets } from '../../auth/keyed-budgets.js'
import type { Budget } from '../../auth/rate-limits.js'
import { isBrokerUnavailable } from '../../broker/errors.js'
import type { Exchange } from '../../http/exchange.js'
import { NotAudited } from '../../http/mutations/audited.js'
import { takeFrom } from '../../http/rate-limit.js'
import { type Problem, problem } from '../../problems/catalogue.js'
import { recordDeed, type TokenDeed } from './audit.js'
import type { OAuthDeps } from './authorization-server.js'
import { authenticateClient } from './client-authentication.js'
import type { StoredClient } from './clients.js'
import { type OAuthProblem, oauthProblem, oauthProblemForm } from './errors.js'
import { isFormType, type Parameters, readParameters } from './form.js'

const BODY_BYTES_MAX = 16 * 1024

/**
 * Failed authentications an address: a client's secret has 256 random bits, so that this is there to keep noise down.
 * It never holds up a client that authenticates, whoever else shares its address.
 */
const FAILURES_PER_ADDRESS = { perSecond: 1, burst: 20 } as const

const ADDRESSES_MAX = 20_000

const TOO_MANY_FAILURES = 'Too many attempts to authenticate have failed; try again later.'

export const AWAY = problem('SERVICE_UNAVAILABLE', 'Credentials cannot be checked now.', { retryAfterSeconds: 1 })

/** What a route does for an authenticated client. */
export type ServeClient = (exchange: Exchange, client: StoredClient, form: Parameters) => Promise<void>

/**
 * The frame of the routes that clients post a form to: reads it, authenticates the client, takes from its budget.
 *
 * @param action what a client that does not authenticate is refused, for the audit log
 */
export function clientRequests(
  deps: OAuthDeps,
  action: TokenDeed['action'],
  serve: ServeClient,
): (exchange: Exchange) => void {
  const failures = new KeyedBudgets(FAILURES_PER_ADDRESS, ADDRESSES_MAX)

  const refuse = async (exchange: Exchange, problem: OAuthProblem, named: StoredClient | undefined): Promise<void> => {
    if (problem.error === 'invalid_client') {
      const nowMs = deps.clock()
      const budget = failures.of(networkOf(exchange.address), nowMs)
      const waitMs = budget.take(1, nowMs)
      if (waitMs > 0) return refuseAttempt(exchange, TOO_MANY_FAILURES, { budget, waitMs })
      const [tenantId, target] = [named?.tenant_id ?? null, named?.id ?? null]
      await recordDeed(deps, exchange, { action, tenantId, actor: null, target, refusal: problem })
    }
    exchange.replyProblem(problem)
  }

  const serveForm = async (exchange: Exchange, body: Buffer): Promise<void> => {
    const form = readParameters(body.toString('utf8'))
    if (form === undefined) {
      const detail = 'A parameter stands twice, or the form cannot be read.'
      return exchange.replyProblem(oauthProblem('invalid_request', detail))
    }
    const authentication = authenticateClient(deps.mode, deps.findClient, exchange.headers.authorization, form)
    if (!authentication.ok) return refuse(exchange, authentication.problem, authentication.named)
    const { client } = authentication
    const budget = deps.budgetsOf(client.tenant_id, client.id).token
    exchange.tenantId = client.tenant_id
    exchange.budget = budget
    const exhausted = takeFrom(budget, 1, deps.clock())
    if (exhausted !== undefined) return exchange.replyProblem(exhausted)
    await serve(exchange, client, form)
  }

  return (exchange) => {
    exchange.problemForm = oauthProblemForm(exchange.header('accept'))
    const refusal = unreadable(exchange, deps)
    if (refusal !== undefined) return exchange.refuseAndClose(refusal)
    exchange.keepAddress()
    exchange.readBody(BODY_BYTES_MAX, (body) => {
      serveForm(exchange, body).catch((cause: unknown) => answerFailure(exchange, cause))
    })
  }
}

/** A broker that is away is no defect; what was asked of it may have happened all the same. */
export function answerFailure(exchange: Exchange, cause: unknown): void {
  if (isBrokerUnavailable(cause) || cause instanceof NotAudited) exchange.replyProblem(AWAY)
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

/** What has no attempt left, and how long until it has one. */
export interface Exhausted {
  readonly budget: Budget
  readonly waitMs: number
}

export const tooManyAttempts = (detail: string, { waitMs }: Exhausted): Problem =>
  problem('RATE_LIMITED', detail, { retryAfterSeconds: Math.max(1, Math.ceil(waitMs / 1_000)) })

function refuseAttempt(exchange: Exchange, detail: string, exhausted: Exhausted): void {
  exchange.budget = exhausted.budget
  exchange.replyProblem(tooManyAttempts(detail, exhausted))
}
