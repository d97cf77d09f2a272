import type { ClickHouseClient } from '@clickhouse/client'
import { type Expressions, insertGenerated, type Numbered, random } from '../generated-rows.js'

/**
 * Records made inside the engine, correlated as real ones are: a model has one provider and one price, a service one
 * owner, cost and energy go with tokens, carbon with energy, confidence with evidence. A few values are very rare.
 */

/** Sixty days before it the first record was made. */
export const LAST_AT_MS = Date.UTC(2026, 10, 20)
const SPAN_MS = 60 * 24 * 60 * 60 * 1000

/** A rank below `count`, the lower the likelier. */
const ranked = (count: number, salt: number, steepness: number): string =>
  `toUInt32(floor(${count} * pow(${random(salt)}, ${steepness})))`

const EXPRESSIONS: Expressions = [
  ['id', 'sipHash128(n, {seed:UInt64})'],
  ['event_id', 'toUUID(UUIDNumToString(sipHash128(n, 1, {seed:UInt64})))'],
  ['event_time', `fromUnixTimestamp64Milli({first:Int64} + toInt64(n * {stepMs:Float64} + 3000 * ${random(1)}))`],
  ['valid_from', 'fromUnixTimestamp64Milli({first:Int64} + toInt64(n * {stepMs:Float64}) + 4000)'],
  ['model', ranked(60, 2, 3)],
  ['provider', "concat('provider-', toString(model % 8))"],
  ['requested_model', "concat('model-', toString(model))"],
  ['served_model', "concat('model-', toString(model))"],
  ['service_rank', ranked(2_000, 3, 3)],
  ['service', "concat('service-', toString(service_rank))"],
  [
    'owner',
    `if(service_rank % 4 = 0, concat('person-', toString(${ranked(5_000, 4, 2)}), '@example.com'),
     concat('team-', toString(service_rank % 90)))`,
  ],
  ['in_tokens', `toUInt64(50 + exp(4 + 5 * ${random(5)}))`],
  ['out_tokens', `toUInt64(5 + exp(2 + 6 * ${random(6)}))`],
  ['cost_usd', 'toDecimal128((in_tokens * 0.1 + out_tokens * 0.4) * (1 + model % 17) / 1000000, 9)'],
  [
    'energy_wh',
    `toDecimal128((in_tokens * 0.01 + out_tokens) * (1 + model % 11) * (0.9 + 0.2 * ${random(7)}) / 2000, 12)`,
  ],
  ['carbon_gco2e', `toDecimal128(toFloat64(energy_wh) * (0.05 + (cityHash64(service_rank) % 10) * 0.06), 12)`],
  ['luck', random(8)],
  ['stage_origin', "multiIf(luck < 0.8, 'stage_a', luck < 0.97, 'stage_b', 'stage_c')"],
  [
    'evidence_basis',
    `multiIf(luck < 0.5, 'identity_and_service_resolved', luck < 0.7, 'service_resolved', luck < 0.75,
     'identity_resolved',
      luck < 0.79, 'trace_correlated', luck < 0.8, 'principal_resolved', luck < 0.965, 'trained_inference',
      luck < 0.97, 'heuristic_baseline', luck < 0.9999, 'default_pool', 'allocation_policy')`,
  ],
  [
    'confidence',
    `toDecimal32(multiIf(luck < 0.5, 0.95, luck < 0.7, 0.9, luck < 0.75, 0.85, luck < 0.79, 0.82, luck < 0.8, 0.8,
      luck < 0.97, 0.3 + 0.6 * ${random(9)}, 0.1), 4)`,
  ],
  ['confidence_band', "multiIf(confidence >= 0.8, 'chargeback_ready', confidence >= 0.5, 'provisional', 'estimated')"],
  ['rare', random(10)],
  [
    'output_state',
    `multiIf(rare < 0.00001, 'disputed', rare < 0.001, 'overridden', luck < 0.8, 'deterministically_resolved',
      luck < 0.97, 'inferred', luck < 0.9999, 'unresolved', 'allocated')`,
  ],
  [
    'degradation_state',
    "multiIf(rare > 0.999999, 'model_recalled', luck > 0.965 AND luck < 0.97, 'degraded_serving', 'none')",
  ],
  [
    'export_eligibility',
    `multiIf(output_state = 'disputed', 'disputed', degradation_state = 'degraded_serving', 'advisory',
     confidence >= 0.8, 'eligible', 'below_floor')`,
  ],
  ['ingestion_layer', "['application', 'gateway', 'proxy'][1 + cityHash64(service_rank) % 3]"],
  [
    'pathway_category',
    "multiIf(rare > 0.5, 'agent_workflow', ingestion_layer = 'gateway', 'gateway_mediated', ingestion_layer = " +
      "'proxy', 'proxy_mediated', 'application_direct')",
  ],
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
  ['identity_hash', `sipHash128(${ranked(5_000, 4, 2)})`],
  ['trace_id', "if(rare > 0.5, lower(hex(sipHash128(intDiv(n, 6), 2))), '')"],
  ['received_at', 'valid_from'],
]
/** Steps on the way to columns. */
const INNER = new Set(['model', 'service_rank', 'in_tokens', 'out_tokens', 'luck', 'rare'])

