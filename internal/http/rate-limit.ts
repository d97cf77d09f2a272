import type { Budget } from '../auth/rate-limits.js'
import { type Problem, problem } from '../problems/catalogue.js'
import type { Exchange } from './exchange.js'

/** Takes a request's cost from its caller's budget. @returns the 429 that says when to come again, if it does not fit */
export function takeFrom(budget: Budget, cost: number, nowMs: number): Problem | undefined {
  const waitMs = budget.take(cost, nowMs)
  if (waitMs === 0) return undefined
  // Never before RateLimit-Reset, when there is more than now, and never at once.
  const resetSeconds = Math.max(1, budget.resetSeconds(nowMs))
  if (waitMs === Number.POSITIVE_INFINITY) {
    const detail = `A request may hold at most ${budget.limit} events under this rate limit; send it in parts.`
    return problem('RATE_LIMITED', detail, { retryAfterSeconds: resetSeconds })
  }
  return problem('RATE_LIMITED', 'The rate limit is exhausted; try again later.', {
    retryAfterSeconds: Math.max(resetSeconds, Math.ceil(waitMs / 1_000)),
  })
}

/** Takes a request from a budget that is not its caller's own: only the answer that refuses it shows the budget. */
export function limitBy(budget: Budget, exchange: Exchange, nowMs: number): Problem | undefined {
  const limited = takeFrom(budget, 1, nowMs)
  if (limited !== undefined) exchange.budget = budget
  return limited
}
