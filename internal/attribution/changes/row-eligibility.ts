import { type DegradationState, type ExportEligibility, eligibilityOf } from '../../records/interpretation.js'
import type { AttributionRow } from '../../store/tables/attributions.js'
import { statedCostDoubt } from '../../valuation/cost/cost-details.js'

export const isRestricted = ({ exportEligibility }: AttributionRow): boolean =>
  exportEligibility === 'residency_restricted'

/** Of a version that no person has decided. Only the event tells whether a record is restricted: it stays so. */
export const rowEligibility = (row: AttributionRow, isResidencyRestricted = isRestricted(row)): ExportEligibility =>
  eligibilityOf({
    confidence: row.confidence,
    isPriced: row.costBasis !== 'unpriced',
    isNotional: row.costBasis === 'notional',
    isCostImplausible: statedCostDoubt(row.costDetails) === 'implausible',
    isUsageAmbiguous: row.usageBasis === 'ambiguous',
    isUsageEstimated: row.usageBasis === 'estimated',
    degradationState: row.degradationState as DegradationState,
    isResidencyRestricted,
  })
