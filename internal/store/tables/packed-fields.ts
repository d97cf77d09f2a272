import {
  FIELDS,
  type FieldName,
  type NamesWith,
  type RecordField,
  type WireGroup,
} from '../../records/record-fields.js'

/**
 * Columns that hold several fields of a record as one JSON array, for reading few records whole. A page costs the engine
 * a third of a millisecond per column, and more where each column is a file, however few its rows: the 32 fields that
 * a page shows take three times as long as one column (`deploy/decisions/sorted-copies.md`).
 *
 * The engine computes them from the fields, also again when an erasure changes one; no insert names them.
 */
export interface PackedColumn {
  readonly name: string
  /** With the type and the expression that fills it. */
  readonly declaration: string
  readonly fields: readonly RecordField[]
}

type Shown = NamesWith<{ readonly wire: WireGroup }>
type Explained = NamesWith<{ readonly isExplained: true }>
/** Few distinct long texts, which their own columns store once. */
type Long = 'evidence' | 'cost_details' | 'footprint_details' | 'inference'

/**
 * The place of each field in the array. Stored texts keep their places, so a new field comes last; a text that was
 * stored before lacks it, and is read as if the field were empty.
 */
type Places<Name extends FieldName> = Readonly<Record<Name, true>>

const SHOWN: Places<Shown> = {
  event_time: true,
  valid_from: true,
  provider: true,
  requested_model: true,
  served_model: true,
  service: true,
  owner: true,
  cost_usd: true,
  energy_wh: true,
  carbon_gco2e: true,
  pathway_category: true,
  output_state: true,
  stage_origin: true,
  confidence: true,
  confidence_band: true,
  evidence_basis: true,
  model_version: true,
  degradation_state: true,
  freshness: true,
  export_eligibility: true,
  contested: true,
  cost_basis: true,
  cost_bound: true,
  usage_basis: true,
  outcome: true,
  energy_basis: true,
  carbon_basis: true,
  input_tokens: true,
  output_tokens: true,
  trace_id: true,
  dimensions: true,
}

const EXPLAINED: Places<Exclude<Explained, Long>> = {
  attribution_confidence: true,
  cached_input_tokens: true,
  cached_audio_input_tokens: true,
  cached_image_input_tokens: true,
  cache_write_tokens: true,
  cache_write_ttl_seconds: true,
  cache_write_5m_tokens: true,
  cache_write_1h_tokens: true,
  reasoning_tokens: true,
  audio_input_tokens: true,
  audio_output_tokens: true,
  image_input_tokens: true,
  image_output_tokens: true,
  web_search_calls: true,
  file_search_calls: true,
  code_execution_calls: true,
  billed_units: true,
  alternative_input_tokens: true,
  alternative_output_tokens: true,
  latency_ms: true,
  estimated_cost_usd: true,
  service_tier: true,
  speed: true,
  served_from_cache: true,
  region: true,
  ingestion_layer: true,
  principal: true,
  intake: true,
  span_id: true,
  instrumentation: true,
  response_id: true,
  request_id: true,
  operation_id: true,
  attempt: true,
  assumptions: true,
  seen_by: true,
  tags: true,
}

/** Labels of closed lists: some hundreds of combinations, which a dictionary holds. */
const LABELS = {
  pathway_category: true,
  output_state: true,
  stage_origin: true,
  confidence_band: true,
  evidence_basis: true,
  model_version: true,
  degradation_state: true,
  freshness: true,
  export_eligibility: true,
  contested: true,
  cost_basis: true,
  cost_bound: true,
  usage_basis: true,
  outcome: true,
  energy_basis: true,
  carbon_basis: true,
} as const satisfies Partial<Places<Shown>>

/** Of `attributions`: all that a page shows of a record. */
export const SHOWN_FIELDS = packed('shown_fields', 'String', SHOWN, ' CODEC(ZSTD(1))')

/** Of `attributions`: what the explanation of a record reads besides, except long texts. */
export const EXPLAINED_FIELDS = packed('explained_fields', 'String', EXPLAINED, ' CODEC(ZSTD(1))')

/** Of the sorted copies. All that a page shows would take as much disk again in each of them. */
export const SHOWN_LABELS = packed('shown_labels', 'LowCardinality(String)', LABELS)

function packed(name: string, type: string, places: Partial<Places<FieldName>>, codec = ''): PackedColumn {
  const fields = Object.keys(places).map((of) => fieldNamed(of as FieldName))
  const array = `toJSONString(tuple(${fields.map(packedSql).join(', ')}))`
  return { name, fields, declaration: `${name} ${type} MATERIALIZED ${array}${codec}` }
}

function fieldNamed(name: FieldName): RecordField {
  const found = FIELDS.find((field) => field.name === name)
  if (found === undefined) throw new Error(`${name} is no field`)
  return found
}

/** As `JSONEachRow` gives it, under any settings: numbers as texts. */
function packedSql({ name, kind }: RecordField): string {
  switch (kind) {
    case 'instant':
      return `toString(toUnixTimestamp64Milli(${name}))`
    case 'tags':
      return `CAST(${name} AS Map(String, String))`
    case 'pairs':
      return `CAST(${name} AS Array(String))`
    case 'flag':
      return name
    default:
      return `toString(${name})`
  }
}
