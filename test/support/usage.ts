/** Records and rollups in comparable form, exact to the last digit and person. */
import type { ClickHouseClient } from '@clickhouse/client'

/** A group of the rollups, as text: its dimensions, then its sums, then its people with the number of calls of each. */
type Group = readonly unknown[]

export interface Books {
  /** Summed from the current versions of the records. */
  readonly records: readonly Group[]
  readonly rollups: readonly Group[]
}

const DIMENSIONS = `tenant_id, bucket, provider, served_model, service, owner, pathway_category, ingestion_layer,
  stage_origin, output_state, evidence_basis, confidence_band, degradation_state, export_eligibility`

const BUCKET = "toString(toDateTime(toStartOfFifteenMinutes(event_time), 'UTC')) AS bucket"
const OF_RECORDS = `SELECT ${DIMENSIONS.replace('bucket', BUCKET)},
  toString(count()), toString(sum(cost_usd)), toString(sum(energy_wh)), toString(sum(carbon_gco2e)),
  toString(sum(ifNull(input_tokens, 0))), toString(sum(ifNull(output_tokens, 0))),
  toString(sum(ifNull(cached_input_tokens, 0))), toString(sum(ifNull(cache_write_tokens, 0))),
  toString(sum(ifNull(reasoning_tokens, 0))), toString(countIf(cost_basis = 'unpriced')),
  toString(countIf(energy_basis = 'unknown')), toString(countIf(carbon_basis = 'unknown')),
  toString(countIf(input_tokens IS NULL)), toString(countIf(output_tokens IS NULL)),
  arraySort(arrayMap((person, times) -> concat(person, ' ', toString(times)),
    (sumMapIf([lower(hex(identity_hash))], [1], identity_hash != toFixedString('', 16)) AS people).1, people.2))
FROM attributions
WHERE (tenant_id, id, valid_from) NOT IN (SELECT tenant_id, id, valid_from FROM closed)
GROUP BY ${DIMENSIONS} ORDER BY ALL`

const OF_ROLLUPS = `SELECT ${DIMENSIONS.replace('bucket', 'toString(bucket) AS bucket')},
  toString(sum(calls)) AS calls_now, toString(sum(cost_usd)), toString(sum(energy_wh)), toString(sum(carbon_gco2e)),
  toString(sum(input_tokens)), toString(sum(output_tokens)), toString(sum(cached_input_tokens)),
  toString(sum(cache_write_tokens)), toString(sum(reasoning_tokens)), toString(sum(unpriced_calls)),
  toString(sum(energy_unknown_calls)), toString(sum(carbon_unknown_calls)),
  toString(sum(input_tokens_unknown_calls)), toString(sum(output_tokens_unknown_calls)),
  arraySort(arrayMap((person, times) -> concat(lower(hex(person)), ' ', toString(times)),
    mapKeys(mapFilter((_, times) -> times != 0, sumMap(people)) AS present), mapValues(present)))
FROM usage_15m
GROUP BY ${DIMENSIONS} HAVING calls_now != '0' OR sum(cost_usd) != 0 OR sum(input_tokens) != 0 OR length(present) != 0
ORDER BY ALL`

export async function readBooks(store: ClickHouseClient): Promise<Books> {
  const ask = async (query: string): Promise<Group[]> =>
    (await store.query({ query, format: 'JSONCompactEachRow' })).json<Group>()
  return { records: await ask(OF_RECORDS), rollups: await ask(OF_ROLLUPS) }
}
