/**
 * Rate limits by GCRA (the generic cell rate algorithm): a sustained rate and a burst, one number of state a budget.
 * One budget per (tenant, principal, route class), spec 8 rule 3.
 */
export const RATE_CLASSES = ['ingest', 'read', 'report', 'control', 'token'] as const
export type RateClass = (typeof RATE_CLASSES)[number]

export interface RateLimit {
  /** Sustained, per second. */
  readonly perSecond: number
  /** What may come at once; also the `RateLimit-Limit` that callers see. */
  readonly burst: number
}

export type RateLimits = Readonly<Record<RateClass, RateLimit>>

/** How far the burst goes beyond a second's rate (design section 7). */
const BURST_FACTOR: Readonly<Record<RateClass, number>> = { ingest: 2, read: 4, report: 5, control: 5, token: 4 }

export const rateLimitsOf = (perSecond: Readonly<Record<RateClass, number>>): RateLimits =>
  Object.fromEntries(
    RATE_CLASSES.map((name) => [name, { perSecond: perSecond[name], burst: perSecond[name] * BURST_FACTOR[name] }]),
  ) as RateLimits

/** One caller's budget of one class. */
export class Budget {
  readonly limit: number
  private readonly costMs: number
  private readonly burstMs: number
  /** The theoretical arrival time: when the budget would be whole again. */
  private wholeAtMs = 0
  /** The lines of the answers of one group, which go out together. */
  private lines = ''
  private linesNowMs = 0
  private linesWholeAtMs = -1

  constructor({ perSecond, burst }: RateLimit) {
    this.limit = burst
    this.costMs = 1_000 / perSecond
    this.burstMs = burst * this.costMs
  }

  /**
   * Takes `cost` at once or nothing.
   *
   * @returns 0 when taken, else the milliseconds after which the same would be; Infinity when it never fits
   */
  take(cost: number, nowMs: number): number {
    const next = Math.max(this.wholeAtMs, nowMs) + cost * this.costMs
    const waitMs = next - this.burstMs - nowMs
    if (waitMs <= 1e-6) {
      this.wholeAtMs = next
      return 0
    }
    return cost > this.limit ? Number.POSITIVE_INFINITY : waitMs
  }

  remaining(nowMs: number): number {
    const usedMs = Math.max(0, this.wholeAtMs - nowMs)
    return Math.max(0, Math.floor((this.burstMs - usedMs) / this.costMs + 1e-6))
  }

  /** The fields that every authenticated answer carries (spec 8 rule 3), as header lines behind a status line. */
  headerLines(nowMs: number): string {
    if (nowMs !== this.linesNowMs || this.wholeAtMs !== this.linesWholeAtMs) {
      this.linesNowMs = nowMs
      this.linesWholeAtMs = this.wholeAtMs
      this.lines = `\r\nRateLimit-Limit: ${this.limit}\r\nRateLimit-Remaining: ${this.remaining(nowMs)}\r\nRateLimit-Reset: ${this.resetSeconds(nowMs)}`
    }
    return this.lines
  }

  /** Whole seconds until the budget is whole again. */
  resetSeconds(nowMs: number): number {
    return Math.max(0, Math.ceil((this.wholeAtMs - nowMs) / 1_000))
  }
}

export type Budgets = Readonly<Record<RateClass, Budget>>

/** Principals whose budgets are kept at most; the oldest go first and begin anew, whole. */
const PRINCIPALS_MAX = 50_000

/** The budgets of each (tenant, principal). */
export function budgetsCache(limits: RateLimits): (tenantId: string, principal: string) => Budgets {
  const known = new Map<string, Budgets>()
  return (tenantId, principal) => {
    const key = `${tenantId} ${principal}`
    let budgets = known.get(key)
    if (budgets === undefined) {
      if (known.size >= PRINCIPALS_MAX) known.delete(known.keys().next().value ?? '')
      budgets = Object.fromEntries(RATE_CLASSES.map((name) => [name, new Budget(limits[name])])) as Budgets
      known.set(key, budgets)
    }
    return budgets
  }
}
