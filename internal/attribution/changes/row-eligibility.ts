import { type DegradationState, type ExportEligibility, eligibilityOf } from '../../records/interpretation.js'
import type { AttributionRow } from '../../store/tables/attributions.js'
import { costBoundOf, isUnchargedBound } from '../../valuation/cost/cost-bound.js'
import type { CostDetails } from '../../valuation/cost/cost-details.js'

export const isRestricted = ({ exportEligibility }: AttributionRow): boolean =>
  exportEligibility === 'residency_restricted'

/** What the details of a row say: its column is empty if an earlier version computed the cost. */
export function costOfRow({ costDetails }: Pick<AttributionRow, 'costDetails'>) {
  const details = JSON.parse(costDetails) as CostDetails
  return {
    costBound: costBoundOf(details) ?? ('' as const),
    isUnchargedBound: isUnchargedBound(details),
    isCostImplausible: details.stated_cost === 'implausible',
  }
}

/** Of a version that no person has decided. Only the event tells whether a record is restricted: it stays so. */
export function rowEligibility(row: AttributionRow, isResidencyRestricted = isRestricted(row)): ExportEligibility {
  const cost = costOfRow(row)
  return eligibilityOf({
    confidence: row.confidence,
    isPriced: row.costBasis !== 'unpriced',
    isNotional: row.costBasis === 'notional',
    isCostImplausible: cost.isCostImplausible,
    isUsageAmbiguous: row.usageBasis === 'ambiguous',
    isCostUpperBound: cost.isUnchargedBound,
    isUsageEstimated: row.usageBasis === 'estimated',
    degradationState: row.degradationState as DegradationState,
    isResidencyRestricted,
  })
}
