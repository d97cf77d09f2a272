import type { ClickHouseClient } from '@clickhouse/client'

/**
 * Records of October 2026, made inside the engine: a tenant of 200 services of 50 teams that call 84 models of three
 * providers, 5,000 people. All of them are priced by the book, so that each has metered rows. By day and meter there
 * are about 20 of them to a group at ten million.
 */
export const BENCH_TENANT = 'tnt_bench'
const MODELS = 84

/** @returns how many bytes they take on disk */
export async function makeRecords(store: ClickHouseClient, records: number): Promise<number> {
  // The views fed by an insert are not measured here, and would take longer than the rest.
  const views = await store.query({
    query: `SELECT name FROM system.tables WHERE database = currentDatabase() AND engine = 'MaterializedView'`,
    format: 'JSONCompactEachRow',
  })
  for (const [name] of await views.json<[string]>()) await store.command({ query: `DROP TABLE ${name}` })

  const model = `sipHash64(number, 1) % ${MODELS}`
  const rate = (tenths: string): string => `concat(toString(intDiv(${tenths}, 10)), '.', toString((${tenths}) % 10))`
  await store.command({
    query: `
INSERT INTO attributions (tenant_id, id, event_id, event_time, valid_from, provider, requested_model, served_model,
  service, owner,
  cost_usd, energy_wh, carbon_gco2e, pathway_category, output_state, stage_origin, confidence, confidence_band,
    evidence_basis,
  model_version, degradation_state, freshness, export_eligibility, cost_basis, energy_basis, carbon_basis, evidence,
  cost_details, input_tokens, output_tokens, ingestion_layer, identity_hash, received_at)
SELECT '${BENCH_TENANT}', sipHash128(number) AS id, generateUUIDv4(),
  toDateTime64('2026-10-01 00:00:00', 3, 'UTC')
    + toIntervalMillisecond(intDiv(number * 2678400000, ${records})) AS time, time,
  ['openai', 'anthropic', 'bedrock'][m % 3 + 1], served, concat('model-', toString(m)) AS served,
  concat('service-', toString(s)), concat('team-', toString(s % 50)),
  toDecimal128(inputs * (m + 1) + outputs * 4 * (m + 1), 0) * toDecimal128('0.0000001', 18),
  toDecimal128(outputs, 0) * toDecimal128('0.00037', 18), toDecimal128(outputs, 0) * toDecimal128('0.00011', 18),
  'gateway_mediated', 'deterministically_resolved', 'stage_a', 0.95, 'chargeback_ready',
    'identity_and_service_resolved',
  'rules-1', 'none', 'fresh', if(number % 50 = 0, 'disputed', 'eligible'), 'price_book', 'modelled', 'modelled', '{}',
  concat('{"basis":"price_book","book_as_of":"2026-09-23","price":{"source":"price_book",',
    '"service_tier":"standard","rates":{"input":"',
    ${rate('m + 1')}, '","output":"', ${rate('4 * (m + 1)')}, '"}}}'),
  inputs, outputs, 'gateway', sipHash128(sipHash64(number, 3) % 5000), time
FROM (
  SELECT number, ${model} AS m, sipHash64(number, 2) % 200 AS s, 50 + number % 4000 AS inputs,
    5 + number % 700 AS outputs
  FROM numbers(${records})
)`,
  })
  const size = await store.query({
    query: `SELECT toUInt64(sum(bytes_on_disk)) FROM system.parts WHERE active AND table = 'attributions'`,
    format: 'JSONCompactEachRow',
  })
  return Number((await size.json<[string]>())[0]?.[0])
}
