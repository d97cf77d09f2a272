import type { ClickHouseClient } from '@clickhouse/client'

/** All rows of a query, in the engine's JSON: 64-bit integers are strings. */
export async function storedRows<T>(
  store: ClickHouseClient,
  query: string,
  query_params: Readonly<Record<string, number | string>>,
): Promise<T[]> {
  return (await store.query({ query, query_params, format: 'JSONEachRow' })).json<T>()
}
