/** Where the quantities of a record come from: closed lists (design section 5). */

/** Where a cost comes from, the best evidence first. */
export const COST_BASES = ['local_cache', 'client_estimate', 'tenant_price', 'price_book', 'unpriced'] as const
export type CostBasis = (typeof COST_BASES)[number]

/** Where energy and carbon come from. */
export const FOOTPRINT_BASES = ['measured', 'modelled', 'unknown'] as const
export type FootprintBasis = (typeof FOOTPRINT_BASES)[number]
