import type { Caller } from '../auth/authenticate.js'
import type { RateClass } from '../auth/rate-limits.js'
import type { Scope } from '../auth/scopes.js'
import type { Problem } from '../problems/catalogue.js'
import type { Operation } from './contract/operation.js'
import type { Exchange } from './exchange.js'

export type Method = 'get' | 'post' | 'patch' | 'del'

interface RouteBase {
  readonly method: Method
  /** Path with `:name` for a parameter. */
  readonly path: string
  /** What it promises. Read at start only. */
  readonly operation: Operation
}

/** A route that anyone may call; the spec and the design name every one of them. */
export interface PublicRoute extends RouteBase {
  readonly access: 'public'
  /** Asked by whoever watches the process, and not limited by address. */
  readonly isProbe?: true
  /** Limits its callers by who they say they are, and not all those together who share an address. */
  readonly limitsItself?: true
  readonly handle: (exchange: Exchange) => void | Promise<void>
}

/** A route that needs a credential: with a scope, or `any` live one (ingestion has no scope of its own). */
export interface TenantRoute extends RouteBase {
  readonly access: 'any' | Scope
  /** Takes the tokens of partners' connectors and no other credential; the other routes take all but these. */
  readonly isForPartners?: true
  /** The budget that a request is taken from. */
  readonly rateClass: RateClass
  /** Whether it takes from the budget itself: what its body holds, and nothing for a replay. */
  readonly chargesItself?: true
  /** Whether it goes on while the broker is away (fail-open for the customer's traffic); all others are refused. */
  readonly isIngestion?: true
  /** Whether a person who acts through a token must have signed in a moment ago. */
  readonly needsStepUp?: true
  /** Answers a caller whose scopes do not reach, in place of the server. */
  readonly whenDenied?: (exchange: Exchange, caller: Caller, denial: Problem) => Promise<void>
  readonly handle: (exchange: Exchange, caller: Caller) => void | Promise<void>
}

/** One declaration a route. The server knows no other way to answer, so that a route without one cannot exist. */
export type Route = PublicRoute | TenantRoute

/** Reads that declare no parameter are refused with one, as all others are with one that they do not declare. */
export const takesNoQuery = ({ access, method, operation }: Route): boolean =>
  access !== 'public' && method === 'get' && operation.query === undefined
