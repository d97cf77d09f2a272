import type { ClickHouseClient } from '@clickhouse/client'
import { beforeAll, expect, test } from 'vitest'
import { connectStore } from '../../../../internal/store/client.js'
import { createDatabase, MIGRATIONS, migrate } from '../../../../internal/store/migrations/migrate.js'
import { storedRows } from '../../../../internal/store/stored-rows.js'
import { type Database, openDatabase } from '../../../support/database.js'

let store: Database
beforeAll(async () => {
  store = await openDatabase()
})

async function withDatabase(name: string, use: (database: ClickHouseClient) => Promise<void>): Promise<void> {
  await createDatabase(store.connection, name)
  const database = connectStore({ ...store.connection, database: name })
  try {
    await use(database)
  } finally {
    await database.close()
  }
}

const tablesOf = async (database: ClickHouseClient): Promise<readonly string[]> => {
  const query = 'SELECT name FROM system.tables WHERE database = currentDatabase() ORDER BY name'
  return (await storedRows<{ name: string }>(database, query, {})).map(({ name }) => name)
}
const recorded = (database: ClickHouseClient): Promise<readonly { version: number; name: string }[]> =>
  storedRows(database, 'SELECT version, name FROM schema_migrations ORDER BY version', {})

/** As the next version would add one. */
const NEXT = {
  version: Math.max(...MIGRATIONS.map(({ version }) => version)) + 1,
  name: 'a note',
  statements: ['ALTER TABLE quarantined ADD COLUMN IF NOT EXISTS note String'],
}
const ALL = MIGRATIONS.map(({ version, name }) => ({ version, name }))

test('two processes that start at once make every table, and record each step', () =>
  withDatabase('at-once', async (database) => {
    await Promise.all([migrate(database), migrate(database)])

    const made = MIGRATIONS[0]?.statements.map(
      (statement) => /^\s*CREATE (?:TABLE|MATERIALIZED VIEW) IF NOT EXISTS (\w+)/.exec(statement)?.[1],
    )
    expect(await tablesOf(database)).toEqual([...(made ?? []), 'schema_migrations'].sort())
    expect(await recorded(database)).toEqual(ALL.flatMap((step) => [step, step]))
  }))

test('a first start that ended before its step was recorded is made up for', () =>
  withDatabase('cut_off', async (database) => {
    await migrate(database)
    const tables = await tablesOf(database)
    await database.command({ query: 'TRUNCATE TABLE schema_migrations' })
    await database.command({ query: 'DROP TABLE closed' })

    await migrate(database)

    expect(await tablesOf(database)).toEqual(tables)
    expect(await recorded(database)).toEqual(ALL)
  }))

test('a later step is applied once, and a version that does not know it refuses what it has changed', () =>
  withDatabase('later', async (database) => {
    await migrate(database)
    await migrate(database, [...MIGRATIONS, NEXT])
    await migrate(database, [...MIGRATIONS, { ...NEXT, statements: ['DROP TABLE quarantined'] }])

    const columns = await storedRows(database, "SELECT type FROM system.columns WHERE name = 'note'", {})
    expect(columns).toEqual([{ type: 'String' }])
    expect(await recorded(database)).toEqual([...ALL, { version: NEXT.version, name: NEXT.name }])
    await expect(migrate(database)).rejects.toThrow(
      `a newer version, or of one before 0.3.0 (schema ${NEXT.version}, this version knows ${NEXT.version - 1}): start`,
    )
  }))