export interface Generated extends Numbered {
  readonly seed?: number
  /** Makes all of their times later. */
  readonly laterMs?: number
  /** SQL of the pairs of declared tags, by the number `n` of the record. */
  readonly dimensions?: string
}

/** Inserts records by their numbers, in the order of their times, as batches come. */
export const generateRecords = (
  store: ClickHouseClient,
  { seed = 0, laterMs = 0, dimensions = '[]', ...numbers }: Generated,
): Promise<void> =>
  insertGenerated(
    store,
    [...EXPRESSIONS, ['dimensions', dimensions]],
    INNER,
    numbers,
    { firstMs: LAST_AT_MS - SPAN_MS + laterMs, lengthMs: SPAN_MS },
    seed,
  )

/** When one of so many records is valid from, by its number. */
export const validFromMs = (number: number, total: number): number =>
  Math.floor(LAST_AT_MS - SPAN_MS + (number * SPAN_MS) / total + 4_000)

/** Closes some records, spread over all, and puts new versions in their place, as overrides do. */
export async function closeRecords(
  store: ClickHouseClient,
  tenantId: string,
  count: number,
  total: number,
  atMs: number = LAST_AT_MS + 10_000,
): Promise<void> {
  const chosen = `tenant_id = {tenant:String} AND cityHash64(id) % {every:UInt64} = 0`
  const query_params = { tenant: tenantId, every: Math.floor(total / count), at: atMs }
  const columns = await columnsOf(store, 'attributions')
  const closedColumns = (await columnsOf(store, 'closed')).filter((name) => columns.includes(name))
  await store.command({
    query: `INSERT INTO closed (${closedColumns.join(', ')}, closed_at, change)
            SELECT ${closedColumns.join(', ')}, fromUnixTimestamp64Milli({at:Int64}), 'override' FROM attributions
            WHERE ${chosen}`,
    query_params,
  })
  const replaced: Record<string, string> = {
    valid_from: 'fromUnixTimestamp64Milli({at:Int64})',
    owner: "'team-overridden'",
    output_state: "'overridden'",
    confidence: 'toDecimal32(0.95, 4)',
  }
  await store.command({
    query: `INSERT INTO attributions (${columns.join(', ')})
            SELECT ${columns.map((name) => (name in replaced ? `${replaced[name]} AS new_${name}` : name)).join(', ')}
            FROM attributions WHERE ${chosen}`,
    query_params,
  })
}

async function columnsOf(store: ClickHouseClient, table: string): Promise<string[]> {
  const result = await store.query({
    query: `SELECT name FROM system.columns WHERE database = currentDatabase() AND table = {table:String}
              AND default_kind != 'MATERIALIZED'`,
    query_params: { table },
    format: 'JSONEachRow',
  })
  return (await result.json<{ name: string }>()).map(({ name }) => name)
}
