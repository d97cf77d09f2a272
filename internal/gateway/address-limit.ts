import { Budget, type RateLimit } from '../auth/rate-limits.js'
import { type Problem, problem } from '../problems/catalogue.js'
import type { Exchange } from './exchange.js'

/** How many are remembered; the oldest go first. */
const REMEMBERED_MAX = 20_000

/** Counts attempts by whom they concern, in bounded memory, with the same algorithm as rate limits. */
export class Attempts {
  private readonly budgets = new Map<string, Budget>()
  private readonly limit: RateLimit

  constructor(limit: RateLimit) {
    this.limit = limit
  }

  /** @returns 0 when one more is fine, and counted; else the milliseconds until it would be */
  take(whom: string, nowMs: number): number {
    let budget = this.budgets.get(whom)
    if (budget === undefined) {
      if (this.budgets.size >= REMEMBERED_MAX) this.budgets.delete(this.budgets.keys().next().value ?? '')
      budget = new Budget(this.limit)
      this.budgets.set(whom, budget)
    }
    return budget.take(1, nowMs)
  }

  /** The attempts so far no longer count. */
  forget(whom: string): void {
    this.budgets.delete(whom)
  }
}

/** @param address as text; of IPv6 in full, whose last 64 bits a caller may choose freely */
export function networkOf(address: string): string {
  const groups = address.split(':')
  const isMapped = address.startsWith('0000:0000:0000:0000:0000:ffff:')
  return groups.length === 8 && !isMapped ? groups.slice(0, 4).join(':') : address
}

/**
 * A limit for callers who need no credential, each known by address only. It is a brake, not a budget: many may stand
 * behind one address.
 *
 * @returns the 429 when it is exhausted
 */
export function addressLimit(limit: RateLimit): (exchange: Exchange, nowMs: number) => Problem | undefined {
  const attempts = new Attempts(limit)
  return (exchange, nowMs) => {
    const waitMs = attempts.take(networkOf(exchange.remoteAddress()), nowMs)
    return waitMs === 0 ? undefined : tooManyAttempts('Too many requests come from this address.', waitMs)
  }
}

export const tooManyAttempts = (detail: string, waitMs: number): Problem =>
  problem('RATE_LIMITED', detail, { retryAfterSeconds: Math.max(1, Math.ceil(waitMs / 1_000)) })
