import { readFileSync } from 'node:fs'
import { beforeAll, describe, expect, test } from 'vitest'
import { clustered } from '../../../../internal/store/migrations/clustered.js'
import { schemaFor } from '../../../../internal/store/migrations/migrate.js'
import { CLUSTER, CLUSTERED_SCHEMA, clusteredSchema } from '../../../support/clustered-schema.js'
import { type Database, openDatabase } from '../../../support/database.js'

/**
 * The schema of a cluster, as far as one engine can judge it: its parser takes every statement, and what it makes of
 * them is kept in a file, so that a change of the schema shows what it means there. No cluster runs here.
 */

let store: Database
beforeAll(async () => {
  store = await openDatabase()
})

/** As the engine's parser understood it. */
async function parsed(statement: string): Promise<string> {
  const result = await store.client.query({
    query: 'SELECT formatQuery({statement:String}) AS text',
    query_params: { statement },
    format: 'JSONEachRow',
  })
  return (await result.json<{ text: string }>())[0]?.text ?? ''
}

test('every statement of the schema is understood by the engine, and is what the file shows', async () => {
  const text = await clusteredSchema(parsed)

  expect(text, 'clustered.sql is written by npm run generate').toBe(readFileSync(CLUSTERED_SCHEMA, 'utf8'))
})

describe('the schema of a cluster', () => {
  const statements = schemaFor(CLUSTER)
  const made = (pattern: RegExp) => statements.flatMap((statement) => pattern.exec(statement)?.[1] ?? [])

  test('has for every table of one server a replicated one and one in front of it', () => {
    const tables = schemaFor('').flatMap((statement) => /CREATE TABLE IF NOT EXISTS (\w+)/.exec(statement)?.[1] ?? [])

    expect(made(/^CREATE TABLE IF NOT EXISTS (\w+)_local ON CLUSTER[\s\S]*Replicated\w*MergeTree\(/)).toEqual(tables)
    expect(made(/^CREATE TABLE IF NOT EXISTS (\w+) ON CLUSTER .* ENGINE = Distributed\(/)).toEqual(tables)
  })

  test('keeps a tenant on one shard, and tokens on every table that has them', () => {
    const inFront = statements.filter((statement) => statement.includes('Distributed('))
    const byTenant = inFront.filter((statement) => statement.endsWith('cityHash64(tenant_id))'))
    const others = inFront.filter((statement) => !byTenant.includes(statement))

    expect(others.flatMap((statement) => /EXISTS (\w+)/.exec(statement)?.[1] ?? [])).toEqual([
      'schema_migrations',
      'settling',
      'admission_keys',
      'export_groups',
      'export_folds',
    ])
    expect(statements.join()).not.toContain('non_replicated')
    for (const [i, statement] of schemaFor('').entries()) {
      if (statement.includes('non_replicated_deduplication_window')) {
        expect([
          i,
          schemaFor(CLUSTER).filter((one) => one.includes(' replicated_deduplication_window')).length > 0,
        ]).toEqual([i, true])
      }
    }
  })

  test('feeds views from the rows of the shard', () => {
    const views = statements.filter((statement) => statement.includes('MATERIALIZED VIEW'))

    expect(views.length).toBe(2)
    for (const view of views)
      expect(view).toMatch(/ON CLUSTER `attribution` TO \w+_local AS[\s\S]*\sFROM (\w+)_local AS \1/)
  })

  test('quotes the name of the cluster, and refuses what it does not know', () => {
    expect(clustered('ALTER TABLE a ADD COLUMN b String', 'x` y')).toEqual([
      'ALTER TABLE a_local ON CLUSTER `x\\` y` ADD COLUMN b String',
      'ALTER TABLE a ON CLUSTER `x\\` y` ADD COLUMN b String',
    ])
    expect(() => clustered('TRUNCATE TABLE a', 'x')).toThrow('not known')
  })

  test('is changed by later steps: on the shards what only they have, in front of them columns too', () => {
    expect(clustered('ALTER TABLE a MODIFY COLUMN b String CODEC(ZSTD(1))', 'x')).toEqual([
      'ALTER TABLE a_local ON CLUSTER `x` MODIFY COLUMN b String CODEC(ZSTD(1))',
    ])
    expect(clustered('ALTER TABLE a ADD INDEX IF NOT EXISTS b b TYPE minmax', 'x')).toEqual([
      'ALTER TABLE a_local ON CLUSTER `x` ADD INDEX IF NOT EXISTS b b TYPE minmax',
    ])
    expect(clustered('ALTER TABLE a_feed MODIFY QUERY SELECT b FROM a', 'x')).toEqual([
      'ALTER TABLE a_feed ON CLUSTER `x` MODIFY QUERY SELECT b FROM a_local AS a',
    ])
    expect(clustered('DROP TABLE IF EXISTS a_feed', 'x')).toEqual(['DROP TABLE IF EXISTS a_feed ON CLUSTER `x`'])
    expect(clustered('INSERT INTO a SELECT 1', 'x')).toEqual(['INSERT INTO a SELECT 1'])
  })
})
