import { bandOf, CONFIDENCE_CAP, eligibilityOf } from '../../records/interpretation.js'
import type { AttributionRow } from '../../store/tables/attributions.js'
import { RULES_VERSION } from '../records/row.js'
import { isMerged } from '../sightings/seen-by.js'
import type { Decision, RequestedDecision } from './change.js'
import { costOfRow } from './row-eligibility.js'

/**
 * People's decisions on a record, on top of the result of the stages. A record can be overridden and disputed at the
 * same time.
 */
export interface Decided {
  readonly override?: Override
  readonly dispute?: Dispute
}

export interface Override {
  readonly service: string
  readonly owner: string
  readonly reason: string
  /** Id of the credential. */
  readonly actor: string
  /** Of an override by filters: its id. */
  readonly bulk_override?: string
}

export interface Dispute {
  readonly reason: string
  readonly actor: string
}

/** Why a decision is refused: the record is not in a suitable state. */
export type DecisionRefusal =
  | 'already_overridden'
  | 'not_overridden'
  | 'already_disputed'
  | 'not_disputed'
  | 'not_merged'

/** The fields that determine a record's state, from a row or from a shown record. */
export interface DecidedState {
  readonly evidenceBasis: string
  readonly outputState: string
}

export const isOverridden = ({ evidenceBasis }: DecidedState): boolean => evidenceBasis === 'manual_override'
export const isDisputed = ({ outputState }: DecidedState): boolean => outputState === 'disputed'

/**
 * Pure. A second override or dispute requires undoing the first, so that nobody overwrites another person's decision
 * unnoticed.
 */
export function refusalOf(
  state: DecidedState & Pick<AttributionRow, 'seenBy'>,
  { kind }: RequestedDecision,
): DecisionRefusal | undefined {
  switch (kind) {
    case 'override':
      return isOverridden(state) ? 'already_overridden' : undefined
    case 'undo_override':
      return isOverridden(state) ? undefined : 'not_overridden'
    case 'dispute':
      return isDisputed(state) ? 'already_disputed' : undefined
    case 'undo_dispute':
      return isDisputed(state) ? undefined : 'not_disputed'
    case 'undo_merge':
      return isMerged(state) ? undefined : 'not_merged'
  }
}

/** The decisions that a version includes. */
export function decidedOf(row: AttributionRow): Decided {
  const { override, dispute } = JSON.parse(row.evidence) as DecidedEvidence
  return {
    ...(isOverridden(row) &&
      override !== undefined && { override: { service: row.service, owner: row.owner, ...override } }),
    ...(isDisputed(row) && dispute !== undefined && { dispute }),
  }
}

/** The facts of an evidence card that this module writes. */
interface DecidedEvidence {
  readonly override?: Omit<Override, 'service' | 'owner'>
  readonly dispute?: Dispute
}

export function withDecision(decided: Decided, decision: Decision, actor: string): Decided {
  switch (decision.kind) {
    case 'override': {
      const { service, owner, reason } = decision
      return { ...decided, override: { service, owner, reason, actor } }
    }
    case 'undo_override': {
      const { override: _, ...rest } = decided
      return rest
    }
    case 'dispute':
      return { ...decided, dispute: { reason: decision.reason, actor } }
    case 'undo_dispute': {
      const { dispute: _, ...rest } = decided
      return rest
    }
  }
}

/**
 * A version of a record with decisions applied. Pure: without decisions it is identical to the result of the stages,
 * except for `validFromMs`.
 *
 * @param base the latest version without decisions
 */
export function decidedRow(base: AttributionRow, { override, dispute }: Decided, validFromMs: number): AttributionRow {
  const attributed = override === undefined ? base : overriddenRow(base, override)
  const isRestricted = base.exportEligibility === 'residency_restricted'
  return {
    ...attributed,
    validFromMs,
    ...(dispute !== undefined && {
      outputState: 'disputed',
      exportEligibility: isRestricted ? 'residency_restricted' : 'disputed',
      evidence: JSON.stringify({ ...(JSON.parse(attributed.evidence) as object), dispute }),
    }),
  }
}

/** An override is a stated fact, so it counts as the facts stage's, with the highest confidence. */
function overriddenRow(base: AttributionRow, { service, owner, ...override }: Override): AttributionRow {
  const { stageOrigin, evidenceBasis, confidence } = base
  const { costBound, isUnchargedBound } = costOfRow(base)
  const replaced = {
    service: base.service,
    owner: base.owner,
    stage_origin: stageOrigin,
    evidence_basis: evidenceBasis,
    confidence: confidence / 10_000,
  }
  return {
    ...base,
    service,
    owner,
    stageOrigin: 'stage_a',
    evidenceBasis: 'manual_override',
    confidence: CONFIDENCE_CAP,
    confidenceBand: bandOf(CONFIDENCE_CAP),
    outputState: 'overridden',
    modelVersion: RULES_VERSION,
    degradationState: 'none',
    contested: '',
    inference: '',
    costBound,
    exportEligibility: eligibilityOf({
      confidence: CONFIDENCE_CAP,
      isPriced: base.costBasis !== 'unpriced',
      isNotional: base.costBasis === 'notional',
      // A person has looked at the record and answers for it, its cost included.
      isCostImplausible: false,
      // Whom a call belongs to does not tell what its counts mean.
      isUsageAmbiguous: base.usageBasis === 'ambiguous',
      // Nor at which rate its cached tokens are billed.
      isCostUpperBound: isUnchargedBound,
      isUsageEstimated: base.usageBasis === 'estimated',
      degradationState: 'none',
      isResidencyRestricted: base.exportEligibility === 'residency_restricted',
    }),
    evidence: JSON.stringify({ override, replaced }),
  }
}
