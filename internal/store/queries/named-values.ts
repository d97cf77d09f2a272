import type { ClickHouseClient } from '@clickhouse/client'

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
