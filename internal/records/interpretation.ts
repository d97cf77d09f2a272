/**
 * The evidence card's closed value sets and the rules that choose among them.
 * Confidence is held in ten-thousandths: whole numbers compare exactly.
 */

/** Ten-thousandths, 0 to 9,500. */
export type Confidence = number

/** Nothing is ever more certain than 0.95 (policy cap). */
export const CONFIDENCE_CAP: Confidence = 9_500
/** At or above it a record may be charged back. */
export const CHARGEBACK_FLOOR: Confidence = 8_000
/** Below it nothing is inferred: the record is an estimate. */
export const PROVISIONAL_FLOOR: Confidence = 5_000

/** As a decimal text with four places. */
export const confidenceText = (confidence: Confidence): string => (confidence / 10_000).toFixed(4)

/** The owner of a call whose owner nobody knows, and the service of one whose service nobody knows. */
export const UNASSIGNED = 'unassigned'

export const STAGE_ORIGINS = ['stage_a', 'stage_b', 'stage_c'] as const
export type StageOrigin = (typeof STAGE_ORIGINS)[number]

export const EVIDENCE_BASES = [
  'identity_and_service_resolved',
  'service_resolved',
  'identity_resolved',
  'mapping_rule',
  'trace_correlated',
  'exclusive_principal_resolved',
  'principal_resolved',
  'owner_resolved',
  'service_declared',
  'trained_inference',
  'heuristic_baseline',
  'allocation_policy',
  'default_pool',
  'manual_override',
] as const
export type EvidenceBasis = (typeof EVIDENCE_BASES)[number]

const REPLACEABLE_BY_TRACE: Readonly<Record<EvidenceBasis, boolean>> = {
  identity_and_service_resolved: false,
  service_resolved: false,
  identity_resolved: false,
  mapping_rule: false,
  trace_correlated: true,
  exclusive_principal_resolved: false,
  principal_resolved: true,
  owner_resolved: true,
  service_declared: false,
  trained_inference: true,
  heuristic_baseline: true,
  allocation_policy: true,
  default_pool: true,
  manual_override: false,
}
/**
 * Whether evidence from the trace may replace this one. It replaces neither what the event states nor what a person
 * decided.
 */
export const isReplaceableByTrace = (basis: string): boolean => REPLACEABLE_BY_TRACE[basis as EvidenceBasis] === true

/** What contradicts an attribution: the kind of fact that says otherwise. */
export const CONTESTED_BY = [
  /** The directory has services, and the stated one is none of them. */
  'undeclared_service',
  /** The directory maps the workload that made the call to another service than the stated one. */
  'workload_identity',
  /** The credential belongs to the attributed service alone; the event states another one. */
  'exclusive_principal',
  /** The stated service has the name of a cost pool, or looks like another name. */
  'misleading_name',
  /** The call states no service, and other calls of its trace belong to several. */
  'trace',
] as const
export type ContestedBy = (typeof CONTESTED_BY)[number]

export const CONFIDENCE_BANDS = ['chargeback_ready', 'provisional', 'estimated'] as const
export type ConfidenceBand = (typeof CONFIDENCE_BANDS)[number]

export const DEGRADATION_STATES = ['none', 'degraded_serving', 'disabled', 'model_recalled'] as const
export type DegradationState = (typeof DEGRADATION_STATES)[number]

export const FRESHNESSES = ['fresh', 'index_stale', 'source_stale'] as const
export type Freshness = (typeof FRESHNESSES)[number]

export const EXPORT_ELIGIBILITIES = [
  'eligible',
  'residency_restricted',
  'disputed',
  'advisory',
  'notional',
  'implausible_cost',
  'ambiguous_usage',
  'unpriced',
  'cost_upper_bound',
  'below_floor',
] as const
export type ExportEligibility = (typeof EXPORT_ELIGIBILITIES)[number]

export const OUTPUT_STATES = [
  'deterministically_resolved',
  'inferred',
  'allocated',
  'unresolved',
  'overridden',
  'disputed',
] as const
export type OutputState = (typeof OUTPUT_STATES)[number]

export const PATHWAY_CATEGORIES = [
  'application_direct',
  'gateway_mediated',
  'proxy_mediated',
  'agent_workflow',
  'batch',
  'connector_import',
  'other',
] as const
export type PathwayCategory = (typeof PATHWAY_CATEGORIES)[number]

