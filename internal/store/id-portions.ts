/** A parameter of a query takes at most 128 KiB (ClickHouse's `http_max_field_value_size`), a UUID 39 bytes of it. */
const IDS_MAX = 3_000

/** Splits ids or hashes into lists that fit into one query parameter each. */
export function* idPortions<T>(ids: readonly T[]): Generator<readonly T[]> {
  for (let from = 0; from < ids.length; from += IDS_MAX) yield ids.slice(from, from + IDS_MAX)
}
