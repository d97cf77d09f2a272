import type { ClickHouseClient } from '@clickhouse/client'
import { INDEXES_LEFT_TO_MERGES } from '../internal/store/tables/record-storage.js'

/** Columns of records as SQL over the number `n` of a record; `seed`, `first` and `stepMs` are parameters. */
export type Expressions = readonly (readonly [name: string, sql: string])[]

/** A number in [0, 1) of the record's own, another for each salt. */
export const random = (salt: number): string => `(cityHash64(n, ${salt}) % 1000000007 / 1000000007.)`

export interface Numbered {
  readonly tenantId: string
  /** Numbers of the records, within `total`. */
  readonly from: number
  readonly to: number
  /** How many there will be over the whole span. */
  readonly total: number
}

export interface Span {
  readonly firstMs: number
  readonly lengthMs: number
}

/**
 * Inserts records made inside the engine, in the order of their times, as batches come.
 *
 * @param inner names of expressions that are no columns
 */
export async function insertGenerated(
  store: ClickHouseClient,
  expressions: Expressions,
  inner: ReadonlySet<string>,
  { tenantId, from, to, total }: Numbered,
  { firstMs, lengthMs }: Span,
  seed = 0,
): Promise<void> {
  const columns = expressions.map(([name]) => name).filter((name) => !inner.has(name))
  await store.command({
    query: `INSERT INTO attributions (tenant_id, ${columns.join(', ')})
            WITH ${expressions.map(([name, sql]) => `${sql} AS ${name}`).join(',\n')}
            SELECT {tenant:String}, ${columns.join(', ')}
            FROM (SELECT number AS n FROM numbers({from:UInt64}, {count:UInt64}))`,
    query_params: { tenant: tenantId, from, count: to - from, seed, first: firstMs, stepMs: lengthMs / total },
    clickhouse_settings: {
      max_threads: 2,
      wait_end_of_query: 1,
      max_partitions_per_insert_block: '0',
      exclude_materialize_skip_indexes_on_insert: INDEXES_LEFT_TO_MERGES,
    },
  })
}
