import type { ClickHouseClient } from '@clickhouse/client'
import { connectStore, type StoreConnection } from '../client.js'
import { ADD_ADMISSION_KEY_FLAGS, CREATE_ADMISSION_KEYS } from '../tables/admission-keys.js'
import { ADD_SHOWN_WEIGHTS, CREATE_ALLOCATION_WEIGHTS } from '../tables/allocation-weights.js'
import { CREATE_VALUES, CREATE_VALUES_FEED, DROP_VALUES_FEED, FILL_VALUES } from '../tables/attribution-values.js'
import {
  ADD_ATTRIBUTION_CONFIDENCE,
  ADD_ATTRIBUTION_INFERENCE,
  ADD_CALL_IDS,
  ADD_PRICED_COUNTS,
  ADD_SEEN_BY,
  ADD_SENT_BY_GATEWAY,
  CREATE_ATTRIBUTIONS,
} from '../tables/attributions.js'
import { CREATE_AUDIT_LOG } from '../tables/audit-log.js'
import { CREATE_CLOSED, CREATE_CLOSED_HISTORY } from '../tables/closed.js'
import { CREATE_EVENT_LOG } from '../tables/event-log.js'
import {
  ADD_FOLDED_BY_LEVELS,
  addTagColumns,
  CREATE_EXPORT_FOLDS,
  CREATE_EXPORT_GROUPS,
} from '../tables/export-groups.js'
import { CREATE_OBSERVATIONS } from '../tables/observations.js'
import { CREATE_QUARANTINED } from '../tables/quarantined.js'
import { ADD_REPORT_FLAGS } from '../tables/report-flags.js'
import { CREATE_REPORT_ROWS } from '../tables/report-rows.js'
import { CREATE_SETTLING } from '../tables/settling.js'
import {
  ADD_CONTESTED,
  ADD_DIMENSIONS,
  ADD_SKIP_INDEXES,
  ADD_USAGE_BASIS,
  BLOOMS_FOR_SETS,
  COMPRESS_NUMBERS,
  CREATE_COPY_BY_LABELS,
  CREATE_SORTED_COPIES,
  DROP_FEEDS,
  MAKE_COPIES_COMPACT,
  SETTLE_PARTS,
} from '../tables/sorted-copies.js'
import { CREATE_USAGE, CREATE_USAGE_VIEWS, FILL_USAGE } from '../tables/usage.js'
import { CREATE_WEBHOOK_ATTEMPTS } from '../tables/webhook-attempts.js'
import { clustered } from './clustered.js'
import { createNewestSchema } from './newest-schema.js'

/**
 * The schema's steps, in order. A step that has been released is never changed; each of its statements is safe to
 * repeat, so that two processes that start at once, or a crash half-way, do no harm.
 */
interface Migration {
  readonly version: number
  readonly name: string
  readonly statements: readonly string[]
}

