import type { ClickHouseClient } from '@clickhouse/client'
import { type Expressions, insertGenerated, type Numbered, random } from '../generated-rows.js'

/**
 * The calls of a company, made inside the engine: 500 people in 12 teams use 40 services, each mostly five of them and
 * sometimes any other; a tenth of the calls name no person. A quarter of the services has no owner in the directory:
 * their callers own their calls.
 */

/** Twelve months before it the first record was made. */
export const LAST_AT_MS = Date.UTC(2026, 10, 20)
const SPAN_MS = LAST_AT_MS - Date.UTC(2025, 10, 20)
const PEOPLE = 500
const SERVICES = 40
const OWN_SERVICES = 5

const EXPRESSIONS: Expressions = [
  ['id', 'sipHash128(n, {seed:UInt64})'],
  ['event_id', 'toUUID(UUIDNumToString(sipHash128(n, 1, {seed:UInt64})))'],
  ['event_time', `fromUnixTimestamp64Milli({first:Int64} + toInt64(n * {stepMs:Float64} + 3000 * ${random(1)}))`],
  ['valid_from', 'fromUnixTimestamp64Milli({first:Int64} + toInt64(n * {stepMs:Float64}) + 4000)'],
  ['person', `toUInt32(floor(${PEOPLE} * pow(${random(2)}, 1.5)))`],
  ['own', `toUInt32(floor(${OWN_SERVICES} * pow(${random(3)}, 2)))`],
  [
    'service_rank',
    `toUInt32(if(${random(4)} < 0.9, floor(${SERVICES} * pow(cityHash64(person, own) % 1009 / 1009., 1.5)),
     floor(${SERVICES} * ${random(5)})))`,
  ],
  ['service', "concat('service-', leftPad(toString(service_rank), 2, '0'))"],
  ['is_nobodys', `service_rank % 10 = 9 OR ${random(6)} < 0.03`],
  ['name', "concat('person-', toString(person), '@example.com')"],
  [
    'owner',
    "multiIf(service_rank % 4 != 3, concat('team-', toString(service_rank % 12)), is_nobodys, 'unassigned', name)",
  ],
  ['model', `toUInt32(floor(6 * pow(${random(7)}, 1.5)))`],
  ['provider', "['openai', 'anthropic', 'google'][1 + model % 3]"],
  ['requested_model', "concat('model-', toString(model))"],
  ['served_model', 'requested_model'],
  ['in_tokens', `toUInt64(50 + exp(4 + 5 * ${random(8)}))`],
  ['out_tokens', `toUInt64(5 + exp(2 + 6 * ${random(9)}))`],
  ['cost_usd', 'toDecimal128((in_tokens * 0.1 + out_tokens * 0.4) * (1 + model) / 1000000, 9)'],
  ['energy_wh', `toDecimal128((in_tokens * 0.01 + out_tokens) * (1 + model) / 2000, 12)`],
  ['carbon_gco2e', 'toDecimal128(toFloat64(energy_wh) * 0.36, 12)'],
  ['luck', random(10)],
  ['stage_origin', "multiIf(luck < 0.85, 'stage_a', luck < 0.97, 'stage_b', 'stage_c')"],
  [
    'evidence_basis',
    "multiIf(luck < 0.85, 'identity_and_service_resolved', luck < 0.97, 'trained_inference', 'default_pool')",
  ],
  ['confidence', 'toDecimal32(multiIf(luck < 0.85, 0.95, luck < 0.93, 0.85, luck < 0.97, 0.6, 0.1), 4)'],
  ['confidence_band', "multiIf(confidence >= 0.8, 'chargeback_ready', confidence >= 0.5, 'provisional', 'estimated')"],
  ['output_state', "multiIf(luck < 0.85, 'deterministically_resolved', luck < 0.97, 'inferred', 'unresolved')"],
  ['degradation_state', "'none'"],
  ['export_eligibility', "if(confidence >= 0.8, 'eligible', 'below_floor')"],
  ['ingestion_layer', "['application', 'gateway', 'proxy'][1 + service_rank % 3]"],
  ['pathway_category', "['application_direct', 'gateway_mediated', 'proxy_mediated'][1 + service_rank % 3]"],
  ['model_version', "if(stage_origin = 'stage_b', 'mdl_7', 'rules-1')"],
  ['freshness', "'fresh'"],
  ['cost_basis', "'price_book'"],
  ['energy_basis', "'modelled'"],
  ['carbon_basis', "'modelled'"],
  ['evidence', "'{}'"],
  ['cost_details', "'{}'"],
  ['footprint_details', "'{}'"],
  ['input_tokens', 'in_tokens'],
  ['output_tokens', 'out_tokens'],
  ['identity_hash', "if(is_nobodys, toFixedString('', 16), sipHash128(person))"],
  ['received_at', 'valid_from'],
]
/** Steps on the way to columns. */
const INNER = new Set([
  'person',
  'own',
  'service_rank',
  'is_nobodys',
  'name',
  'model',
  'in_tokens',
  'out_tokens',
  'luck',
])

/** Inserts calls by their numbers, in the order of their times. @param laterMs makes all of their times later */
export const generateCalls = (store: ClickHouseClient, numbers: Numbered, laterMs = 0): Promise<void> =>
  insertGenerated(store, EXPRESSIONS, INNER, numbers, { firstMs: LAST_AT_MS - SPAN_MS + laterMs, lengthMs: SPAN_MS })
