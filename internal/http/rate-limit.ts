import type { Budget } from '../auth/rate-limits.js'
import { type Problem, problem } from '../problems/problem-catalogue.js'
import type { Exchange } from './exchange.js'

/** Charges a request to a budget. @returns the 429 with its Retry-After, if the budget is exhausted */
export function takeFrom(budget: Budget, cost: number, nowMs: number): Problem | undefined {
  const waitMs = budget.take(cost, nowMs)
  return waitMs === 0 ? undefined : limitedFor(budget, waitMs, nowMs)
}

/** Charges what its sender cannot split: a 429 with its Retry-After only while there is a debt. */
export function takeOrOwe(budget: Budget, cost: number, nowMs: number): Problem | undefined {
  const waitMs = budget.takeOrOwe(cost, nowMs)
  return waitMs === 0 ? undefined : limitedFor(budget, waitMs, nowMs)
}

function limitedFor(budget: Budget, waitMs: number, nowMs: number): Problem {
  // Not before RateLimit-Reset, when the budget grows, and never 0.
  const resetSeconds = Math.max(1, budget.resetSeconds(nowMs))
  return problem('RATE_LIMITED', 'Rate limit exceeded; retry later.', {
    retryAfterSeconds: Math.max(resetSeconds, Math.ceil(waitMs / 1_000)),
  })
}

/** Charges a request to a budget other than the caller's own (per address): only a 429 then shows the budget. */
export function limitBy(budget: Budget, exchange: Exchange, nowMs: number): Problem | undefined {
  const limited = takeFrom(budget, 1, nowMs)
  if (limited !== undefined) exchange.budget = budget
  return limited
}
