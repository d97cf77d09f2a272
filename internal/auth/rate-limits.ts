import { LRUCache } from 'lru-cache'

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

/** Told of what is taken while several gateways give from the same budgets. */
export interface Sharing {
  readonly isShared: boolean
  taken(budget: Budget, cost: number): void
}

const ALONE: Sharing = { isShared: false, taken: () => undefined }

/** One caller's budget of one class. */
export class Budget {
  /** Sustained, per second. */
  perSecond = 0
  /** What may come at once. */
  limit = 0
  /** What was taken here and the other gateways have not been told yet. */
  untold = 0
  private costMs = 0
  private burstMs = 0
  /** The theoretical arrival time: when the budget would be whole again. */
  private wholeAtMs = 0
  /** The lines of the answers of one group, which go out together. */
  private lines = ''
  private linesNowMs = 0
  private linesWholeAtMs = -1
  private readonly sharing: Sharing

  constructor(limit: RateLimit, sharing: Sharing = ALONE) {
    this.sharing = sharing
    this.tune(limit)
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
      if (this.sharing.isShared) this.sharing.taken(this, cost)
      return 0
    }
    return cost > this.limit ? Number.POSITIVE_INFINITY : waitMs
  }

  /** Milliseconds until one can be taken; 0 when it can be now. */
  waitMs(nowMs: number): number {
    const waitMs = Math.max(this.wholeAtMs, nowMs) + this.costMs - this.burstMs - nowMs
    return waitMs <= 1e-6 ? 0 : waitMs
  }

  /**
   * Takes what another gateway has given, whether it fits or not: what goes beyond the burst is a debt, which is paid
   * before anything else is given, so that the gateways together keep to the rate.
   */
  charge(cost: number, nowMs: number): void {
    this.wholeAtMs = Math.max(this.wholeAtMs, nowMs) + cost * this.costMs
  }

  /** What is taken and not paid back by time yet. */
  used(nowMs: number): number {
    return Math.max(0, this.wholeAtMs - nowMs) / this.costMs
  }

  /** Takes as much as is used elsewhere, unless more is used here: for a gateway that has just come. */
  raise(used: number, nowMs: number): void {
    this.wholeAtMs = Math.max(this.wholeAtMs, nowMs + used * this.costMs)
  }

  /** Gives it another limit; what was used stays used. */
  tune({ perSecond, burst }: RateLimit, nowMs = 0): void {
    const used = this.costMs === 0 ? 0 : this.used(nowMs)
    this.perSecond = perSecond
    this.limit = burst
    this.costMs = 1_000 / perSecond
    this.burstMs = burst * this.costMs
    if (used > 0) this.wholeAtMs = nowMs + used * this.costMs
    this.linesWholeAtMs = -1
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

  /** Whole seconds until there is more than now: the next whole unit; 0 when the budget is whole. */
  resetSeconds(nowMs: number): number {
    const remaining = this.remaining(nowMs)
    if (remaining >= this.limit) return 0
    const nextAtMs = this.wholeAtMs - this.burstMs + (remaining + 1) * this.costMs
    return Math.max(0, Math.ceil((nextAtMs - nowMs) / 1_000 - 1e-6))
  }
}

export type Budgets = Readonly<Record<RateClass, Budget>>

/** A tenant's setting `rate_limits`; without a burst it is the usual one of the class. */
export type RateLimitSettings = {
  readonly [K in RateClass]?: { readonly per_second: number; readonly burst?: number }
}

/** A tenant's own limits, of the classes that have one. */
export type RateLimitOverrides = { readonly [K in RateClass]?: RateLimit }

export const rateLimitOverrides = (settings: RateLimitSettings = {}): RateLimitOverrides =>
  Object.fromEntries(
    RATE_CLASSES.flatMap((name) => {
      const own = settings[name]
      if (own === undefined) return []
      const { per_second: perSecond, burst = perSecond * BURST_FACTOR[name] } = own
      return [[name, { perSecond, burst }]]
    }),
  )

export interface BudgetName {
  readonly tenantId: string
  readonly principal: string
  readonly rateClass: RateClass
}

/** The budgets of each (tenant, principal). */
export interface BudgetsCache {
  (tenantId: string, principal: string): Budgets
  /** Brings a tenant's budgets to its limits as they are now. */
  retune(tenantId: string, nowMs: number): void
  nameOf(budget: Budget): BudgetName | undefined
  all(): Iterable<Budget>
}

export interface BudgetsOptions {
  readonly overridesOf?: (tenantId: string) => RateLimitOverrides | undefined
  readonly sharing?: Sharing
}

/** Budgets that are dropped start again, unused. */
const PRINCIPALS_MAX = 50_000

interface Principal {
  readonly tenantId: string
  readonly principal: string
  readonly budgets: Budgets
}

export function budgetsCache(limits: RateLimits, { overridesOf, sharing }: BudgetsOptions = {}): BudgetsCache {
  const known = new LRUCache<string, Principal>({ max: PRINCIPALS_MAX })
  const owners = new WeakMap<Budget, BudgetName>()

  const limitOf = (tenantId: string, rateClass: RateClass): RateLimit =>
    overridesOf?.(tenantId)?.[rateClass] ?? limits[rateClass]

  const budgetsOf = (tenantId: string, principal: string): Budgets => {
    const key = `${tenantId} ${principal}`
    const found = known.get(key)
    if (found !== undefined) return found.budgets
    const budgets = Object.fromEntries(
      RATE_CLASSES.map((rateClass) => {
        const budget = new Budget(limitOf(tenantId, rateClass), sharing)
        owners.set(budget, { tenantId, principal, rateClass })
        return [rateClass, budget]
      }),
    ) as Budgets
    known.set(key, { tenantId, principal, budgets })
    return budgets
  }

  return Object.assign(budgetsOf, {
    retune(tenantId: string, nowMs: number) {
      for (const { tenantId: ofTenant, budgets } of known.values()) {
        if (ofTenant !== tenantId) continue
        for (const rateClass of RATE_CLASSES) budgets[rateClass].tune(limitOf(tenantId, rateClass), nowMs)
      }
    },
    nameOf: (budget: Budget) => owners.get(budget),
    *all() {
      for (const { budgets } of known.values()) yield* Object.values(budgets)
    },
  })
}
