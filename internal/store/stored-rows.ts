import type { ClickHouseClient } from '@clickhouse/client'

/** All rows of a query, in the engine's JSON: 64-bit integers are strings. */
export async function storedRows<T>(
  store: ClickHouseClient,
  query: string,
  query_params: Readonly<Record<string, unknown>> = {},
): Promise<T[]> {
  return (await store.query({ query, query_params, format: 'JSONEachRow' })).json<T>()
}

export const hasRows = async (...query: Parameters<typeof storedRows>): Promise<boolean> =>
  (await storedRows(...query)).length > 0
