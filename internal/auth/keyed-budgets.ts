import { Budget, type RateLimit } from './rate-limits.js'

/** How many of the oldest budgets are looked at for one that is whole again, before the oldest goes as it is. */
const LOOKED_AT_MAX = 8

/**
 * Budgets by name, for whoever has none of their own: an address, a caller whose refusals are counted. Bounded: when
 * there are too many, one that is whole goes, which is as good as new, else the oldest.
 */
export class KeyedBudgets {
  private readonly budgets = new Map<string, Budget>()
  private readonly limit: RateLimit
  private readonly namesMax: number

  constructor(limit: RateLimit, namesMax: number) {
    this.limit = limit
    this.namesMax = namesMax
  }

  get size(): number {
    return this.budgets.size
  }

  of(name: string, nowMs: number): Budget {
    const known = this.budgets.get(name)
    if (known !== undefined) return known
    if (this.budgets.size >= this.namesMax) this.makeRoom(nowMs)
    const budget = new Budget(this.limit)
    this.budgets.set(name, budget)
    return budget
  }

  /** What was taken so far no longer counts. */
  forget(name: string): void {
    this.budgets.delete(name)
  }

  private makeRoom(nowMs: number): void {
    let looked = 0
    for (const [name, budget] of this.budgets) {
      if (budget.used(nowMs) === 0) {
        this.budgets.delete(name)
        return
      }
      if (++looked === LOOKED_AT_MAX) break
    }
    this.budgets.delete(this.budgets.keys().next().value ?? '')
  }
}
