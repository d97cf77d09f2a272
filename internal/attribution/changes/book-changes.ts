import type { AttributionRow } from '../../store/tables/attributions.js'
import { plus, type Quantity, zero } from '../../units/quantity.js'
import type { PriceBook } from '../../valuation/cost/price-book.js'
import { priceInvocation } from '../../valuation/cost/price-invocation.js'
import type { TenantPrices } from '../../valuation/cost/tenant-prices.js'
import { recalledForValuation } from './revalue.js'
import { distance, type Model, SumsByModel } from './sums-by-model.js'

/**
 * What the records of one model would cost by another price book: only those records whose cost or basis would differ.
 */
export type BookChange = Model & CostSums

interface CostSums {
  readonly records: number
  readonly oldCost: Quantity<'USD'>
  readonly newCost: Quantity<'USD'>
  /** Of `records`: unpriced now, and with a price by the book. */
  readonly newlyPriced: number
  /** Of `records`: priced now, and without a price by the book. */
  readonly newlyUnpriced: number
}

/**
 * Sums up what a price book would change, by provider and model; changes nothing.
 *
 * @param rows records whose cost comes from a price book, or is missing; a tenant's own price stays the stronger one
 */
export class BookChanges {
  private readonly models = new SumsByModel<CostSums>(NOTHING)

  add(
    rows: readonly AttributionRow[],
    book: PriceBook,
    pricesOf: (tenantId: string) => TenantPrices | undefined,
  ): void {
    for (const row of rows) {
      const { invocation } = recalledForValuation(row)
      // A stated cost does not count where a book's price does.
      const stated = { ...invocation, estimatedCostUsd: undefined }
      const { basis, costUsd } = priceInvocation(stated, book, pricesOf(row.tenantId))
      const isSame = costUsd === row.costUsd && basis === row.costBasis
      if (isSame || basis === 'tenant_price' || basis === 'local_cache') continue
      this.models.add(row, (sums) => ({
        records: sums.records + 1,
        oldCost: plus(sums.oldCost, row.costUsd),
        newCost: plus(sums.newCost, costUsd),
        newlyPriced: sums.newlyPriced + (row.costBasis === 'unpriced' ? 1 : 0),
        newlyUnpriced: sums.newlyUnpriced + (basis === 'unpriced' ? 1 : 0),
      }))
    }
  }

  /** The models whose cost changes most come first. */
  largestFirst(): readonly BookChange[] {
    return this.models.largestFirst(({ oldCost, newCost }) => distance(oldCost, newCost))
  }
}

const NOTHING: CostSums = {
  records: 0,
  oldCost: zero<'USD'>(),
  newCost: zero<'USD'>(),
  newlyPriced: 0,
  newlyUnpriced: 0,
}
