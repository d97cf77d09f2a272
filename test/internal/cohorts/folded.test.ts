import fc from 'fast-check'
import { beforeAll, describe, expect, test } from 'vitest'
import { foldedSql, GROUPS, KEPT } from '../../../internal/cohorts/folded.js'
import { costOf, foldedByRule, type OracleGroup, type OracleRow, peopleOf } from '../../support/cohort-oracle.js'
import { type Database, openDatabase } from '../../support/database.js'

let store: Database
beforeAll(async () => {
  store = await openDatabase()
})

const NAMES = ['a', 'b', 'c']

/** Folds many cases in one query: a case is a root. */
async function folded(cases: readonly (readonly OracleGroup[])[], depth: number, k: number) {
  const labels = NAMES.slice(0, depth)
  await store.client.command({ query: 'DROP TABLE IF EXISTS cases' })
  await store.client.command({
    query: `CREATE TABLE cases (number UInt32, ${NAMES.map((name) => `${name} LowCardinality(String)`).join(', ')},
              people Array(UInt64), cost Decimal(38, 18)) ENGINE = Memory`,
  })
  const values = cases.flatMap((groups, number) =>
    groups.map(({ labels: own, people, cost }) => ({
      number,
      ...Object.fromEntries(labels.map((name, i) => [name, own[i]])),
      people,
      cost: String(cost),
    })),
  )
  await store.client.insert({ table: 'cases', values, format: 'JSONEachRow' })
  const from = `(SELECT number, ${[...labels, ''].join(', ')} arrayReduce('uniqExactState', cases.people) AS people,
                cost, toInt64(1) AS calls FROM cases)`
  const sums = { cost: 'Decimal(38, 18)', calls: 'Int64' }
  const query = foldedSql({ from, root: ['number'], labels, people: 'people', cost: 'cost', sums, lists: [] }, k)
  const result = await store.client.query({
    query: `SELECT number, [${labels.join(', ')}] AS labels, toUInt32(${KEPT}) AS kept, toUInt32(${GROUPS}) AS groups,
              toUInt32(finalizeAggregation(people)) AS people, toFloat64(cost) AS cost FROM (${query})`,
    format: 'JSONEachRow',
  })
  type Row = { number: number; labels: string[]; kept: number; groups: number; people: number; cost: number }
  const rows = await result.json<Row>()
  return cases.map((_, number) =>
    rows
      .filter((row) => row.number === number)
      .map((row) => [JSON.stringify(row.labels.slice(0, row.kept)), row.kept, row.groups, row.people, row.cost])
      .sort(),
  )
}

const shown = (rows: readonly OracleRow[]) =>
  rows
    .map(({ labels, groups }) => [
      JSON.stringify(labels),
      labels.length,
      groups.length,
      peopleOf(groups),
      costOf(groups),
    ])
    .sort()

const group = (labels: string, people: readonly number[], cost = 1): OracleGroup => ({
  labels: labels.split('/'),
  people,
  cost,
})
const someone = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, i) => from + i)

const groupsOf = (depth: number, peopleMax: number) =>
  fc.uniqueArray(
    fc.record({
      labels: fc.tuple(...Array.from({ length: depth }, () => fc.constantFrom('', 'x', 'y', 'z'))),
      people: fc.uniqueArray(fc.integer({ min: 1, max: peopleMax * 2 }), { maxLength: peopleMax }),
      cost: fc.integer({ min: 0, max: 3 }),
    }),
    { selector: ({ labels }) => JSON.stringify(labels), minLength: 1, maxLength: 14 },
  )

describe('the cohort rule', () => {
  test.each([
    [1, 2],
    [1, 5],
    [2, 3],
    [2, 5],
    [3, 2],
    [3, 4],
  ])('over %i labels and for k = %i the engine folds as the text of the rule says', async (depth, k) => {
    const cases = fc.sample(groupsOf(depth, k + 1), { numRuns: 600, seed: depth * 10 + k })

    const rows = await folded(cases, depth, k)

    for (const [i, groups] of cases.entries()) {
      expect(rows[i], JSON.stringify(groups)).toEqual(shown(foldedByRule(groups, k)))
    }
  })

  test('a row has nobody or k people, only a smaller root’s has fewer, and no group without people is folded', () => {
    fc.assert(
      fc.property(groupsOf(3, 6), (groups) => {
        const rows = foldedByRule(groups, 5)
        const all = peopleOf(groups)

        expect(costOf(rows.flatMap((row) => row.groups))).toBe(costOf(groups))
        for (const row of rows) {
          const people = peopleOf(row.groups)
          if (people > 0 && people < 5) expect([row.labels, all < 5]).toEqual([[], true])
          if (row.labels.length < 3) expect(row.groups.every((each) => each.people.length > 0)).toBe(true)
        }
        const hidden = rows.filter(({ labels }) => labels.length < 3).flatMap((row) => row.groups)
        const ancestors = new Set(
          groups
            .filter(({ people }) => people.length < 5)
            .flatMap(({ labels }) => [0, 1, 2].map((j) => labels.slice(0, j).join())),
        )
        expect(hidden.filter(({ people }) => people.length >= 5).length).toBeLessThanOrEqual(ancestors.size)
      }),
    )
  })

  test('one service of three people takes the cheapest larger one with it, and one without people stays', async () => {
    const groups = [
      group('large', someone(1, 5), 9),
      group('small', someone(11, 13)),
      group('medium', someone(1, 9), 7),
      group('sync', []),
    ]

    const [rows] = await folded([groups], 1, 5)

    expect(rows).toEqual([
      ['["large"]', 1, 1, 5, 9],
      ['["sync"]', 1, 1, 0, 1],
      ['[]', 0, 2, 12, 8],
    ])
  })

  test('small groups of five people together hide nothing else', async () => {
    const groups = [group('large', someone(1, 9)), group('one', someone(11, 13)), group('other', someone(13, 15))]

    expect((await folded([groups], 1, 5))[0]).toEqual([
      ['["large"]', 1, 1, 9, 1],
      ['[]', 0, 2, 5, 2],
    ])
  })

  test('without labels a root is a row', async () => {
    expect((await folded([[{ labels: [], people: [1], cost: 2 }]], 0, 5))[0]).toEqual([['[]', 0, 1, 1, 2]])
  })
})
