import type { ClickHouseClient } from '@clickhouse/client'
import { pairStart } from '../../records/dimensions.js'
import { storedRows } from '../stored-rows.js'
import { VALUES_OF_TAGS } from '../tables/attribution-values.js'

/**
 * Looks through all texts of a tenant's records that can be a person's name: owners, and values of tags.
 *
 * @returns the first one that is the name; undefined when there is none
 */
export async function valuesNamed(
  store: ClickHouseClient,
  tenantId: string,
  isName: (text: string) => boolean,
): Promise<string | undefined> {
  const found = await store.query({
    query: `SELECT DISTINCT value FROM (
        SELECT owner AS value FROM attributions WHERE tenant_id = {tenant:String}
        UNION ALL SELECT owner FROM usage_15m WHERE tenant_id = {tenant:String}
        UNION ALL SELECT arrayJoin(mapValues(tags)) FROM attributions WHERE tenant_id = {tenant:String})`,
    query_params: { tenant: tenantId },
    format: 'JSONCompactEachRow',
    clickhouse_settings: { max_bytes_before_external_group_by: '500000000' },
  })
  let name: string | undefined
  for await (const rows of found.stream<[string]>()) {
    for (const row of rows) {
      const [value] = row.json()
      if (name === undefined && isName(value)) name = value
    }
  }
  return name
}

/** The stored pairs of a tenant's tag key, some at least when there are more than `limit`. */
export async function storedPairs(
  store: ClickHouseClient,
  tenantId: string,
  foldedKey: string,
  limit: number,
): Promise<string[]> {
  const found = await storedRows<{ value: string }>(
    store,
    `SELECT DISTINCT value FROM attribution_values
     WHERE tenant_id = {tenant:String} AND field = {field:String} AND startsWith(value, {start:String})
     LIMIT {limit:UInt32}`,
    { tenant: tenantId, field: VALUES_OF_TAGS, start: pairStart(foldedKey), limit },
  )
  return found.map(({ value }) => value)
}
