/**
 * The schema that all steps together leave, one statement per table: a database that has no table gets it at once, in place of
 * some two hundred statements, which took the embedded engine 1.4 s of processor time and a new instance as long.
 *
 * `newest-schema.data.json` is what the engine shows after the steps; `newest-schema.test.ts` holds both equal and renews it.
 */
import { readFileSync } from 'node:fs'
import { type ClickHouseClient, ClickHouseError } from '@clickhouse/client'
import { storeProblem } from '../failures.js'

/** Statements that make tables and views, in an order in which they can be run, by name. */
export type Schema = Readonly<Record<string, string>>

export const readNewestSchema = (): Schema =>
  JSON.parse(readFileSync(new URL('./newest-schema.data.json', import.meta.url), 'utf8')) as Schema

/** What the engine shows of all tables but `schema_migrations`, views last, since they name tables. */
export async function schemaOf(store: ClickHouseClient): Promise<Schema> {
  const result = await store.query({
    query: `
SELECT name, replaceAll(replaceAll(create_table_query, concat('\`', database, '\`.'), ''), concat(database, '.'), '') AS statement
FROM system.tables WHERE database = currentDatabase() AND name != 'schema_migrations'
ORDER BY engine = 'MaterializedView', name`,
    format: 'JSONEachRow',
  })
  const rows = await result.json<{ name: string; statement: string }>()
  return Object.fromEntries(rows.map(({ name, statement }) => [name, statement]))
}

/**
 * Makes the tables that are missing. Safe to repeat, and beside another process that makes them.
 *
 * @returns whether the database has this schema now: not so where tables of an older version are, or where a server refuses or
 *   words a statement otherwise than the embedded engine
 */
export async function createNewestSchema(store: ClickHouseClient, newest = readNewestSchema()): Promise<boolean> {
  try {
    for (const statement of Object.values(newest)) {
      await store.command({ query: statement.replace(/^CREATE (TABLE|MATERIALIZED VIEW) /, '$&IF NOT EXISTS ') })
    }
  } catch (cause) {
    if (cause instanceof ClickHouseError && storeProblem(cause) === undefined) return false
    throw cause
  }
  return JSON.stringify(await schemaOf(store)) === JSON.stringify(newest)
}
