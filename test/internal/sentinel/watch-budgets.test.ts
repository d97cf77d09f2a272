import type { KV } from '@nats-io/kv'
import fc from 'fast-check'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { type WatchedRecords, watchRecords } from '../../../internal/broker/watched-records.js'
import { tenantIdsCache } from '../../../internal/ids/ids.js'
import {
  type BudgetChanges,
  changedBudget,
  readBudget,
  type StoredBudget,
} from '../../../internal/sentinel/budgets/budget.js'
import { crossedOf, groupKey, type StoredCrossings, WHOLE } from '../../../internal/sentinel/budgets/crossings.js'
import { type BudgetReads, watchBudgets, watchedPeriods } from '../../../internal/sentinel/watch-budgets.js'
import type { GroupSpend } from '../../../internal/store/queries/reports/spend.js'
import { parseSum } from '../../../internal/units/quantity.js'
import { ANNOUNCEMENTS, BUDGET_CROSSINGS } from '../../../streams/buckets.js'
import { type Buckets, launchBuckets } from '../../support/buckets.js'

let buckets: Buckets
let announcements: KV
let crossings: WatchedRecords<StoredCrossings>
beforeAll(async () => {
  buckets = await launchBuckets()
  announcements = await buckets.open(ANNOUNCEMENTS)
  crossings = await watchRecords<StoredCrossings>(await buckets.open(BUDGET_CROSSINGS), () => undefined)
})
afterAll(async () => {
  crossings?.stop()
  await buckets?.close()
})

/** Ids of the messages that were stored. */
const stored = new Set<string>()
/** Each test has its own budget id. */
let budgets = 0
/** The events that were stored, as their type, threshold and group. */
let emitted: string[]
/** The queries that were asked. */
let asked: string[]
beforeEach(() => {
  budgets++
  emitted = []
  asked = []
})

const budget = (stated: Partial<StoredBudget> = {}): StoredBudget => ({
  id: `bdg_${budgets}`,
  tenant_id: 'tnt_one',
  name: 'A budget',
  filter: {},
  ceiling_usd: '10',
  period: 'month',
  created_at: '2026-09-15T00:00:00.000Z',
  ...stated,
})

/** What the rollups and the records hold in each period: of the whole budget, and by group. */
interface Spent {
  readonly rollups?: string
  readonly records?: string
  readonly groups?: readonly GroupSpend[]
}

function readsOf({ rollups = '8', records = rollups, groups = [] }: Spent): BudgetReads {
  return {
    async spend(_, selections) {
      asked.push('spend')
      return selections.map(() => rollups)
    },
    async groupsAbove(_, __, windows) {
      asked.push('groups')
      const isAbove = ({ costUsd }: GroupSpend) =>
        windows.some(({ atLeastUsd }) => parseSum(costUsd) >= parseSum(atLeastUsd))
      return groups.filter(isAbove).map(({ group, costUsd }) => ({ group, costsUsd: windows.map(() => costUsd) }))
    },
    async exactSpend() {
      asked.push('exact spend')
      return records
    },
    async exactGroupSpend() {
      asked.push('exact groups')
      return groups
    },
  }
}

/** Checks the budgets of a tenant that spent this in each period. */
async function check(watched: StoredBudget | readonly StoredBudget[], at: string, spent: Spent | string = '8') {
  const deps = {
    bucket: announcements,
    crossings,
    idsOf: tenantIdsCache(new Uint8Array(32)),
    // The stream stores a message id once.
    async store(_: string, text: string, id: string) {
      if (stored.has(id)) return
      stored.add(id)
      const { type, data } = JSON.parse(text)
      emitted.push([type.slice('budget.threshold.'.length), data.threshold, data.group?.value ?? []].flat().join(' '))
    },
    lastSequence: async () => 0,
    isStored: async () => false,
    clock: () => Date.parse(at),
  }
  const all = [watched].flat().map((each) => readBudget(each, 'UTC'))
  await watchBudgets('tnt_one', all, readsOf(typeof spent === 'string' ? { rollups: spent } : spent), deps)
}
/** The periods for which the budget emitted events. */
const periods = async (id = `bdg_${budgets}`): Promise<string[]> => {
  const found: string[] = []
  for await (const key of await announcements.keys(`${id}.>`)) found.push(key.split('.')[1] ?? '')
  return found.sort()
}

test('late calls count towards a budget until three days after their month', async () => {
  await check(budget(), '2026-11-03T23:59:59Z')
  await check(budget({ id: 'bdg_late' }), '2026-11-04T00:00:00Z')

  expect(await periods()).toEqual(['2026-10', '2026-11'])
  expect(await periods('bdg_late')).toEqual(['2026-11'])
})

test('a sum with more digits than a single amount allows crosses a threshold', async () => {
  await check(budget({ created_at: '2026-11-01T00:00:00.000Z' }), '2026-11-02T00:00:00Z', '120000000000000000000')

  expect(await periods()).toEqual(['2026-11', '2026-11', '2026-11'])
})

