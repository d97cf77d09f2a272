import { beforeAll, describe, expect, test } from 'vitest'
import { DIMENSION_NAMES, type GroupField } from '../../../../../internal/filters/report-dimensions.js'
import {
  exactGroupSpendOf,
  exactSpendOf,
  type GroupSpend,
  groupsAbove,
  listGroups,
  type SpendFilter,
  spendOf,
  topGroups,
} from '../../../../../internal/store/queries/reports/spend.js'
import { insertRows } from '../../../../../internal/store/sink.js'
import { ATTRIBUTIONS, type AttributionRow } from '../../../../../internal/store/tables/attributions.js'
import { CLOSED } from '../../../../../internal/store/tables/closed.js'
import {
  formatQuantity,
  parseSum,
  quantityOfSteps,
  STEPS_PER_UNIT,
  sum,
} from '../../../../../internal/units/quantity.js'
import { type Database, openDatabase } from '../../../../support/database.js'
import { idOf, NOW_MS } from '../../../../support/invocations.js'
import { finishedRow } from '../../../../support/rows.js'

const HOUR_MS = 3_600_000
const REPLACED_MS = NOW_MS + 1_000
const LATER_MS = NOW_MS + 10_000
/** Two windows, of which the second holds half of the calls. */
const WHOLE = { fromMs: NOW_MS - 2 * HOUR_MS, toMs: NOW_MS + 2 * HOUR_MS }
const SECOND = { fromMs: NOW_MS, toMs: NOW_MS + 2 * HOUR_MS }

const record = (i: number): AttributionRow => {
  const invocation = {
    eventTimeMs: NOW_MS + (i % 2 === 0 ? 0 : -HOUR_MS),
    provider: i % 3 === 0 ? 'openai' : 'anthropic',
    requestedModel: `model-${i % 4}`,
    ...(i % 5 === 0 && { region: 'eu-central-1' }),
  }
  const verdict = {
    // Some are in the pool of what no pool has, and some are nobody's.
    service: i % 20 === 16 ? 'unallocated' : `service-${i % 7}`,
    owner: i % 20 === 16 ? 'unallocated' : i % 8 === 0 ? '' : i % 10 === 9 ? 'unassigned' : `owner-${i % 5}`,
    stageOrigin: i % 4 === 0 ? ('stage_c' as const) : ('stage_a' as const),
  }
  const costUsd = quantityOfSteps<'USD'>(BigInt(i + 1) * STEPS_PER_UNIT + 1n)
  const dimensions = i % 6 === 0 ? [] : [`team\tteam-${Math.floor(i / 2) % 2}`]
  // A stated cost that is implausible crosses no ceiling.
  const implausible = i === 33 && { exportEligibility: 'implausible_cost' }
  return { ...finishedRow({ id: idOf(i + 1), invocation }, { verdict }), costUsd, dimensions, ...implausible }
}
const OLD = Array.from({ length: 40 }, (_, i) => record(i))
/** The first ten records have another owner since, and another tenant has the same records. */
const REPLACED = OLD.slice(0, 10).map((row) => ({ ...row, owner: 'owner-new', validFromMs: REPLACED_MS }))
const CURRENT = [...REPLACED, ...OLD.slice(10)]

let store: Database
beforeAll(async () => {
  store = await openDatabase()
  await insertRows(store.client, ATTRIBUTIONS, OLD, 'old')
  await insertRows(
    store.client,
    ATTRIBUTIONS,
    OLD.map((row) => ({ ...row, tenantId: 'tnt_two' })),
    'foreign',
  )
  await insertRows(store.client, ATTRIBUTIONS, REPLACED, 'replaced')
  const closings = OLD.slice(0, 10).map((version) => ({
    version,
    closedAtMs: REPLACED_MS,
    change: 'override' as const,
    changeId: 'chg_one',
    actor: 'cli',
  }))
  await insertRows(store.client, CLOSED, closings, 'closed')
})

const labelOf = (row: AttributionRow, name: GroupField): string => {
  // Calls from before the declaration, which have no pair, belong to no group.
  if (name === 'tags.team') return row.dimensions[0]?.split('\t')[1] ?? ''
  if (name === 'pool') return row.stageOrigin === 'stage_c' ? row.service : ''
  if (name === 'credential') return row.principal
  const member = name.replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase()) as keyof AttributionRow
  return String(row[member] ?? '')
}
type Window = typeof WHOLE
const matching = (rows: readonly AttributionRow[], filter: SpendFilter, { fromMs, toMs }: Window): AttributionRow[] =>
  rows.filter(
    (row) =>
      row.exportEligibility !== 'implausible_cost' &&
      row.eventTimeMs >= fromMs &&
      row.eventTimeMs < toMs &&
      DIMENSION_NAMES.every((name) => filter[name] === undefined || filter[name] === labelOf(row, name)),
  )
const costOf = (rows: readonly AttributionRow[]): string => formatQuantity(sum(rows.map(({ costUsd }) => costUsd)))
/** Pools are no services, and what is nobody's has no owner. */
function isOfSomebody(row: AttributionRow, per: GroupField): boolean {
  if (per === 'service') return labelOf(row, 'pool') === '' && row.service !== 'unassigned'
  return per !== 'owner' || !['unassigned', 'unallocated'].includes(row.owner)
}
/** By cost, then by name. */
function groupsOf(rows: readonly AttributionRow[], per: GroupField): GroupSpend[] {
  const byGroup = new Map<string, AttributionRow[]>()
  for (const row of rows.filter((each) => isOfSomebody(each, per))) {
    const group = labelOf(row, per)
    byGroup.set(group, [...(byGroup.get(group) ?? []), row])
  }
  return [...byGroup]
    .filter(([group]) => group !== '')
    .map(([group, own]) => ({ group, costUsd: costOf(own) }))
    .sort((one, other) => {
      const [left, right] = [parseSum(one.costUsd), parseSum(other.costUsd)]
      return left === right ? (one.group < other.group ? -1 : 1) : left > right ? -1 : 1
    })
}

