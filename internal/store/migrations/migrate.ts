import type { ClickHouseClient } from '@clickhouse/client'
import { ConfigError } from '../../config/settings.js'
import { connectStore, type StoreConnection } from '../client.js'
import { storedRows } from '../stored-rows.js'
import { CREATE_ADMISSION_KEYS } from '../tables/admission-keys.js'
import { CREATE_ALLOCATION_WEIGHTS } from '../tables/allocation-weights.js'
import { CREATE_VALUES } from '../tables/attribution-values.js'
import { CREATE_ATTRIBUTIONS } from '../tables/attributions.js'
import { CREATE_AUDIT_LOG } from '../tables/audit-log.js'
import { CREATE_CLOSED, CREATE_CLOSED_HISTORY } from '../tables/closed.js'
import { CREATE_EVENT_LOG } from '../tables/event-log.js'
import { CREATE_EXPORT_FOLDS, CREATE_EXPORT_GROUPS, EXPORT_GROUPS } from '../tables/export-groups.js'
import { CREATE_OBSERVATIONS } from '../tables/observations.js'
import { COPIED_LABELS, PACKED_COLUMNS } from '../tables/packed-fields.js'
import { CREATE_QUARANTINED } from '../tables/quarantined.js'
import { REPORT_FLAGS } from '../tables/report-flags.js'
import { CREATE_REPORT_ROWS } from '../tables/report-rows.js'
import { CREATE_SETTLING } from '../tables/settling.js'
import { CREATE_SORTED_COPIES, RECORD_TABLES, SORTED_COPIES } from '../tables/sorted-copies.js'
import { CREATE_USAGE, CREATE_USAGE_VIEWS } from '../tables/usage.js'
import { CREATE_WEBHOOK_ATTEMPTS } from '../tables/webhook-attempts.js'
import { clustered } from './clustered.js'

/** A step of the schema. */
interface Migration {
  readonly version: number
  readonly name: string
  readonly statements: readonly string[]
}

/** Every table in its newest form. Views last, since they name tables. */
const TABLES: readonly string[] = [
  CREATE_ATTRIBUTIONS,
  ...CREATE_SORTED_COPIES,
  CREATE_VALUES,
  CREATE_SETTLING,
  CREATE_CLOSED,
  CREATE_CLOSED_HISTORY,
  CREATE_USAGE,
  CREATE_ADMISSION_KEYS,
  CREATE_QUARANTINED,
  CREATE_OBSERVATIONS,
  CREATE_ALLOCATION_WEIGHTS,
  CREATE_REPORT_ROWS,
  CREATE_EXPORT_GROUPS,
  CREATE_EXPORT_FOLDS,
  CREATE_EVENT_LOG,
  CREATE_WEBHOOK_ATTEMPTS,
  CREATE_AUDIT_LOG,
  ...CREATE_USAGE_VIEWS,
]

/**
 * The schema's steps, in order. The first makes the tables in their newest form; each later one brings the tables of an
 * earlier version to that form and finds nothing to do in a new database. A released one is kept as it is, since 0.3.0
 * all are. Each statement is safe to repeat, so that two processes that start at once, or a crash half-way, do no harm.
 */
export const MIGRATIONS: readonly Migration[] = [
  { version: 1, name: 'tables', statements: TABLES },
  {
    version: 2,
    name: 'attempts, units, speed and what was assumed',
    statements: [
      ['cached_audio_input_tokens', 'Nullable(UInt64)'],
      ['cached_image_input_tokens', 'Nullable(UInt64)'],
      ['billed_units', 'Map(LowCardinality(String), String)'],
      ['alternative_input_tokens', 'Nullable(UInt64)'],
      ['alternative_output_tokens', 'Nullable(UInt64)'],
      ['speed', 'LowCardinality(String)'],
      ['request_id', 'String'],
      ['operation_id', 'String'],
      ['attempt', 'Nullable(UInt64)'],
      ['assumptions', 'LowCardinality(String)'],
    ].map(([name, type]) => `ALTER TABLE attributions ADD COLUMN IF NOT EXISTS ${name} ${type}`),
  },
  {
    version: 3,
    name: 'observers of calls and the spans around them',
    statements: [
      ['parent_span_id', 'String'],
      ['instrumentation', 'LowCardinality(String)'],
    ].map(([name, type]) => `ALTER TABLE attributions ADD COLUMN IF NOT EXISTS ${name} ${type}`),
  },
  {
    version: 4,
    name: 'reports count ambiguous usage',
    // Empty: the flags of reports now name a column that step 5 adds, so step 5 modifies them.
    statements: [],
  },
  {
    version: 5,
    name: 'costs that are bounds',
    statements: [
      ...RECORD_TABLES.map(
        (table) => `ALTER TABLE ${table} ADD COLUMN IF NOT EXISTS cost_bound LowCardinality(String)`,
      ),
      `ALTER TABLE attributions MODIFY COLUMN ${REPORT_FLAGS}`,
    ],
  },
  {
    version: 6,
    name: 'reports and exports tell class estimates of energy',
    statements: [
      `ALTER TABLE attributions MODIFY COLUMN ${REPORT_FLAGS}`,
      `ALTER TABLE ${EXPORT_GROUPS} ADD COLUMN IF NOT EXISTS energy_estimated UInt64`,
    ],
  },
  {
    version: 7,
    name: 'packed fields of records',
    // Merges store them. Until then the engine packs the fields of a stored record when it is read.
    statements: [
      ...PACKED_COLUMNS.map((column) => `ALTER TABLE attributions ADD COLUMN IF NOT EXISTS ${column}`),
      ...SORTED_COPIES.flatMap(({ table }) => [
        `ALTER TABLE ${table} ADD COLUMN IF NOT EXISTS ${COPIED_LABELS}`,
        // Applies to new parts only.
        `ALTER TABLE ${table} MODIFY COLUMN trace_id String CODEC(ZSTD(1))`,
      ]),
    ],
  },
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
CREATE TABLE IF NOT EXISTS schema_migrations (\
version UInt32, name String, applied_at DateTime64(3, 'UTC') DEFAULT now64(3))
ENGINE = MergeTree ORDER BY version`

/**
 * Brings the schema to the newest step and records each step.
 *
 * @param steps others, for tests
 * @param cluster whose servers hold the tables together; empty: one server
 * @throws ConfigError when a newer version has brought it further
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
  const found = await storedRows<{ version: number }>(store, 'SELECT DISTINCT version FROM schema_migrations')
  const applied = new Set(found.map(({ version }) => version))
  refuseNewer(Math.max(0, ...applied), Math.max(...steps.map(({ version }) => version)))
  for (const { version, name, statements } of steps) {
    if (applied.has(version)) continue
    for (const statement of statements) await run(statement)
    await store.insert({ table: 'schema_migrations', values: [{ version, name }], format: 'JSONEachRow' })
  }
}

function refuseNewer(applied: number, known: number): void {
  if (applied <= known) return
  throw new ConfigError(
    `the read model is that of a newer version, or of one before 0.3.0 (schema ${applied}, this version knows ${known}): \
start that version, restore a backup from before the upgrade, or use an empty data folder`,
  )
}

/** Every statement that makes the schema, in order. */
export const schemaFor = (cluster: string): readonly string[] =>
  [CREATE_SCHEMA_MIGRATIONS, ...MIGRATIONS.flatMap(({ statements }) => statements)].flatMap((statement) =>
    statementsFor(statement, cluster),
  )

export const statementsFor = (statement: string, cluster: string): readonly string[] =>
  cluster === '' ? [statement] : clustered(statement, cluster)