test('a budget emits no event for the month before it was created', async () => {
  await check(budget({ created_at: '2026-11-01T00:00:00.000Z' }), '2026-11-02T00:00:00Z')

  expect(await periods()).toEqual(['2026-11'])
})

test('a budget created in the last moment of a month emits events for that month', async () => {
  await check(budget({ created_at: '2026-10-31T23:59:59.999Z' }), '2026-11-02T00:00:00Z')

  expect(await periods()).toEqual(['2026-10', '2026-11'])
})

const changed = (changes: BudgetChanges, before = budget(), atMs = Date.UTC(2026, 10, 1)): StoredBudget =>
  changedBudget(before, changes, atMs)

test('a budget whose rule changed emits no event for months that had ended by then', async () => {
  for (const change of [{ ceiling_usd: '9' }, { filter: { owner: 'team-a' } }, { thresholds: [75] }]) {
    budgets++
    await check(changed(change), '2026-11-02T00:00:00Z')

    expect(await periods()).toEqual(['2026-11'])
  }
})

test('a rename, or an unchanged rule, does not restart a budget', async () => {
  const same = { name: 'Another', monthly_ceiling_usd: '10.00', filter: { owner: null }, thresholds: [150, 75, 100] }
  await check(changed(same), '2026-11-02T00:00:00Z')

  expect(await periods()).toEqual(['2026-10', '2026-11'])
})

const NOVEMBER = { created_at: '2026-11-10T00:00:00.000Z' }
const AT = '2026-11-20T00:00:00Z'

test('the contract’s thresholds and others are emitted in ascending order, each as its own type', async () => {
  await check(budget({ ...NOVEMBER, thresholds: [50, 75, 90, 100] }), AT, '9.5')
  await check(budget({ ...NOVEMBER, thresholds: [50, 75, 90, 100] }), AT, '20')

  expect(emitted).toEqual(['custom 50', 'crossed 75', 'custom 90', 'crossed 100'])
})

test('a budget without thresholds asks and emits nothing', async () => {
  await check(budget({ ...NOVEMBER, thresholds: [] }), AT, '20')

  expect([...asked, ...emitted]).toEqual([])
})

test('a threshold is emitted once per period, whatever changes; an added one at once if it is reached', async () => {
  const before = budget(NOVEMBER)
  await check(before, AT, '8')
  const doubled = changed({ ceiling_usd: '5' }, before, Date.parse(AT))
  await check(doubled, AT, '8')
  await check(changed({ thresholds: [50, 75, 160], time_zone: 'Asia/Tokyo' }, doubled, Date.parse(AT)), AT, '8')

  expect(emitted).toEqual(['crossed 75', 'crossed 100', 'crossed 150', 'custom 50', 'custom 160'])
})

test('a changed period starts with no threshold crossed', async () => {
  await check(budget(NOVEMBER), AT, '8')
  await check(changed({ period: 'week' }, budget(NOVEMBER), Date.parse(AT)), AT, '8')

  expect(emitted).toEqual(['crossed 75', 'crossed 75'])
  expect(await periods()).toEqual(['2026-11', '2026-W47'])
})

test('an event has the amount of the records; what only the rollups have reached is not emitted yet', async () => {
  await check(budget(NOVEMBER), AT, { rollups: '16', records: '7.4' })
  expect(emitted).toEqual([])

  await check(budget(NOVEMBER), AT, { rollups: '16', records: '11' })
  expect(emitted).toEqual(['crossed 75', 'crossed 100'])
})

test('spend that a correction has lowered emits nothing when it rises again', async () => {
  await check(budget(NOVEMBER), AT, '10')
  await check(budget(NOVEMBER), AT, '1')
  await check(budget(NOVEMBER), AT, '15')

  expect(emitted).toEqual(['crossed 75', 'crossed 100', 'crossed 150'])
})

test('crossings are stored with their time, also those that were emitted and not stored', async () => {
  await check(budget(NOVEMBER), AT, '8')
  // It ended in between.
  await check(budget({ ...NOVEMBER, id: 'bdg_before' }), AT, '8')
  for await (const key of await (await buckets.open(BUDGET_CROSSINGS)).keys('bdg_before.>')) await crossings.delete(key)
  await check(budget({ ...NOVEMBER, id: 'bdg_before' }), '2026-11-21T00:00:00Z', '10')

  const of = (id: string) => crossedOf(crossings.get, { id }, { name: '2026-11' }, WHOLE)
  expect(of(`bdg_${budgets}`)).toEqual({ 75: Date.parse(AT) })
  expect(of('bdg_before')).toEqual({ 75: Date.parse(AT), 100: Date.parse(AT) + 24 * 3_600_000 })
  expect(emitted).toEqual(['crossed 75', 'crossed 75', 'crossed 100'])
})

