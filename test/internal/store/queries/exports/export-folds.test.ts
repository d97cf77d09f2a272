import fc from 'fast-check'
import { beforeAll, expect, test } from 'vitest'
import { foldGroups } from '../../../../../internal/store/queries/exports/export-folds.js'
import { foldedByRule, type OracleGroup } from '../../../../support/cohort-oracle.js'
import { type Database, openDatabase } from '../../../../support/database.js'

let store: Database
beforeAll(async () => {
  store = await openDatabase()
})

const LABELS = ['owner', 'service', 'served_model', 'price']

/**
 * Stages many cases at once: each is a provider. @returns of each case the folded groups, with the labels that are left
 */
async function folded(job: string, cases: readonly (readonly OracleGroup[])[], depth: number, k: number) {
  const labels = LABELS.slice(0, depth)
  const values = cases.flatMap((groups, number) =>
    groups.map(({ labels: own, people, cost }, i) => ({
      ...Object.fromEntries(labels.map((name, j) => [name, own[j]])),
      provider: String(number),
      people,
      calls_cost: String(cost),
      key: number * 1_000 + i,
    })),
  )
  await store.client.command({
    query: `CREATE OR REPLACE TABLE cases (provider String, ${LABELS.map((name) => `${name} String`).join(', ')},
              people Array(UInt64), calls_cost Decimal(38, 18), key UInt64) ENGINE = Memory`,
  })
  await store.client.insert({ table: 'cases', values, format: 'JSONEachRow' })
  await store.client.command({
    query: `INSERT INTO export_groups (job_id, staging, month, provider, ${LABELS.join(', ')}, has_calls, people_count,
            persons, calls_cost, key)
            SELECT {job:String}, 'one', toDate('2026-10-01'), provider, ${LABELS.join(', ')}, true, length(people),
              arrayReduce('uniqExactState', people), calls_cost, key FROM cases`,
    query_params: { job },
  })
  const staged = { jobId: job, stagings: ['one'] }
  await foldGroups(store.client, staged, labels, k, 'fold', new AbortController().signal)
  const result = await store.client.query({
    query: `SELECT toUInt32(key) AS key, kept, [${labels.join(', ')}] AS labels FROM export_folds
            WHERE job_id = {job:String} AND fold = 'fold'`,
    query_params: { job },
    format: 'JSONEachRow',
  })
  const rows = await result.json<{ key: number; kept: number; labels: string[] }>()
  return cases.map((_, number) =>
    rows
      .filter(({ key }) => Math.floor(key / 1_000) === number)
      .map(({ key, kept, labels: left }) => [key % 1_000, JSON.stringify(left.slice(0, kept))])
      .sort(byKey),
  )
}

const byKey = (one: readonly unknown[], other: readonly unknown[]): number => Number(one[0]) - Number(other[0])

test.each([
  [1, 3],
  [2, 2],
  [3, 3],
  [4, 2],
  [4, 5],
])('groups by %i labels fold for k = %i as the cohort rule says over all groups', async (depth, k) => {
  const group = fc.record({
    labels: fc.tuple(...Array.from({ length: depth }, () => fc.constantFrom('x', 'y', 'z'))),
    people: fc.uniqueArray(fc.integer({ min: 1, max: 2 * k }), { maxLength: k + 2 }),
    cost: fc.integer({ min: 0, max: 3 }),
  })
  const groupsOf = fc.uniqueArray(group, {
    selector: ({ labels }) => labels.join(' '),
    minLength: 1,
    maxLength: 30,
    size: 'max',
  })
  const cases = fc.sample(groupsOf, { numRuns: 400, seed: 10 * depth + k })

  const found = await folded(`job_${depth}_${k}`, cases, depth, k)

  for (const [i, drawn] of cases.entries()) {
    const groups: readonly OracleGroup[] = drawn
    const rows = foldedByRule(groups, k).filter(({ labels }) => labels.length < depth)
    const expected = rows.flatMap(({ labels, groups: of }) =>
      of.map((each) => [groups.indexOf(each), JSON.stringify(labels)]),
    )
    expect(found[i], JSON.stringify(groups)).toEqual(expected.sort(byKey))
  }
})
