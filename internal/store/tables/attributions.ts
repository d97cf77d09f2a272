import { uuidBytes } from '../../ids/ids.js'
import type { Quantity } from '../../units/quantity.js'
import type { RowBinaryWriter } from '../row-binary.js'
import type { RowBinaryTable } from '../sink.js'

/**
 * One version of one attribution. Rows are inserted, never changed: a later version is a new row with a later
 * `validFromMs`. A row carries every fact that its explanation recomputes from.
 */
export interface AttributionRow {
  readonly tenantId: string
  /** The 16 bytes that `attr_` and `inv_` share. */
  readonly id: Uint8Array
  readonly eventId: string
  readonly eventTimeMs: number
  readonly validFromMs: number

  readonly provider: string
  readonly requestedModel: string
  readonly servedModel: string
  readonly service: string
  readonly owner: string
  readonly costUsd: Quantity<'USD'>
  readonly energyWh: Quantity<'Wh'>
  readonly carbonGco2e: Quantity<'gCO2e'>
  readonly pathwayCategory: string
  readonly outputState: string

  readonly stageOrigin: string
  /** Ten-thousandths, 0 to 9,500. */
  readonly confidence: number
  /** What the event's producer says of its own attribution: the confidence is never above it. Ten-thousandths; the cap where it says nothing. */
  readonly attributionConfidence: number
  readonly confidenceBand: string
  readonly evidenceBasis: string
  readonly modelVersion: string
  readonly degradationState: string
  readonly freshness: string
  readonly exportEligibility: string

  readonly costBasis: string
  readonly energyBasis: string
  readonly carbonBasis: string
  /** JSON without figures of the single call, so that equal ones are stored once. */
  readonly evidence: string
  readonly costDetails: string
  readonly footprintDetails: string
  /** JSON of the figures of an inferred attribution: its probability, and those of the alternatives. Empty where nothing was inferred. */
  readonly inference: string

  readonly inputTokens: number | undefined
  readonly outputTokens: number | undefined
  readonly cachedInputTokens: number | undefined
  readonly cacheWriteTokens: number | undefined
  readonly cacheWriteTtlSeconds: number | undefined
  readonly reasoningTokens: number | undefined
  readonly audioInputTokens: number | undefined
  readonly audioOutputTokens: number | undefined
  readonly latencyMs: number | undefined
  readonly estimatedCostUsd: Quantity<'USD'> | undefined
  readonly serviceTier: string
  readonly servedFromCache: boolean
  readonly region: string

  readonly ingestionLayer: string
  readonly principal: string
  /** Per-tenant keyed hash of the stated identity; zeros when none was stated. */
  readonly identityHash: Uint8Array
  readonly traceId: string
  readonly tags: Readonly<Record<string, string>> | undefined
  readonly k8sNamespace: string
  readonly k8sWorkload: string
  readonly workloadIdentity: string

  readonly receivedAtMs: number
  /** When stage A's log was created, seconds since the epoch: its sequences say nothing about another log's. */
  readonly sourceLog: number
  readonly sourcePartition: number
  readonly sourceSequence: number
  readonly sourceIndex: number
}

type Column = readonly [name: string, type: string, write: (to: RowBinaryWriter, row: AttributionRow) => void]

const LABEL = 'LowCardinality(String)'
const COUNT = 'Nullable(UInt64)'
const AMOUNT = 'Decimal(38, 18)'
const INSTANT = "DateTime64(3, 'UTC')"