test('a budget per group emits each group’s crossings with its name, also of a group that comes later', async () => {
  const perOwner = budget({ ...NOVEMBER, per: 'owner', thresholds: [75, 100] })
  const groups = [
    { group: 'team-a', costUsd: '7.5' },
    { group: 'team-b', costUsd: '7.49' },
    { group: 'team "c"', costUsd: '11' },
  ]
  await check(perOwner, AT, { groups })
  await check(perOwner, AT, { groups: [...groups, { group: 'team-d', costUsd: '9' }] })

  expect(emitted.filter((event) => event.endsWith('"c"'))).toEqual(['crossed 75 team "c"', 'crossed 100 team "c"'])
  expect(emitted.toSorted()).toEqual(
    ['crossed 75 team-a', 'crossed 75 team "c"', 'crossed 100 team "c"', 'crossed 75 team-d'].toSorted(),
  )
  expect(crossedOf(crossings.get, perOwner, { name: '2026-11' }, groupKey('owner', 'team-a'))).toEqual({
    75: Date.parse(AT),
  })
})

test('a group with a ceiling of its own crosses that, below or above the one of the others', async () => {
  const own = { small: '2', large: '100' }
  const perOwner = budget({ ...NOVEMBER, per: 'owner', thresholds: [75, 100], group_ceilings_usd: own })
  const groups = ['small', 'large', 'other'].map((group) => ({ group, costUsd: group === 'small' ? '1.5' : '9.9' }))
  await check(perOwner, AT, { groups })
  await check(perOwner, AT, { groups: groups.map((each) => ({ ...each, costUsd: '80' })) })

  expect(emitted.slice(0, 2).toSorted()).toEqual(['crossed 75 other', 'crossed 75 small'])
  expect(emitted.slice(2).toSorted()).toEqual(['crossed 100 other', 'crossed 100 small', 'crossed 75 large'])
})

test('the number of queries and reads of a check does not depend on the number of groups', async () => {
  const groups = Array.from({ length: 5_000 }, (_, i) => ({ group: `owner-${i}`, costUsd: i % 50 === 0 ? '7.5' : '1' }))
  const watched = [budget({ ...NOVEMBER, per: 'owner' }), budget({ ...NOVEMBER, id: `bdg_${budgets}_whole` })]
  await check(watched, AT, { groups, rollups: '1' })
  expect(emitted).toHaveLength(100)
  expect(asked).toEqual(['spend', 'groups', 'exact groups'])

  // Everything that was crossed is known from memory: without a broker a look still succeeds.
  asked = []
  const { url: _, ...rest } = { url: '', ...readsOf({ groups, rollups: '1' }) }
  await watchBudgets(
    'tnt_one',
    watched.map((each) => readBudget(each, 'UTC')),
    rest,
    {
      crossings,
      clock: () => Date.parse(AT),
    } as never,
  )
  expect(asked).toEqual(['spend', 'groups'])
})

test('a budget of a day watches the days whose late calls still count, one of a quarter the quarter', () => {
  const names = (period: 'day' | 'quarter', zone: string, at: string) =>
    watchedPeriods({ period, zone, countsSinceMs: 0 }, Date.parse(at)).map(({ name }) => name)

  expect(names('day', 'UTC', '2026-11-20T10:00:00Z')).toEqual(['2026-11-17', '2026-11-18', '2026-11-19', '2026-11-20'])
  expect(names('day', 'Asia/Tokyo', '2026-11-20T15:00:00Z').at(-1)).toBe('2026-11-21')
  expect(names('quarter', 'UTC', '2026-11-20T10:00:00Z')).toEqual(['2026-Q4'])
  expect(names('quarter', 'UTC', '2026-10-03T10:00:00Z')).toEqual(['2026-Q3', '2026-Q4'])
})

test('each threshold of each group is emitted at most once per period and in order, however spend moves', async () => {
  const amount = fc.integer({ min: 0, max: 20 }).map(String)
  const look = fc.record({ whole: amount, one: amount, other: amount })
  const thresholds = fc
    .uniqueArray(fc.constantFrom(10, 50, 75, 90, 100, 150), { minLength: 1 })
    .map((all) => all.toSorted((one, other) => one - other))
  await fc.assert(
    fc.asyncProperty(fc.array(look, { maxLength: 4 }), thresholds, async (looks, percents) => {
      budgets++
      emitted = []
      const whole = budget({ ...NOVEMBER, thresholds: percents })
      const grouped = budget({ ...NOVEMBER, id: `bdg_${budgets}_g`, per: 'owner', thresholds: percents })
      for (const { whole: rollups, one, other } of looks) {
        const groups = [
          { group: 'one', costUsd: one },
          { group: 'other', costUsd: other },
        ]
        await Promise.all([check([whole, grouped], AT, { rollups, groups }), check(grouped, AT, { groups })])
      }

      for (const name of ['whole', 'one', 'other'] as const) {
        const highest = Math.max(0, ...looks.map((each) => Number(each[name])))
        const reached = percents.filter((percent) => highest * 100 >= 10 * percent)
        const found = emitted.map((event) => event.split(' ')).filter(([, , group = 'whole']) => group === name)
        expect(found.map(([, percent]) => Number(percent))).toEqual(reached)
      }
    }),
    { numRuns: 12 },
  )
})