export function bandOf(confidence: Confidence): ConfidenceBand {
  if (confidence >= CHARGEBACK_FLOOR) return 'chargeback_ready'
  return confidence >= PROVISIONAL_FLOOR ? 'provisional' : 'estimated'
}

/**
 * The evidence's confidence under both caps: the policy's, and the producer's confidence in its own attribution.
 *
 * @param stated `attribution_confidence` of the event, 0 to 0.95; cut, never rounded up
 */
export function capConfidence(confidence: Confidence, stated: number | undefined): Confidence {
  return Math.min(confidence, stated === undefined ? CONFIDENCE_CAP : stepsBelow(stated), CONFIDENCE_CAP)
}

/**
 * Whole ten-thousandths. The product of a short decimal's nearest double can lie a hair below it: 0.57 x 10,000 is
 * 5,699.999...
 */
function stepsBelow(stated: number): Confidence {
  const nearest = Math.round(stated * 10_000)
  return nearest / 10_000 <= stated ? nearest : nearest - 1
}

/** The first reason that applies; without one the record is eligible. */
export function eligibilityOf(record: {
  readonly confidence: Confidence
  readonly isPriced: boolean
  /** Whether nobody is billed for it: its cost is 0. */
  readonly isNotional: boolean
  /** Whether the caller states the cost, and it cannot be right. */
  readonly isCostImplausible: boolean
  /** Whether its counts can be read in two ways whose costs differ. */
  readonly isUsageAmbiguous: boolean
  /** Whether its cost is an upper bound, and its tenant charges none back. */
  readonly isCostUpperBound: boolean
  /** Whether its sender estimated the counts, which no provider has stated. */
  readonly isUsageEstimated: boolean
  readonly degradationState: DegradationState
  readonly isResidencyRestricted: boolean
}): ExportEligibility {
  if (record.isResidencyRestricted) return 'residency_restricted'
  if (record.degradationState === 'degraded_serving') return 'advisory'
  if (record.isNotional) return 'notional'
  if (record.isCostImplausible) return 'implausible_cost'
  if (record.isUsageAmbiguous) return 'ambiguous_usage'
  if (!record.isPriced) return 'unpriced'
  if (record.isCostUpperBound) return 'cost_upper_bound'
  if (record.isUsageEstimated) return 'advisory'
  return record.confidence >= CHARGEBACK_FLOOR ? 'eligible' : 'below_floor'
}

/** An event that is over an hour older than its arrival came from a source that lags. */
const SOURCE_STALE_MS = 60 * 60 * 1000

/**
 * A copy that lags says more than a source that does: the record may be another once the copy has caught up, and to
 * attribute the window again then mends it.
 *
 * @param isIndexStale whether the copy by which the record was decided lags its source
 */
export function freshnessOf(eventTimeMs: number, receivedAtMs: number, isIndexStale: boolean): Freshness {
  if (isIndexStale) return 'index_stale'
  return receivedAtMs - eventTimeMs > SOURCE_STALE_MS ? 'source_stale' : 'fresh'
}

const PATHWAY_OF_LAYER = new Map<string, PathwayCategory>([
  ['application', 'application_direct'],
  ['sdk', 'application_direct'],
  ['gateway', 'gateway_mediated'],
  ['proxy', 'proxy_mediated'],
  ['sidecar', 'proxy_mediated'],
  ['connector', 'connector_import'],
])

const CONNECTOR_PREFIX = 'con_'

/**
 * How the call reached its provider. A batch job, an agent's step and a partner's connector take precedence over the
 * layer that captured the call.
 *
 * @param principal id of the credential that sent it
 */
export function pathwayOf(
  call: {
    readonly ingestionLayer: string
    readonly serviceTier?: string | undefined
    readonly traceId?: string | undefined
    readonly parentSpanId?: string | undefined
  },
  principal: string,
): PathwayCategory {
  if (call.serviceTier === 'batch') return 'batch'
  if (call.traceId !== undefined && call.parentSpanId !== undefined) return 'agent_workflow'
  if (principal.startsWith(CONNECTOR_PREFIX)) return 'connector_import'
  return pathwayOfLayer(call.ingestionLayer)
}

/** The pathway that follows from the layer alone. */
export const pathwayOfLayer = (ingestionLayer: string): PathwayCategory =>
  PATHWAY_OF_LAYER.get(ingestionLayer.toLowerCase()) ?? 'other'
