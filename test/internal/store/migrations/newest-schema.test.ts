import { writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import type { ClickHouseClient } from '@clickhouse/client'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { connectStore } from '../../../../internal/store/client.js'
import { createDatabase, MIGRATIONS, migrate } from '../../../../internal/store/migrations/migrate.js'
import { createNewestSchema, readNewestSchema, schemaOf } from '../../../../internal/store/migrations/newest-schema.js'
import { launchStore, type RunningStore, stopStore } from '../../../support/store.js'

/** `ATTRIBUTION_RENEW_BASELINES=1` writes the file from what the steps leave. */
const FILE = fileURLToPath(new URL('../../../../internal/store/migrations/newest-schema.data.json', import.meta.url))

let store: RunningStore
beforeAll(async () => {
  store = await launchStore()
})
afterAll(() => stopStore(store))

/** Another list of the same steps: those are run one by one. */
const ALL_STEPS = [...MIGRATIONS]

async function withDatabase(name: string, use: (database: ClickHouseClient) => Promise<void>): Promise<void> {
  await createDatabase(store.connection, name)
  const database = connectStore({ ...store.connection, database: name })
  try {
    await use(database)
  } finally {
    await database.close()
  }
}

const stepsOf = async (database: ClickHouseClient): Promise<unknown> =>
  (
    await database.query({
      query: 'SELECT version, name FROM schema_migrations ORDER BY version',
      format: 'JSONEachRow',
    })
  ).json()

const EVERY_STEP = MIGRATIONS.map(({ version, name }) => ({ version, name }))

test('the steps, one by one, leave what the file shows', () =>
  withDatabase('by_steps', async (database) => {
    await migrate(database, ALL_STEPS)
    const schema = await schemaOf(database)
    if (process.env['ATTRIBUTION_RENEW_BASELINES'] === '1') writeFileSync(FILE, `${JSON.stringify(schema, null, 2)}\n`)

    expect(schema).toEqual(readNewestSchema())
    expect(await stepsOf(database)).toEqual(EVERY_STEP)
  }))

test('a database without a table gets the same at once, as two processes start, with every step recorded', () =>
  withDatabase('at-once', async (database) => {
    await Promise.all([migrate(database), migrate(database)])

    expect(await schemaOf(database)).toEqual(readNewestSchema())
    expect(
      await database
        .query({ query: 'SELECT count() AS n FROM schema_migrations', format: 'JSONEachRow' })
        .then((result) => result.json()),
    ).toEqual([{ n: String(EVERY_STEP.length * 2) }])
  }))

test('a start that ended before a step was recorded is made up for', () =>
  withDatabase('cut_off', async (database) => {
    expect(await createNewestSchema(database)).toBe(true)
    await database.command({ query: 'DROP TABLE closed' })

    await migrate(database)

    expect(await schemaOf(database)).toEqual(readNewestSchema())
    expect(await stepsOf(database)).toEqual(EVERY_STEP)
  }))

test('a first start of an older version that ended before it recorded a step is taken further by steps', () =>
  withDatabase('older', async (database) => {
    await migrate(database, MIGRATIONS.slice(0, 12))
    await database.command({ query: 'TRUNCATE TABLE schema_migrations' })
    expect(await createNewestSchema(database)).toBe(false)

    await migrate(database)

    expect(await schemaOf(database)).toEqual(readNewestSchema())
    expect(await stepsOf(database)).toEqual(EVERY_STEP)
  }))

test('a server that refuses a statement is left to the steps', () =>
  withDatabase('refused', async (database) => {
    const unknownType = { one: 'CREATE TABLE one (a Unheard) ENGINE = MergeTree ORDER BY a' }

    expect(await createNewestSchema(database, unknownType)).toBe(false)
  }))
