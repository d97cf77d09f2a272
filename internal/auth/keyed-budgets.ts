import { LRUCache } from 'lru-cache'
import { Budget, type RateLimit } from './rate-limits.js'

/** How many of the least recently used budgets are checked for an unused one before the first of them is dropped. */
const CHECKED_MAX = 8

/**
 * Budgets by name, for callers without a principal: an address, a caller whose refusals are counted. At most
 * `namesMax`: a full map first drops a budget that has refilled, since a new one is worth the same. Otherwise, somebody
 * who tries many names could get rid of a budget that is exhausted.
 */
export class KeyedBudgets {
  private cache: LRUCache<string, Budget> | undefined
  private readonly limit: RateLimit
  private readonly namesMax: number

  constructor(limit: RateLimit, namesMax: number) {
    this.limit = limit
    this.namesMax = namesMax
  }

  /** Made with the first name, for all at once: 5 ms and 2 MB for 50,000 names. A gateway has seven of these. */
  private get budgets(): LRUCache<string, Budget> {
    this.cache ??= new LRUCache({ max: this.namesMax })
    return this.cache
  }

  get size(): number {
    return this.cache?.size ?? 0
  }

  of(name: string, nowMs: number): Budget {
    const known = this.budgets.get(name)
    if (known !== undefined) return known
    if (this.budgets.size >= this.budgets.max) this.dropRefilled(nowMs)
    const budget = new Budget(this.limit)
    this.budgets.set(name, budget)
    return budget
  }

  /** Earlier use no longer counts. */
  forget(name: string): void {
    this.cache?.delete(name)
  }

  /** Where none of those checked has refilled, the cache drops the least recently used. */
  private dropRefilled(nowMs: number): void {
    let checked = 0
    for (const name of this.budgets.rkeys()) {
      if (this.budgets.peek(name)?.used(nowMs) === 0) {
        this.budgets.delete(name)
        return
      }
      if (++checked === CHECKED_MAX) return
    }
  }
}