export const MIGRATIONS: readonly Migration[] = [
  { version: 1, name: 'attributions', statements: [CREATE_ATTRIBUTIONS] },
  {
    version: 2,
    name: 'admission keys, quarantined, observations',
    statements: [CREATE_ADMISSION_KEYS, CREATE_QUARANTINED, CREATE_OBSERVATIONS],
  },
  { version: 3, name: 'audit log', statements: [CREATE_AUDIT_LOG] },
  { version: 4, name: 'flags of admission keys', statements: [ADD_ADMISSION_KEY_FLAGS] },
  { version: 5, name: 'closed versions', statements: [CREATE_CLOSED] },
  { version: 6, name: 'figures of inferred attributions', statements: [ADD_ATTRIBUTION_INFERENCE] },
  { version: 7, name: 'usage in quarters of an hour', statements: [CREATE_USAGE, ...CREATE_USAGE_VIEWS, FILL_USAGE] },
  { version: 8, name: 'allocation weights', statements: [CREATE_ALLOCATION_WEIGHTS] },
  { version: 9, name: 'webhook attempts', statements: [CREATE_WEBHOOK_ATTEMPTS] },
  { version: 10, name: 'groups of exports', statements: [CREATE_EXPORT_GROUPS] },
  { version: 11, name: 'what producers say of their attribution', statements: [ADD_ATTRIBUTION_CONFIDENCE] },
  {
    version: 12,
    name: 'sorted copies',
    statements: [...ADD_SKIP_INDEXES, CREATE_VALUES, CREATE_VALUES_FEED, FILL_VALUES, ...CREATE_SORTED_COPIES],
  },
  { version: 13, name: 'history of closed versions', statements: [CREATE_CLOSED_HISTORY] },
  { version: 14, name: 'weights that reports spread by', statements: [ADD_SHOWN_WEIGHTS] },
  { version: 15, name: 'copies in compact parts', statements: MAKE_COPIES_COMPACT },
  { version: 16, name: 'parts that settle', statements: SETTLE_PARTS },
  { version: 17, name: 'copy by labels', statements: CREATE_COPY_BY_LABELS },
  { version: 18, name: 'blooms for sets', statements: BLOOMS_FOR_SETS },
  { version: 19, name: 'declared tags', statements: ADD_DIMENSIONS },
  { version: 20, name: 'log of events', statements: [CREATE_EVENT_LOG] },
  { version: 21, name: 'what contests an attribution', statements: ADD_CONTESTED },
  { version: 22, name: 'rows of reports', statements: [CREATE_REPORT_ROWS] },
  { version: 23, name: 'exports folded by levels', statements: [...ADD_FOLDED_BY_LEVELS, CREATE_EXPORT_FOLDS] },
  { version: 24, name: 'exports by tags', statements: addTagColumns() },
  { version: 25, name: 'copies of settled records', statements: [CREATE_SETTLING, ...DROP_FEEDS] },
  { version: 26, name: 'counts that prices depend on', statements: [ADD_PRICED_COUNTS] },
  { version: 27, name: 'flags of reports', statements: ADD_REPORT_FLAGS },
  { version: 28, name: 'events of gateways', statements: [ADD_SENT_BY_GATEWAY] },
  { version: 29, name: 'usage basis, outcome, ids of calls', statements: [...ADD_USAGE_BASIS, ADD_CALL_IDS] },
  { version: 30, name: 'values written before records', statements: [DROP_VALUES_FEED] },
  { version: 31, name: 'other events of a call', statements: [ADD_SEEN_BY] },
  // From here on, versions know that copies may lack old months (`old-copies.ts`).
  { version: 32, name: 'smaller sorted copies, of the newest months', statements: COMPRESS_NUMBERS },
]

/** Creates the database unless it is there. An account that may not create one needs it made beforehand. */
export async function createDatabase(account: Omit<StoreConnection, 'database'>, database: string): Promise<void> {
  const server = connectStore({ ...account, database: 'default' })
  try {
    await server.command({ query: 'CREATE DATABASE IF NOT EXISTS {database:Identifier}', query_params: { database } })
  } finally {
    await server.close()
  }
}

const CREATE_SCHEMA_MIGRATIONS = `
CREATE TABLE IF NOT EXISTS schema_migrations (version UInt32, name String, applied_at DateTime64(3, 'UTC') DEFAULT now64(3))
ENGINE = MergeTree ORDER BY version`

/**
 * Brings the schema to the newest step and records each step. A database without a step gets the newest schema at once where it
 * can: not on a cluster, nor beside tables of an older version, whose first start was cut off.
 *
 * @param steps those of an older version, for its tests
 * @param cluster whose servers hold the tables together; empty: one server
 */
export async function migrate(
  store: ClickHouseClient,
  steps: readonly Migration[] = MIGRATIONS,
  cluster = '',
): Promise<void> {
  const run = async (statement: string): Promise<void> => {
    for (const query of statementsFor(statement, cluster)) await store.command({ query })
  }
  await run(CREATE_SCHEMA_MIGRATIONS)
  const result = await store.query({ query: 'SELECT DISTINCT version FROM schema_migrations', format: 'JSONEachRow' })
  const applied = new Set((await result.json<{ version: number }>()).map(({ version }) => version))
  if (applied.size === 0 && steps === MIGRATIONS && cluster === '' && (await createNewestSchema(store))) {
    await record(store, steps)
    return
  }
  for (const { version, name, statements } of steps) {
    if (applied.has(version)) continue
    for (const statement of statements) await run(statement)
    await record(store, [{ version, name }])
  }
}

const record = (store: ClickHouseClient, steps: readonly Pick<Migration, 'version' | 'name'>[]): Promise<unknown> =>
  store.insert({
    table: 'schema_migrations',
    values: steps.map(({ version, name }) => ({ version, name })),
    format: 'JSONEachRow',
  })

/** Every statement that makes the schema, in order. */
export const schemaFor = (cluster: string): readonly string[] =>
  [CREATE_SCHEMA_MIGRATIONS, ...MIGRATIONS.flatMap(({ statements }) => statements)].flatMap((statement) =>
    statementsFor(statement, cluster),
  )

export const statementsFor = (statement: string, cluster: string): readonly string[] =>
  cluster === '' ? [statement] : clustered(statement, cluster)
