import { type DegradationState, type ExportEligibility, eligibilityOf } from '../../records/interpretation.js'
import type { AttributionRow } from '../../store/tables/attributions.js'
import { isUpperBoundCharged } from '../../valuation/cost/cost-bound.js'
import { statedCostDoubt } from '../../valuation/cost/cost-details.js'

export const isRestricted = ({ exportEligibility }: AttributionRow): boolean =>
  exportEligibility === 'residency_restricted'

/** Whether the cost is an upper bound, and was computed for a tenant that charges none back. */
export const isUnchargedBound = ({ costBound, costDetails }: AttributionRow): boolean =>
  costBound === 'upper' && !isUpperBoundCharged(costDetails)

/** Of a version that no person has decided. Only the event tells whether a record is restricted: it stays so. */
export const rowEligibility = (row: AttributionRow, isResidencyRestricted = isRestricted(row)): ExportEligibility =>
  eligibilityOf({
    confidence: row.confidence,
    isPriced: row.costBasis !== 'unpriced',
    isNotional: row.costBasis === 'notional',
    isCostImplausible: statedCostDoubt(row.costDetails) === 'implausible',
    isUsageAmbiguous: row.usageBasis === 'ambiguous',
    isCostUpperBound: isUnchargedBound(row),
    isUsageEstimated: row.usageBasis === 'estimated',
    degradationState: row.degradationState as DegradationState,
    isResidencyRestricted,
  })
