import { bandOf, type Confidence, eligibilityOf, isReplaceableByTrace } from '../../records/interpretation.js'
import type { AttributionRow } from '../../store/tables/attributions.js'
import { statedCostDoubt } from '../../valuation/cost/cost-details.js'
import { evidenceText, type Verdict } from '../records/row.js'
import { isDisputed, isOverridden } from './decided.js'

/**
 * Whether stage A's later verdict replaces a version. A person's decision takes precedence; when it is undone, the record
 * returns to its state before the decision.
 */
export function isCorrectable(row: AttributionRow, verdict: Verdict): boolean {
  if (isOverridden(row) || isDisputed(row) || !isReplaceableByTrace(row.evidenceBasis)) return false
  // That the trace has several services is no better evidence than an inference.
  if (verdict.contested === 'trace' && isInferred(row)) return false
  const isSame =
    row.evidenceBasis === verdict.evidenceBasis &&
    row.service === verdict.service &&
    row.contested === (verdict.contested ?? '') &&
    row.confidence === confidenceOf(row, verdict)
  return !isSame
}

const isInferred = ({ stageOrigin }: AttributionRow): boolean => stageOrigin === 'stage_b'

/** A new version with another verdict: the attribution changes; cost and consumption stay. */
export function correctedRow(row: AttributionRow, verdict: Verdict, validFromMs: number): AttributionRow {
  const { service, owner, stageOrigin, evidenceBasis, outputState, modelVersion, degradationState } = verdict
  const confidence = confidenceOf(row, verdict)
  return {
    ...row,
    validFromMs,
    service,
    owner,
    stageOrigin,
    evidenceBasis,
    outputState,
    modelVersion,
    degradationState,
    confidence,
    confidenceBand: bandOf(confidence),
    exportEligibility: eligibilityOf({
      confidence,
      isPriced: row.costBasis !== 'unpriced',
      isNotional: row.costBasis === 'notional',
      isCostImplausible: statedCostDoubt(row.costDetails) === 'implausible',
      degradationState,
      isResidencyRestricted: row.exportEligibility === 'residency_restricted',
    }),
    contested: verdict.contested ?? '',
    evidence: evidenceText(verdict),
    inference: '',
  }
}

const confidenceOf = (row: AttributionRow, verdict: Verdict): Confidence =>
  Math.min(verdict.confidence, row.attributionConfidence)
