import { networkOf } from '../../auth/addresses.js'
import { KeyedBudgets } from '../../auth/keyed-budgets.js'
import type { Budget } from '../../auth/rate-limits.js'
import { isBrokerUnavailable } from '../../broker/errors.js'
import type { Exchange } from '../../http/exchange.js'
import { NotAudited } from '../../http/mutations/audited.js'
import { takeFrom } from '../../http/rate-limit.js'
import { type Problem, problem } from '../../problems/problem-catalogue.js'
import { authenticateClient } from './client-authentication.js'
import type { StoredClient } from './clients.js'
import { isFormType, type Parameters, readParameters } from './form.js'
import { recordTokenAction, type TokenAction } from './oauth-audit.js'
import type { OAuthDeps } from './oauth-deps.js'
import { type OAuthProblem, oauthProblem, oauthProblemForm } from './oauth-errors.js'

const BODY_BYTES_MAX = 16 * 1024

/**
 * Failed authentications per address. A client secret has 256 random bits, so that guessing is hopeless: the limit
 * keeps the audit log quiet. It never affects a client that authenticates, even from the same address.
 */
const FAILURES_PER_ADDRESS = { perSecond: 1, burst: 20 } as const

const ADDRESSES_MAX = 20_000

/** Requests that name a public client, per address: someone who reads its id must not use up the budget of others. */
const PUBLIC_PER_ADDRESS = { perSecond: 20, burst: 100 } as const

const TOO_MANY_FAILURES = 'Too many failed authentication attempts; try again later.'

export const CREDENTIALS_UNAVAILABLE = problem('SERVICE_UNAVAILABLE', 'Credentials cannot be checked at the moment.', {
  retryAfterSeconds: 1,
})

/** Handles a route's request from an authenticated client. */
export type ServeClient = (exchange: Exchange, client: StoredClient, form: Parameters) => Promise<void>

/**
 * The common part of the routes to which clients post a form: reads it, authenticates the client, charges its budget.
 *
 * @param action audited as refused when the client does not authenticate
 */
export function clientRequests(
  deps: OAuthDeps,
  action: TokenAction['action'],
  serve: ServeClient,
): (exchange: Exchange) => void {
  const requests = formRequests(deps, action)
  return (exchange) => requests(exchange, serve)
}

/** The same, where each request is served by what was read from its head. */
export function formRequests(
  deps: OAuthDeps,
  action: TokenAction['action'],
): (exchange: Exchange, serve: ServeClient) => void {
  const failures = new KeyedBudgets(FAILURES_PER_ADDRESS, ADDRESSES_MAX)
  const publicRequests = new KeyedBudgets(PUBLIC_PER_ADDRESS, ADDRESSES_MAX)

  const refuse = async (exchange: Exchange, problem: OAuthProblem, named: StoredClient | undefined): Promise<void> => {
    if (problem.error === 'invalid_client') {
      const nowMs = deps.clock()
      const budget = failures.of(networkOf(exchange.address), nowMs)
      const waitMs = budget.take(1, nowMs)
      if (waitMs > 0) return refuseAttempt(exchange, TOO_MANY_FAILURES, { budget, waitMs })
      const [tenantId, target] = [named?.tenant_id ?? null, named?.id ?? null]
      await recordTokenAction(deps, exchange, { action, tenantId, actor: null, target, refusal: problem })
    }
    exchange.replyProblem(problem)
  }

  const serveForm = async (exchange: Exchange, body: Buffer, serve: ServeClient): Promise<void> => {
    const form = readParameters(body.toString('utf8'))
    if (form === undefined) {
      const detail = 'A parameter is repeated, or the form is not percent-encoded UTF-8.'
      return exchange.replyProblem(oauthProblem('invalid_request', detail))
    }
    const authentication = authenticateClient(deps.mode, deps.findClient, exchange.headers.authorization, form)
    if (!authentication.ok) return refuse(exchange, authentication.problem, authentication.named)
    const { client } = authentication
    const budget =
      client.is_public === true
        ? publicRequests.of(networkOf(exchange.address), deps.clock())
        : deps.budgetsOf(client.tenant_id, client.id).token
    exchange.tenantId = client.tenant_id
    exchange.budget = budget
    const exhausted = takeFrom(budget, 1, deps.clock())
    if (exhausted !== undefined) return exchange.replyProblem(exhausted)
    await serve(exchange, client, form)
  }

  return (exchange, serve) => {
    exchange.problemForm = oauthProblemForm(exchange.header('accept'))
    const refusal = unreadable(exchange, deps)
    if (refusal !== undefined) return exchange.refuseAndClose(refusal)
    exchange.keepAddress()
    exchange.readBody(BODY_BYTES_MAX, (body) => {
      serveForm(exchange, body, serve).catch((cause: unknown) => answerFailure(exchange, cause))
    })
  }
}

/** An unreachable broker is not a defect. The write that it did not confirm may have happened all the same. */
export function answerFailure(exchange: Exchange, cause: unknown): void {
  if (isBrokerUnavailable(cause) || cause instanceof NotAudited) exchange.replyProblem(CREDENTIALS_UNAVAILABLE)
  else exchange.fail(cause)
}

/** @returns why the body is not read; undefined where it is */
function unreadable(exchange: Exchange, deps: OAuthDeps): Problem | undefined {
  if (!deps.isBrokerUp()) return CREDENTIALS_UNAVAILABLE
  // Parameters in an address end up in logs (RFC 6749 2.3.1).
  if (exchange.query !== '') return oauthProblem('invalid_request', 'Send the parameters in the body.')
  if (isFormType(exchange.headers.contentType)) return undefined
  return problem('UNSUPPORTED_MEDIA_TYPE', 'The body must be application/x-www-form-urlencoded.')
}

/** A budget without attempts left, and how long until it has one. */
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
