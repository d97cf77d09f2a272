import type { Caller } from '../auth/authenticate.js'
import type { RateClass } from '../auth/rate-limits.js'
import type { Scope } from '../auth/scopes.js'
import { type Problem, problem } from '../problems/problem-catalogue.js'
import type { ProblemForm } from '../problems/render.js'
import type { Operation } from './contract/operation.js'
import type { Exchange } from './exchange.js'

export type Method = 'get' | 'post' | 'put' | 'patch' | 'del'

interface RouteBase {
  readonly method: Method
  /** Path with `:name` for a parameter. */
  readonly path: string
  /** Its API contract. Read at start only. */
  readonly operation: Operation
  /** Of another standard, which describes it: it is no part of the OpenAPI document. */
  readonly isUndescribed?: true
  /** How problems below the first segment of its path are written, if not as `application/problem+json`. */
  readonly problemForm?: ProblemForm
}

/** A route without authentication; `test/contract/description.test.ts` lists all of them. */
export interface PublicRoute extends RouteBase {
  readonly access: 'public'
  /** A health probe, exempt from the rate limit per address. */
  readonly isProbe?: true
  /** Applies a rate limit of its own, per claimed identity, in place of the one per address. */
  readonly limitsItself?: true
  readonly handle: (exchange: Exchange) => void | Promise<void>
}

/** A route that needs a credential: with a scope, one of several, or `any` (ingestion has no scope of its own). */
export interface TenantRoute extends RouteBase {
  readonly access: 'any' | Scope | readonly Scope[]
  /** Accepts only tokens of partner connectors, which no other route accepts. */
  readonly isForPartners?: true
  /** The budget that a request is charged to. */
  readonly rateClass: RateClass
  /** Charges the budget itself: by the number of events in the body, and nothing for a replay. */
  readonly chargesItself?: true
  /** Keeps working while the broker is unreachable (fail open for customer traffic); all other routes reply 503. */
  readonly isIngestion?: true
  /** A user who acts through a token must have signed in recently. */
  readonly needsStepUp?: true
  /** A change by clients of a standard that cannot send an Idempotency-Key. */
  readonly takesNoKey?: true
  /** Replies to a caller with insufficient scopes, in place of the server. */
  readonly whenDenied?: (exchange: Exchange, caller: Caller, denial: Problem) => Promise<void>
  readonly handle: (exchange: Exchange, caller: Caller) => void | Promise<void>
}

/** Whether a credential with these scopes may call a route. One without scopes may call none. */
export const isAdmitted = (access: TenantRoute['access'], scopes: ReadonlySet<Scope>): boolean =>
  access === 'any' ? scopes.size > 0 : scopesOf(access).some((scope) => scopes.has(scope))

/** The scopes of which a route needs one; none when any scope is enough. */
export const scopesOf = (access: TenantRoute['access']): readonly Scope[] => {
  if (access === 'any') return []
  return typeof access === 'string' ? [access] : access
}

/** RFC 6750 section 3.1. */
export function insufficientScope(access: TenantRoute['access']): Problem {
  const scopes = scopesOf(access)
  const needed = scopes.length === 0 ? 'at least one scope' : `the scope ${scopes.join(' or ')}`
  // The attribute lists scopes that are required together: with alternatives, the first is enough.
  const scope = scopes[0] === undefined ? '' : `, scope="${scopes[0]}"`
  return problem('INSUFFICIENT_SCOPE', `The credential needs ${needed}.`, {
    challenge: `Bearer realm="attribution", error="insufficient_scope"${scope}`,
  })
}

/** The declaration of a route. The server serves nothing else, so every route has one. */
export type Route = PublicRoute | TenantRoute

/** Undeclared query parameters are refused; for authenticated reads that declare none, the server does that itself. */
export const takesNoQuery = ({ access, method, operation }: Route): boolean =>
  access !== 'public' && method === 'get' && operation.query === undefined
