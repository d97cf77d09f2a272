import type { ClickHouseClient } from '@clickhouse/client'
import type { CostBasis } from '../../../records/bases.js'
import type { FieldName } from '../../../records/record-fields.js'
import { BILLED_UNITS, type BilledUnit } from '../../../text/call-words.js'
import { IN_PERIOD } from '../../snapshot.js'
import { ATTRIBUTIONS } from '../../tables/attributions.js'

/** Records that were priced in the same way. */
export interface PricedKind {
  /** `cost_details` of the records. */
  readonly details: string
  /** Its `cityHash64`. */
  readonly hash: string
  /** Counts that are above 0 in one of these records, and units besides tokens that one of them states. */
  readonly occurring: readonly (MeteredColumn | BilledUnit)[]
}

/** Columns of counts that meters are computed from, besides input and output. */
export const METERED_COLUMNS = [
  'cached_input_tokens',
  'cached_audio_input_tokens',
  'cached_image_input_tokens',
  'cache_write_tokens',
  'reasoning_tokens',
  'audio_input_tokens',
  'audio_output_tokens',
  'image_input_tokens',
  'image_output_tokens',
  'web_search_calls',
  'file_search_calls',
  'code_execution_calls',
] as const satisfies readonly FieldName[]
export type MeteredColumn = (typeof METERED_COLUMNS)[number]

/** Records of a tenant in a period, in milliseconds since the epoch; the end is exclusive. */
export interface PricedPeriod {
  readonly tenantId: string
  readonly fromMs: number
  readonly toMs: number
}

/**
 * Finds how the tenant's records of the period are priced, possibly including a few others. Kinds without an exported
 * record produce no rows, and checking each record for eligibility would take three times as long.
 *
 * @param bases of the costs of these records
 */
export async function findPricedKinds(
  store: ClickHouseClient,
  { tenantId, fromMs, toMs }: PricedPeriod,
  bases: readonly CostBasis[],
  signal: AbortSignal,
): Promise<PricedKind[]> {
  const occurring = [
    ...METERED_COLUMNS.map((column) => `if(max(ifNull(${column}, 0)) > 0, '${column}', '')`),
    ...BILLED_UNITS.map((unit) => `if(max(mapContains(billed_units, '${unit}')) > 0, '${unit}', '')`),
  ]
  const result = await store.query({
    query: `SELECT cost_details AS details, toString(cityHash64(details)) AS hash,
              arrayFilter(name -> name != '', [${occurring.join(', ')}]) AS occurring
            FROM ${ATTRIBUTIONS.name}
            WHERE tenant_id = {tenant:String} AND indexHint(${IN_PERIOD}) AND cost_basis IN {bases:Array(String)}
            GROUP BY cost_details ORDER BY details`,
    query_params: { tenant: tenantId, from: fromMs, to: toMs, bases },
    format: 'JSONEachRow',
    abort_signal: signal,
  })
  return result.json<PricedKind>()
}
