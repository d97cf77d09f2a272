import { identityHash } from '../../ids/identity-hash.js'
import type { SipKey } from '../../ids/siphash.js'
import type { AdmittedInvocation } from '../../invocations/group.js'
import {
  bandOf,
  CONFIDENCE_CAP,
  type Confidence,
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
import type { Quantity } from '../../units/quantity.js'
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
  /** JSON-able; the same for calls with the same evidence. */
  readonly evidence: object
  /** The figures of an inference, of this call alone. JSON-able. */
  readonly inference?: Inference
}

/** What a model, or the baseline in its place, said of a call. */
export interface Inference {
  /** Of the service and owner that were chosen: what the confidence is before its caps. Decimal text with four places. */
  readonly probability: string
  /** Of its being none of the classes that the model knows. */
  readonly unknown_probability?: string
  /** The others, the likeliest first. */
  readonly alternatives: readonly Alternative[]
}

export interface Alternative {
  readonly service: string
  readonly owner: string
  readonly probability: string
}

/** What a call cost, and by which method each figure came about. */
export interface Consumption {
  readonly costUsd: Quantity<'USD'>
  readonly costBasis: string
  readonly costDetails: string
  readonly energyWh: Quantity<'Wh'>
  readonly energyBasis: string
  readonly carbonGco2e: Quantity<'gCO2e'>
  readonly carbonBasis: string
  readonly footprintDetails: string
}

/** What a stage needs to turn a verdict into a row. */
export interface RowDeps {
  /** Of the log that the events are read from: when it was created, seconds since the epoch. */
  readonly logId: number
  readonly consumptionOf: (admitted: AdmittedInvocation) => Consumption
  /** The tenant's key for hashing identities. */
  readonly identityKeyOf: (tenantId: string) => SipKey
  /** Where the tenant's data must stay. */
  readonly residencyRegionOf: (tenantId: string) => ResidencyRegion
  /** Whether the copy by which the stage decides lags its source. */
  readonly isIndexStale: () => boolean
}

/** Rules of stages A and C; a change of either gets a new number. */
export const RULES_VERSION = 'rules-3'

export interface RowPlace {
  readonly partition: number
  /** When this version becomes valid: the planning time of its batch. */
  readonly validFromMs: number
}

const NOBODY = new Uint8Array(16)

/**
 * A verdict's facts as a row keeps them, with the confidence that they are worth before any cap; an inferred one has that
 * among its figures.
 */
export const evidenceText = ({ evidence, inference, confidence }: Verdict): string =>
  JSON.stringify(inference === undefined ? { ...evidence, confidence: confidenceText(confidence) } : evidence)

/** One finished row. Pure but for the injected rules: the same inputs give the same bytes, as a repeated insert must. */
export function toRow(admitted: AdmittedInvocation, verdict: Verdict, place: RowPlace, deps: RowDeps): AttributionRow {
  const { invocation, tenantId } = admitted
  const consumption = deps.consumptionOf(admitted)
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
      degradationState: verdict.degradationState,
      isResidencyRestricted: isRestricted(deps.residencyRegionOf(tenantId), invocation.region),
    }),

    costBasis: consumption.costBasis,
    energyBasis: consumption.energyBasis,
    carbonBasis: consumption.carbonBasis,
    evidence: evidenceText(verdict),
    costDetails: consumption.costDetails,
    footprintDetails: consumption.footprintDetails,
    inference: verdict.inference === undefined ? '' : JSON.stringify(verdict.inference),

    principal: admitted.principal,
    identityHash: hashIdentity(admitted, deps),

    receivedAtMs: admitted.receivedAtMs,
    sourceLog: deps.logId,
    sourcePartition: place.partition,
    sourceSequence: admitted.position.sequence,
    sourceIndex: admitted.position.index,
  })
}

function hashIdentity({ invocation, tenantId, identityHash: known }: AdmittedInvocation, deps: RowDeps): Uint8Array {
  if (known !== undefined) return known
  if (invocation.attributedIdentity === undefined) return NOBODY
  return identityHash(deps.identityKeyOf(tenantId), invocation.attributedIdentity)
}