const FILTERS: readonly SpendFilter[] = [
  {},
  { owner: 'owner-new' },
  { owner: 'owner-3', provider: 'anthropic' },
  { pool: 'service-5' },
  // Not in the rollups by quarter of an hour.
  { requested_model: 'model-1', service: 'service-2' },
  { region: 'eu-central-1' },
  { owner: "it's \\ nobody" },
]

describe('spend', () => {
  test('of many selections is the exact sum of the current records of the tenant, by every dimension', async () => {
    const everyDimension = DIMENSION_NAMES.map((name) => ({ [name]: labelOf(CURRENT[30] as AttributionRow, name) }))
    const selections = [...FILTERS, ...everyDimension].flatMap((filter) => [
      { filter, ...WHOLE },
      { filter, ...SECOND },
    ])

    const spent = await spendOf(store.client, 'tnt_one', selections)

    expect(spent).toEqual(selections.map(({ filter, ...window }) => costOf(matching(CURRENT, filter, window))))
    expect(await spendOf(store.client, 'tnt_none', [{ filter: {}, ...WHOLE }])).toEqual(['0'])
  })

  test('of many more selections than one query holds comes in their order', async () => {
    const selections = Array.from({ length: 230 }, (_, i) => ({ filter: { owner: `owner-${i % 6}` }, ...WHOLE }))

    expect(await spendOf(store.client, 'tnt_one', selections)).toEqual(
      selections.map(({ filter }) => costOf(matching(CURRENT, filter, WHOLE))),
    )
  })

  test.each(FILTERS)('that matches %j is exact as of an instant', async (filter) => {
    const exact = (snapshotMs: number) => exactSpendOf(store.client, 'tnt_one', snapshotMs, WHOLE, filter)

    expect(await exact(LATER_MS)).toBe(costOf(matching(CURRENT, filter, WHOLE)))
    expect(await exact(REPLACED_MS - 1)).toBe(costOf(matching(OLD, filter, WHOLE)))
  })
})

describe.each(['owner', 'service', 'pool', 'requested_model', 'tags.team'] as const)('spend per %s', (per) => {
  const filter = { provider: 'anthropic' }
  const groups = (window: Window, rows = CURRENT) => groupsOf(matching(rows, filter, window), per)

  test('finds the groups that reach an amount in one of two windows', async () => {
    const least = groups(SECOND)[1]?.costUsd ?? '0'
    const windows = [
      { ...WHOLE, atLeastUsd: '200000000000000000000' },
      { ...SECOND, atLeastUsd: least },
    ]

    const found = await groupsAbove(store.client, 'tnt_one', { filter, per }, windows)

    const expected = groups(SECOND).filter(({ costUsd }) => parseSum(costUsd) >= parseSum(least))
    expect(expected.length).toBeGreaterThan(1)
    expect(new Set(found.map(({ group, costsUsd }) => `${group} ${costsUsd}`))).toEqual(
      new Set(
        expected.map(({ group, costUsd }) => {
          const whole = groups(WHOLE).find((each) => each.group === group)
          return `${group} ${whole?.costUsd},${costUsd}`
        }),
      ),
    )
  })

  test('shows the groups that cost most, and the number and cost of all', async () => {
    const found = await topGroups(store.client, 'tnt_one', { filter, per }, WHOLE, 2)

    const all = groups(WHOLE)
    expect(found.top).toEqual(all.slice(0, 2))
    expect(found.count).toBe(all.length)
    expect(parseSum(found.costUsd)).toBe(sum(all.map(({ costUsd }) => parseSum(costUsd))))
  })

  test('pages through every group once, as of a snapshot', async () => {
    for (const [snapshotMs, rows] of [
      [LATER_MS, CURRENT],
      [REPLACED_MS - 1, OLD],
    ] as const) {
      const found: GroupSpend[] = []
      for (;;) {
        const after = found.at(-1)
        const page = await listGroups(
          store.client,
          'tnt_one',
          snapshotMs,
          { filter, per, ...WHOLE },
          { after, limit: 2 },
        )
        found.push(...page)
        if (page.length < 2) break
      }
      expect(found).toEqual(groups(WHOLE, rows))
    }
  })

  test('of named groups is exact', async () => {
    const [first, second] = groups(WHOLE)
    const names = [first?.group ?? '', second?.group ?? '', 'no such group']

    const found = await exactGroupSpendOf(store.client, 'tnt_one', LATER_MS, { filter, per, ...WHOLE }, names)

    expect(new Set(found)).toEqual(new Set([first, second]))
  })
})

test('a filter on a declared tag sums the records that have its value, with the other filters', async () => {
  const costOf = (rows: readonly AttributionRow[]) => formatQuantity(sum(rows.map(({ costUsd }) => costUsd)))
  const tagged = CURRENT.filter(({ dimensions }) => dimensions.includes('team\tteam-1'))
  const filter: SpendFilter = { provider: 'openai', tags: { team: 'team-1' } }
  const expected = [costOf(tagged), costOf(tagged.filter(({ provider }) => provider === 'openai'))]

  expect(tagged.length).toBeGreaterThan(10)
  expect(
    await spendOf(store.client, 'tnt_one', [
      { filter: { tags: { team: 'team-1' } }, ...WHOLE },
      { filter, ...WHOLE },
    ]),
  ).toEqual(expected)
  expect(await exactSpendOf(store.client, 'tnt_one', LATER_MS, WHOLE, filter)).toBe(expected[1])
})
