import type { AdmittedInvocation } from '../invocations/group.js'
import { loadPriceBook } from './cost/price-book.js'
import { priceInvocation } from './cost/price-invocation.js'
import type { TenantPrices } from './cost/tenant-prices.js'
import { footprint, loadFootprintTables } from './energy/footprint.js'
import type { Consumption } from './row.js'

/**
 * Loads the price book and the energy and grid tables, and returns the rule that applies them to a call.
 *
 * @param pricesOf a tenant's own prices, as they are now; the same object until they change
 */
export function consumptionRules(
  pricesOf: (tenantId: string) => TenantPrices | undefined,
): (admitted: AdmittedInvocation) => Consumption {
  const book = loadPriceBook()
  const tables = loadFootprintTables()
  return ({ invocation, tenantId }) => {
    const cost = priceInvocation(invocation, book, pricesOf(tenantId))
    const { energyWh, energyBasis, carbonGco2e, carbonBasis, detailsJson } = footprint(invocation, tables)
    return {
      costUsd: cost.costUsd,
      costBasis: cost.basis,
      costDetails: cost.detailsJson,
      energyWh,
      energyBasis,
      carbonGco2e,
      carbonBasis,
      footprintDetails: detailsJson,
    }
  }
}
