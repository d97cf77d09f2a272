import { identityHash } from '../../ids/identity-hash.js'
import type { SipKey } from '../../ids/siphash.js'
import type { Invocation } from '../../invocations/invocation.js'
import type { AdmittedInvocation } from '../../invocations/invocation-group.js'
import { type Dimension, pairsOf } from '../../records/dimensions.js'
import {
  bandOf,
  CONFIDENCE_CAP,
  type Confidence,
  type ContestedBy,
  capConfidence,
  confidenceText,
  type DegradationState,
  type EvidenceBasis,
  eligibilityOf,
  freshnessOf,
  type OutputState,
  pathwayOf,
  type StageOrigin,
} from '../../records/interpretation.js'
import { isRestricted, type ResidencyRegion } from '../../residency/residency.js'
import type { AttributionRow } from '../../store/tables/attributions.js'
import type { UsageBasis } from '../../text/call-words.js'
import type { Consumption } from '../../valuation/consumption.js'
import { rowOf } from './stated-fields.js'

/** Who a call is attributed to, by which stage, on what evidence. */
export interface Verdict {
  readonly service: string
  readonly owner: string
  readonly stageOrigin: StageOrigin
  readonly evidenceBasis: EvidenceBasis
  readonly confidence: Confidence
  readonly outputState: OutputState
  readonly modelVersion: string
  readonly degradationState: DegradationState
  /** What contradicts it; absent when nothing does. */
  readonly contested?: ContestedBy
  /** Tags that a mapping rule adds to those of the call. */
  readonly tags?: Readonly<Record<string, string>>
  /** JSON-able; the same for calls with the same evidence. */
  readonly evidence: object
  /** The figures of an inference for this call. JSON-able. */
  readonly inference?: Inference
}

/** The result of a model for a call, or of the baseline that replaces it. */
export interface Inference {
  /** Of the chosen service and owner; the confidence before its caps. Decimal text with four places. */
  readonly probability: string
  /** That the call belongs to none of the classes that the model knows. */
  readonly unknown_probability?: string
  /** The other candidates, most likely first. */
  readonly alternatives: readonly Alternative[]
}

export interface Alternative {
  readonly service: string
  readonly owner: string
  readonly probability: string
}

/** Dependencies of turning a verdict into a row. */
export interface RowDeps {
  /** When the log of the events was created, seconds since the epoch. */
  readonly logId: number
  readonly consumptionOf: (admitted: AdmittedInvocation) => Consumption
  /** The tenant's key for hashing identities. */
  readonly identityKeyOf: (tenantId: string) => SipKey
  /** The name of the identity that the directory knows by a stated one; else that one. */
  readonly identityNameOf: (tenantId: string, stated: string) => string
  /** Where the tenant's data must stay. */
  readonly residencyRegionOf: (tenantId: string) => ResidencyRegion
  /** The tag keys that the tenant has declared; the same object until they change. */
  readonly dimensionsOf: (tenantId: string) => readonly Dimension[]
  /** Whether the stage decides by a directory copy that lags its source. */
  readonly isIndexStale: () => boolean
}

/** Version of the rules of the facts and pools stages (A and C); increment it when either changes. */
export const RULES_VERSION = 'rules-7'

export interface RowPlace {
  readonly partition: number
  /** When this version becomes valid: the planning time of its batch. */
  readonly validFromMs: number
}

const NOBODY = new Uint8Array(16)

/**
 * The evidence of a verdict as stored, with its confidence before any cap. An inferred verdict keeps its confidence in
 * the figures of the inference instead.
 */
export function evidenceText({ evidence, inference, confidence }: Verdict): string {
  const text = JSON.stringify(evidence)
  if (inference !== undefined) return text
  // As text, since a member behind a spread takes as long as all else of a row (`stages/a/evidence.ts`).
  return `${text.slice(0, -1)}${text === '{}' ? '' : ','}"confidence":"${confidenceText(confidence)}"}`
}