/** The columns in the order in which rows are written: name, type, and how a row's value goes there. */
export const ATTRIBUTION_COLUMNS: readonly Column[] = [
  ['tenant_id', LABEL, (to, row) => to.string(row.tenantId)],
  ['id', 'FixedString(16)', (to, row) => to.fixed(row.id)],
  ['event_id', 'UUID', (to, row) => to.uuid(uuidBytes(row.eventId))],
  ['event_time', INSTANT, (to, row) => to.dateTime64(row.eventTimeMs)],
  ['valid_from', INSTANT, (to, row) => to.dateTime64(row.validFromMs)],

  ['provider', LABEL, (to, row) => to.string(row.provider)],
  ['requested_model', LABEL, (to, row) => to.string(row.requestedModel)],
  ['served_model', LABEL, (to, row) => to.string(row.servedModel)],
  ['service', LABEL, (to, row) => to.string(row.service)],
  ['owner', LABEL, (to, row) => to.string(row.owner)],
  ['cost_usd', AMOUNT, (to, row) => to.decimal128(row.costUsd)],
  ['energy_wh', AMOUNT, (to, row) => to.decimal128(row.energyWh)],
  ['carbon_gco2e', AMOUNT, (to, row) => to.decimal128(row.carbonGco2e)],
  ['pathway_category', LABEL, (to, row) => to.string(row.pathwayCategory)],
  ['output_state', LABEL, (to, row) => to.string(row.outputState)],

  ['stage_origin', LABEL, (to, row) => to.string(row.stageOrigin)],
  ['confidence', 'Decimal(5, 4)', (to, row) => to.int32(row.confidence)],
  ['attribution_confidence', 'Decimal(5, 4)', (to, row) => to.int32(row.attributionConfidence)],
  ['confidence_band', LABEL, (to, row) => to.string(row.confidenceBand)],
  ['evidence_basis', LABEL, (to, row) => to.string(row.evidenceBasis)],
  ['model_version', LABEL, (to, row) => to.string(row.modelVersion)],
  ['degradation_state', LABEL, (to, row) => to.string(row.degradationState)],
  ['freshness', LABEL, (to, row) => to.string(row.freshness)],
  ['export_eligibility', LABEL, (to, row) => to.string(row.exportEligibility)],

  ['cost_basis', LABEL, (to, row) => to.string(row.costBasis)],
  ['energy_basis', LABEL, (to, row) => to.string(row.energyBasis)],
  ['carbon_basis', LABEL, (to, row) => to.string(row.carbonBasis)],
  ['evidence', LABEL, (to, row) => to.string(row.evidence)],
  ['cost_details', LABEL, (to, row) => to.string(row.costDetails)],
  ['footprint_details', LABEL, (to, row) => to.string(row.footprintDetails)],
  ['inference', 'String', (to, row) => to.string(row.inference)],

  ['input_tokens', COUNT, (to, row) => to.nullableUint64(row.inputTokens)],
  ['output_tokens', COUNT, (to, row) => to.nullableUint64(row.outputTokens)],
  ['cached_input_tokens', COUNT, (to, row) => to.nullableUint64(row.cachedInputTokens)],
  ['cache_write_tokens', COUNT, (to, row) => to.nullableUint64(row.cacheWriteTokens)],
  ['cache_write_ttl_seconds', COUNT, (to, row) => to.nullableUint64(row.cacheWriteTtlSeconds)],
  ['reasoning_tokens', COUNT, (to, row) => to.nullableUint64(row.reasoningTokens)],
  ['audio_input_tokens', COUNT, (to, row) => to.nullableUint64(row.audioInputTokens)],
  ['audio_output_tokens', COUNT, (to, row) => to.nullableUint64(row.audioOutputTokens)],
  ['latency_ms', COUNT, (to, row) => to.nullableUint64(row.latencyMs)],
  ['estimated_cost_usd', `Nullable(${AMOUNT})`, (to, row) => to.nullableDecimal128(row.estimatedCostUsd)],
  ['service_tier', LABEL, (to, row) => to.string(row.serviceTier)],
  ['served_from_cache', 'Bool', (to, row) => to.uint8(row.servedFromCache ? 1 : 0)],
  ['region', LABEL, (to, row) => to.string(row.region)],

  ['ingestion_layer', LABEL, (to, row) => to.string(row.ingestionLayer)],
  ['principal', LABEL, (to, row) => to.string(row.principal)],
  ['identity_hash', 'FixedString(16)', (to, row) => to.fixed(row.identityHash)],
  ['trace_id', 'String', (to, row) => to.string(row.traceId)],
  ['tags', 'Map(LowCardinality(String), String)', (to, row) => to.stringMap(row.tags)],
  ['k8s_namespace', LABEL, (to, row) => to.string(row.k8sNamespace)],
  ['k8s_workload', LABEL, (to, row) => to.string(row.k8sWorkload)],
  ['workload_identity', LABEL, (to, row) => to.string(row.workloadIdentity)],

  ['received_at', INSTANT, (to, row) => to.dateTime64(row.receivedAtMs)],
  ['source_log', 'UInt32', (to, row) => to.uint32(row.sourceLog)],
  ['source_partition', 'UInt16', (to, row) => to.uint16(row.sourcePartition)],
  ['source_sequence', 'UInt64', (to, row) => to.uint64(row.sourceSequence)],
  ['source_index', 'UInt32', (to, row) => to.uint32(row.sourceIndex)],
]

/** Tokens kept against repeated inserts, over all writers; far above what can be in flight (partitions x stages). */
const DEDUPLICATION_WINDOW = 10_000

/** A record that is looked up, or of which a page shows one here and one there, costs a granule: a quarter of the usual one. */
export const GRANULE_ROWS = 2_048

/**
 * Partitioned by the month in which a row became valid, not by its event's month: a batch then lands in one part,
 * whole or not at all, however old its events are (deploy/decisions/partition-by-valid-from.md).
 */
export const CREATE_ATTRIBUTIONS = `
CREATE TABLE IF NOT EXISTS attributions (
${ATTRIBUTION_COLUMNS.map(([name, type]) => `  ${name} ${type}`).join(',\n')},
  INDEX id_filter id TYPE bloom_filter(0.01) GRANULARITY 1
)
ENGINE = MergeTree
PARTITION BY toYYYYMM(valid_from)
ORDER BY (tenant_id, event_time, id)
SETTINGS non_replicated_deduplication_window = ${DEDUPLICATION_WINDOW}, index_granularity = ${GRANULE_ROWS}`

export const ADD_ATTRIBUTION_INFERENCE =
  'ALTER TABLE attributions ADD COLUMN IF NOT EXISTS inference String AFTER footprint_details'

export const ADD_ATTRIBUTION_CONFIDENCE =
  'ALTER TABLE attributions ADD COLUMN IF NOT EXISTS attribution_confidence Decimal(5, 4) DEFAULT 0.95 AFTER confidence'

export const ATTRIBUTIONS: RowBinaryTable<AttributionRow> = {
  name: 'attributions',
  columns: ATTRIBUTION_COLUMNS.map(([name]) => name),
  rowBytes: 600,
  write(to, row) {
    for (const [, , write] of ATTRIBUTION_COLUMNS) write(to, row)
  },
}
