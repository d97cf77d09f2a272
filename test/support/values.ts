import type { ClickHouseClient } from '@clickhouse/client'
import { SELECT_VALUES } from '../../internal/store/tables/attribution-values.js'

/** The values of records that the lists of values lack, as `tenant field value`: none, at any time. */
export async function missingValues(store: ClickHouseClient): Promise<readonly string[]> {
  const result = await store.query({
    query: `SELECT concat(tenant_id, ' ', field, ' ', value) FROM (${SELECT_VALUES})
            WHERE (tenant_id, field, value) NOT IN (SELECT tenant_id, field, value FROM attribution_values)
            ORDER BY ALL`,
    format: 'JSONCompactEachRow',
  })
  return (await result.json<[string]>()).map(([text]) => text)
}
