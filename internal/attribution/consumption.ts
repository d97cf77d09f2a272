import type { AdmittedInvocation } from '../invocations/group.js'
import { loadPriceBook } from './cost/price-book.js'
import { priceInvocation } from './cost/price-invocation.js'
import { footprint, loadFootprintTables } from './energy/footprint.js'
import type { Consumption } from './row.js'

/** Loads the price book and the energy and grid tables, and returns the rule that applies them to a call. */
export function consumptionRules(): (admitted: AdmittedInvocation) => Consumption {
  const book = loadPriceBook()
  const tables = loadFootprintTables()
  return ({ invocation }) => {
    const cost = priceInvocation(invocation, book)
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