/** Makes one row. Deterministic given the injected rules: a repeated insert must write the same bytes. */
export function toRow(admitted: AdmittedInvocation, verdict: Verdict, place: RowPlace, deps: RowDeps): AttributionRow {
  const { tenantId } = admitted
  const consumption = deps.consumptionOf(admitted)
  const invocation = consumption.read ?? admitted.invocation
  const usageBasis = usageBasisOf(invocation, consumption)
  const attributionConfidence = capConfidence(CONFIDENCE_CAP, invocation.attributionConfidence)
  const confidence = Math.min(verdict.confidence, attributionConfidence)
  return rowOf(invocation, {
    tenantId,
    id: admitted.id,
    validFromMs: place.validFromMs,

    servedModel: invocation.servedModel ?? invocation.requestedModel,
    service: verdict.service,
    owner: verdict.owner,
    costUsd: consumption.costUsd,
    energyWh: consumption.energyWh,
    carbonGco2e: consumption.carbonGco2e,
    pathwayCategory: pathwayOf(invocation, admitted.principal),
    outputState: verdict.outputState,

    stageOrigin: verdict.stageOrigin,
    confidence,
    attributionConfidence,
    confidenceBand: bandOf(confidence),
    evidenceBasis: verdict.evidenceBasis,
    modelVersion: verdict.modelVersion,
    degradationState: verdict.degradationState,
    freshness: freshnessOf(invocation.eventTimeMs, admitted.receivedAtMs, deps.isIndexStale()),
    exportEligibility: eligibilityOf({
      confidence,
      isPriced: consumption.costBasis !== 'unpriced',
      isNotional: consumption.costBasis === 'notional',
      isCostImplausible: consumption.isCostImplausible,
      isUsageAmbiguous: usageBasis === 'ambiguous',
      isCostUpperBound: consumption.isUnchargedBound,
      isUsageEstimated: usageBasis === 'estimated',
      degradationState: verdict.degradationState,
      isResidencyRestricted: isRestricted(deps.residencyRegionOf(tenantId), invocation.region),
    }),
    contested: verdict.contested ?? '',

    costBasis: consumption.costBasis,
    costBound: consumption.costBound,
    usageBasis,
    energyBasis: consumption.energyBasis,
    carbonBasis: consumption.carbonBasis,
    evidence: evidenceText(verdict),
    costDetails: consumption.costDetails,
    footprintDetails: consumption.footprintDetails,
    inference: verdict.inference === undefined ? '' : JSON.stringify(verdict.inference),

    principal: admitted.principal,
    sentByGateway: admitted.isFromGateway === true,
    intake: admitted.intake ?? '',
    seenBy: '',
    identityHash: hashIdentity(admitted, deps),
    dimensions: pairsOf(
      deps.dimensionsOf(tenantId),
      verdict.tags === undefined ? invocation.tags : { ...verdict.tags, ...invocation.tags },
    ),

    receivedAtMs: admitted.receivedAtMs,
    sourceLog: deps.logId,
    sourcePartition: place.partition,
    sourceSequence: admitted.position.sequence,
    sourceIndex: admitted.position.index,
  })
}

/**
 * Ambiguous where two readings differ, else as the producer says. One that says nothing reports what it states, of a
 * cancelled call what was counted until then.
 */
export function usageBasisOf(
  { usageBasis, inputTokens, outputTokens, outcome }: Invocation,
  { isUsageAmbiguous }: Pick<Consumption, 'isUsageAmbiguous'>,
): UsageBasis {
  if (isUsageAmbiguous) return 'ambiguous'
  if (usageBasis !== undefined) return usageBasis
  if (inputTokens === undefined && outputTokens === undefined) return 'unknown'
  return outcome === 'cancelled' ? 'partial' : 'reported'
}

function hashIdentity({ invocation, tenantId, identityHash: known }: AdmittedInvocation, deps: RowDeps): Uint8Array {
  if (known !== undefined) return known
  if (invocation.attributedIdentity === undefined) return NOBODY
  // Who has several names is one person, in reports and for the least number of people of a group.
  return identityHash(deps.identityKeyOf(tenantId), deps.identityNameOf(tenantId, invocation.attributedIdentity))
}

/** Four decimal places, rounded down, so that the shown value never exceeds the one that limits were compared with. */
export const probabilityText = (probability: number): string =>
  (Math.floor(Number((probability * 10_000).toFixed(6))) / 10_000).toFixed(4)
