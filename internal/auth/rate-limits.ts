import { LRUCache } from 'lru-cache'

/**
 * Rate limits by GCRA (the generic cell rate algorithm): a sustained rate and a burst, one number of state per budget.
 * One budget per (tenant, principal, route class).
 */
export const RATE_CLASSES = ['ingest', 'read', 'report', 'control', 'token'] as const
export type RateClass = (typeof RATE_CLASSES)[number]

export interface RateLimit {
  /** Sustained, per second. */
  readonly perSecond: number
  /** Requests that may arrive at once; also the `RateLimit-Limit` that callers see. */
  readonly burst: number
}

export type RateLimits = Readonly<Record<RateClass, RateLimit>>

/** The default burst, as a multiple of the rate per second. */
const BURST_FACTOR: Readonly<Record<RateClass, number>> = { ingest: 2, read: 4, report: 5, control: 5, token: 4 }

export const rateLimitsOf = (perSecond: Readonly<Record<RateClass, number>>): RateLimits =>
  Object.fromEntries(
    RATE_CLASSES.map((name) => [name, { perSecond: perSecond[name], burst: perSecond[name] * BURST_FACTOR[name] }]),
  ) as RateLimits

/** Notified of usage while several gateways share the same budgets. */
export interface Sharing {
  readonly isShared: boolean
  onTaken(budget: Budget, cost: number): void
}

const ALONE: Sharing = { isShared: false, onTaken: () => undefined }

/** One caller's budget of one class. */
export class Budget {
  /** Sustained, per second. */
  perSecond = 0
  /** Requests that may arrive at once. */
  limit = 0
  /** Usage on this gateway that is not published to the others yet. */
  unpublished = 0
  private costMs = 0
  private burstMs = 0
  /** The theoretical arrival time: when the budget will have refilled. */
  private wholeAtMs = 0
  /** Cached header lines: the replies to one group of requests are sent together. */
  private lines = ''
  private linesNowMs = 0
  private linesWholeAtMs = -1
  private readonly sharing: Sharing

  constructor(limit: RateLimit, sharing: Sharing = ALONE) {
    this.sharing = sharing
    this.tune(limit)
  }

  /**
   * Takes `cost`, all or nothing.
   *
   * @returns 0 when taken, else the milliseconds to wait before it can be taken; Infinity when it exceeds the burst
   */
  take(cost: number, nowMs: number): number {
    const next = Math.max(this.wholeAtMs, nowMs) + cost * this.costMs
    const waitMs = next - this.burstMs - nowMs
    if (waitMs <= 1e-6) {
      this.wholeAtMs = next
      if (this.sharing.isShared) this.sharing.onTaken(this, cost)
      return 0
    }
    return cost > this.limit ? Number.POSITIVE_INFINITY : waitMs
  }

  /**
   * Takes `cost` unless there is a debt, however much it is: what exceeds the burst becomes one. For what its sender
   * cannot split, so that it is delayed and never refused for good.
   *
   * @returns 0 when taken, else the milliseconds until the debt is repaid
   */
  takeOrOwe(cost: number, nowMs: number): number {
    const waitMs = this.wholeAtMs - this.burstMs - nowMs
    if (waitMs > 1e-6) return waitMs
    this.charge(cost, nowMs)
    if (this.sharing.isShared) this.sharing.onTaken(this, cost)
    return 0
  }

  /** Milliseconds until one can be taken; 0 when one can be taken now. */
  waitMs(nowMs: number): number {
    const waitMs = Math.max(this.wholeAtMs, nowMs) + this.costMs - this.burstMs - nowMs
    return waitMs <= 1e-6 ? 0 : waitMs
  }

  /**
   * Charges the usage of another gateway, whether it fits or not. Usage beyond the burst is a debt that is repaid
   * before anything else can be taken, so that the gateways together keep to the rate.
   */
  charge(cost: number, nowMs: number): void {
    this.wholeAtMs = Math.max(this.wholeAtMs, nowMs) + cost * this.costMs
  }

  /** Usage that time has not refilled yet. */
  used(nowMs: number): number {
    return Math.max(0, this.wholeAtMs - nowMs) / this.costMs
  }

  /** Raises the usage to that of another gateway, unless it is higher here: for a gateway that has just joined. */
  raise(used: number, nowMs: number): void {
    this.wholeAtMs = Math.max(this.wholeAtMs, nowMs + used * this.costMs)
  }

  /** Changes the limit; usage is kept. */
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

  /** The header lines of every authenticated reply, to follow a status line. */
  headerLines(nowMs: number): string {
    if (nowMs !== this.linesNowMs || this.wholeAtMs !== this.linesWholeAtMs) {
      this.linesNowMs = nowMs
      this.linesWholeAtMs = this.wholeAtMs
      const [remaining, resetSeconds] = [this.remaining(nowMs), this.resetSeconds(nowMs)]
      this.lines =
        `\r\nRateLimit-Limit: ${this.limit}` +
        `\r\nRateLimit-Remaining: ${remaining}\r\nRateLimit-Reset: ${resetSeconds}`
    }
    return this.lines
  }

  /** Whole seconds until `remaining` increases by one; 0 when the budget is unused. */
  resetSeconds(nowMs: number): number {
    const remaining = this.remaining(nowMs)
    if (remaining >= this.limit) return 0
    const nextAtMs = this.wholeAtMs - this.burstMs + (remaining + 1) * this.costMs
    return Math.max(0, Math.ceil((nextAtMs - nowMs) / 1_000 - 1e-6))
  }
}

export type Budgets = Readonly<Record<RateClass, Budget>>

/** A tenant's setting `rate_limits`; the default burst is that of the class. */
export type RateLimitSettings = {
  readonly [K in RateClass]?: { readonly per_second: number; readonly burst?: number }
}

/** A tenant's own limits, for the classes that have one. */
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
  /** Applies a tenant's current limits to its budgets. */
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
