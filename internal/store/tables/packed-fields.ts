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
 * The engine computes them from the fields, in 3.5 µs of processor time per record, also again when an erasure changes
 * one; no insert of a record names them.
 */
export interface PackedColumn {
  readonly name: string
  readonly type: string
  /** The expression that fills it. */
  readonly sql: string
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

/** Labels of closed lists: some hundreds of combinations, which a dictionary holds. */
const LABELS = {
  pathway_category: true,
  output_state: true,
  stage_origin: true,
  confidence_band: true,
  evidence_basis: true,
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

const SHOWN: Places<Exclude<Shown, keyof typeof LABELS>> = {
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
  confidence: true,
  model_version: true,
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

/** Of `attributions` and its sorted copies. */
export const SHOWN_LABELS = packed('shown_labels', 'LowCardinality(String)', LABELS)

/** Of `attributions`: all else that a page shows. It would take as much disk again in each copy. */
export const SHOWN_FIELDS = packed('shown_fields', 'String', SHOWN)

/** Of `attributions`: what the explanation of a record reads besides, except long texts. */
export const EXPLAINED_FIELDS = packed('explained_fields', 'String', EXPLAINED)

/** As columns of `attributions`, which computes them. */
export const PACKED_COLUMNS: readonly string[] = [
  `${SHOWN_LABELS.name} ${SHOWN_LABELS.type} MATERIALIZED ${SHOWN_LABELS.sql}`,
  ...[SHOWN_FIELDS, EXPLAINED_FIELDS].map(
    ({ name, type, sql }) => `${name} ${type} MATERIALIZED ${sql} CODEC(ZSTD(1))`,
  ),
]

/** As a column of a sorted copy, which takes it from there. */
export const COPIED_LABELS = `${SHOWN_LABELS.name} ${SHOWN_LABELS.type} DEFAULT ${SHOWN_LABELS.sql}`

function packed(name: string, type: string, places: Partial<Places<FieldName>>): PackedColumn {
  const fields = Object.keys(places).map((of) => fieldNamed(of as FieldName))
  const members = fields.map((field) => memberSql(field)).join(", ',', ")
  return { name, type, fields, sql: `concat('[', ${members}, ']')` }
}

function fieldNamed(name: FieldName): RecordField {
  const found = FIELDS.find((field) => field.name === name)
  if (found === undefined) throw new Error(`${name} is no field`)
  return found
}

/**
 * A field as JSON, as `JSONEachRow` gives it under any settings, with numbers as texts. Only what callers can write is
 * looked at for quotes: `toJSONString` of all fields takes twice as long.
 */
function memberSql({ name, kind, values }: RecordField): string {
  const quoted = (sql: string): string => `'"', ${sql}, '"'`
  switch (kind) {
    case 'instant':
      return quoted(`toString(toUnixTimestamp64Milli(${name}))`)
    case 'usd':
    case 'wh':
    case 'gco2e':
    case 'confidence':
      return quoted(`toString(${name})`)
    case 'count':
    case 'optionalUsd':
      return `ifNull(concat('"', toString(${name}), '"'), 'null')`
    case 'flag':
      return `toString(${name})`
    case 'tags':
      return `toJSONString(CAST(${name} AS Map(String, String)))`
    case 'pairs':
      return `toJSONString(CAST(${name} AS Array(String)))`
    default:
      return values === undefined ? `toJSONString(toString(${name}))` : quoted(`toString(${name})`)
  }
}
