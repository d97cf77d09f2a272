import { beforeAll, expect, test } from 'vitest'
import { generateRecords, LAST_AT_MS } from '../../../../../bench/query/generate.js'
import { type TagField, tagFieldOf } from '../../../../../internal/records/dimensions.js'
import { Bindings } from '../../../../../internal/store/queries/records/conditions.js'
import { dimensionCondition, dimensionSql } from '../../../../../internal/store/queries/reports/dimensions.js'
import { groupsSql, PEOPLE } from '../../../../../internal/store/queries/reports/groups.js'
import { snapshotParams } from '../../../../../internal/store/snapshot.js'
import { SELECT_VALUES } from '../../../../../internal/store/tables/attribution-values.js'
import { type Database, openDatabase } from '../../../../support/database.js'

const TENANT = 'tnt_one'
/** A key that would be SQL if it were written into a query as it is. */
const KEY = "tèam') OR (''='"
const FIELD = tagFieldOf(KEY)

let store: Database
beforeAll(async () => {
  store = await openDatabase()
  const pair = (value: string): string =>
    `concat(unhex('${Buffer.from(`${FIELD.slice(5)}\t`).toString('hex')}'), ${value})`
  await generateRecords(store.client, {
    tenantId: TENANT,
    from: 0,
    to: 100,
    total: 100,
    dimensions: `multiIf(n < 10, [], n < 30, ['env\\tprod', ${pair("''")}],
                 [${pair("concat('Team-', toString(n % 2))")}, 'env\\tTeam-0'])`,
  })
  // As the sink does before it inserts records.
  await store.client.command({ query: `INSERT INTO attribution_values (tenant_id, field, value) ${SELECT_VALUES}` })
})

async function counts(where = '1', params: Readonly<Record<string, unknown>> = {}): Promise<Record<string, number>> {
  const result = await store.client.query({
    query: `SELECT ${dimensionSql(FIELD)} AS value, count() FROM attributions
            WHERE tenant_id = {tenant:String} AND (${where}) GROUP BY value`,
    query_params: { tenant: TENANT, ...params },
    format: 'JSONCompactEachRow',
  })
  return Object.fromEntries((await result.json<[string, string]>()).map(([value, count]) => [value, Number(count)]))
}

test('a declared tag groups records by value; those without it, and older than its declaration, apart', async () => {
  expect(await counts()).toEqual({ '(not declared)': 10, '': 20, 'Team-0': 35, 'Team-1': 35 })
})

test.each([
  ['eq', ['Team-0'], { 'Team-0': 35 }],
  ['ne', ['Team-0'], { '(not declared)': 10, '': 20, 'Team-1': 35 }],
  ['in', ['', '(not declared)'], { '(not declared)': 10, '': 20 }],
  ['contains', ['AM-1'], { 'Team-1': 35 }],
] as const)('a filter %s %j on a declared tag selects the groups that it names', async (operator, values, expected) => {
  const bindings = new Bindings()
  const where = dimensionCondition({ field: FIELD, operator, values }, bindings)

  expect(await counts(where, bindings.params)).toEqual(expected)
})

test('a tag that names people is the person of its group’s calls; elsewhere the stated ones are', async () => {
  const people = async (personalTags: readonly TagField[]): Promise<Record<string, number>> => {
    const bindings = new Bindings()
    const scope = {
      tenantId: TENANT,
      hasClosed: false,
      snapshotMs: LAST_AT_MS + 60_000,
      filters: [],
      notPeople: [],
      personalTags,
    }
    const groups = groupsSql(
      { ...scope, fromMs: 0, toMs: LAST_AT_MS },
      { groupBy: [FIELD], interval: undefined, zone: 'UTC' },
      [],
      bindings,
    )
    const result = await store.client.query({
      query: `SELECT g0, finalizeAggregation(${PEOPLE}) FROM (${groups})`,
      query_params: { ...snapshotParams(TENANT, scope.snapshotMs), ...bindings.params },
      format: 'JSONCompactEachRow',
    })
    return Object.fromEntries((await result.json<[string, string]>()).map(([value, count]) => [value, Number(count)]))
  }
  const stated = await people([])

  expect(stated['Team-0']).toBeGreaterThan(5)
  expect(await people([FIELD])).toEqual({ ...stated, 'Team-0': 1, 'Team-1': 1 })
  expect(await people([tagFieldOf('env')])).toEqual(stated)
})
