import type { AttributionRow } from '../../store/tables/attributions.js'
import { formatQuantity, plus, type Quantity, zero } from '../../units/quantity.js'
import type { NewlyPriced as NewlyPricedCalls } from '../../valuation/books/proposals.js'
import type { PriceBook } from '../../valuation/cost/price-book.js'
import { priceInvocation } from '../../valuation/cost/price-invocation.js'
import type { TenantPrices } from '../../valuation/cost/tenant-prices.js'
import { recalledForValuation } from './revalue.js'

interface Sums {
  calls: number
  cost: Quantity<'USD'>
  readonly people: Set<string>
}

/** Counts, by tenant, the unpriced calls that a price book would price; changes nothing. */
export class NewlyPriced {
  private readonly workloadsOf: (tenantId: string) => ReadonlySet<string>
  private readonly tenants = new Map<string, Sums>()

  /** @param workloadsOf hashes of a tenant's identities that are no people, as 32 hex digits */
  constructor(workloadsOf: (tenantId: string) => ReadonlySet<string>) {
    this.workloadsOf = workloadsOf
  }

  add(
    rows: readonly AttributionRow[],
    book: PriceBook,
    pricesOf: (tenantId: string) => TenantPrices | undefined,
  ): void {
    for (const row of rows) {
      if (row.costBasis !== 'unpriced') continue
      const { basis, costUsd } = priceInvocation(recalledForValuation(row).invocation, book, pricesOf(row.tenantId))
      if (basis !== 'price_book') continue
      const sums = this.tenants.get(row.tenantId) ?? { calls: 0, cost: zero<'USD'>(), people: new Set<string>() }
      this.tenants.set(row.tenantId, sums)
      sums.calls += 1
      sums.cost = plus(sums.cost, costUsd)
      const person = Buffer.from(row.identityHash).toString('hex')
      if (person !== NOBODY && !this.workloadsOf(row.tenantId).has(person)) sums.people.add(person)
    }
  }

  /** Those with most calls first. */
  byTenant(): readonly (readonly [tenantId: string, calls: NewlyPricedCalls])[] {
    return [...this.tenants]
      .sort(([, one], [, other]) => other.calls - one.calls)
      .map(([tenantId, { calls, cost, people }]) => [
        tenantId,
        { calls, cost_usd: formatQuantity(cost), people: people.size },
      ])
  }

  total(): Omit<NewlyPricedCalls, 'people'> {
    const all = [...this.tenants.values()]
    return {
      calls: all.reduce((sum, { calls }) => sum + calls, 0),
      cost_usd: formatQuantity(all.reduce((sum, { cost }) => plus(sum, cost), zero<'USD'>())),
    }
  }
}

const NOBODY = '00'.repeat(16)
