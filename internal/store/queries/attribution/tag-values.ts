import type { ClickHouseClient } from '@clickhouse/client'
import { pairStart } from '../../../records/dimensions.js'
import { VALUES_OF_TAGS } from '../../tables/attribution-values.js'

/** The stored pairs of a tenant's tag key, some at least when there are more than `limit`. */
export async function storedPairs(
  store: ClickHouseClient,
  tenantId: string,
  foldedKey: string,
  limit: number,
): Promise<string[]> {
  const result = await store.query({
    query: `SELECT DISTINCT value FROM attribution_values
            WHERE tenant_id = {tenant:String} AND field = {field:String} AND startsWith(value, {start:String})
            LIMIT {limit:UInt32}`,
    query_params: { tenant: tenantId, field: VALUES_OF_TAGS, start: pairStart(foldedKey), limit },
    format: 'JSONCompactEachRow',
  })
  return (await result.json<[string]>()).map(([value]) => value)
}
