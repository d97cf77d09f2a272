import type { KV } from '@nats-io/kv'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { tenantIdsCache } from '../../../internal/ids/ids.js'
import { changedBudget, type StoredBudget } from '../../../internal/sentinel/budgets/budget.js'
import { watchBudgets } from '../../../internal/sentinel/watch-budgets.js'
import { ANNOUNCEMENTS } from '../../../streams/buckets.js'
import { type Buckets, launchBuckets } from '../../support/buckets.js'

let buckets: Buckets
let announcements: KV
beforeAll(async () => {
  buckets = await launchBuckets()
  announcements = await buckets.open(ANNOUNCEMENTS)
})
afterAll(() => buckets.close())

/** Each test has its own budget id. */
let budgets = 0
beforeEach(() => void budgets++)

const budget = (stated: Partial<StoredBudget> = {}): StoredBudget => ({
  id: `bdg_${budgets}`,
  tenant_id: 'tnt_one',
  name: 'A budget',
  filter: {},
  monthly_ceiling_usd: '10',
  created_at: '2026-09-15T00:00:00.000Z',
  ...stated,
})

/** Checks the budget of a tenant that spent this amount in each month. */
async function check(watched: StoredBudget, at: string, costUsd = '8'): Promise<void> {
  const reads = {
    spend: async () => [{ owner: 'team-a', service: 'search', provider: 'openai', costUsd }],
    exactSpend: async () => costUsd,
  }
  const deps = {
    bucket: announcements,
    idsOf: tenantIdsCache(new Uint8Array(32)),
    store: async () => undefined,
    lastSequence: async () => 0,
    isStored: async () => false,
    clock: () => Date.parse(at),
  }
  await watchBudgets('tnt_one', [watched], reads, deps)
}
/** The months for which the budget emitted events. */
const months = async (id = `bdg_${budgets}`): Promise<string[]> => {
  const found: string[] = []
  for await (const key of await announcements.keys(`${id}.>`)) found.push(key.split('.')[1] ?? '')
  return found.sort()
}

test('late calls count towards a budget until three days after their month', async () => {
  await check(budget(), '2026-11-03T23:59:59Z')
  await check(budget({ id: 'bdg_late' }), '2026-11-04T00:00:00Z')

  expect(await months()).toEqual(['2026-10', '2026-11'])
  expect(await months('bdg_late')).toEqual(['2026-11'])
})

test('a sum with more digits than a single amount allows crosses a threshold', async () => {
  await check(budget({ created_at: '2026-11-01T00:00:00.000Z' }), '2026-11-02T00:00:00Z', '120000000000000000000')

  expect(await months()).toEqual(['2026-11', '2026-11', '2026-11'])
})

test('a budget emits no event for the month before it was created', async () => {
  await check(budget({ created_at: '2026-11-01T00:00:00.000Z' }), '2026-11-02T00:00:00Z')

  expect(await months()).toEqual(['2026-11'])
})

test('a budget created in the last moment of a month emits events for that month', async () => {
  await check(budget({ created_at: '2026-10-31T23:59:59.999Z' }), '2026-11-02T00:00:00Z')

  expect(await months()).toEqual(['2026-10', '2026-11'])
})

test('a budget whose ceiling or filter changed emits no event for months that had ended by then', async () => {
  const changedMs = Date.UTC(2026, 10, 1)
  for (const change of [{ monthly_ceiling_usd: '9' }, { filter: { owner: 'team-a' } }]) {
    budgets++
    await check(changedBudget(budget(), change, changedMs), '2026-11-02T00:00:00Z')

    expect(await months()).toEqual(['2026-11'])
  }
})

test('a rename, or an unchanged ceiling and filter, does not restart a budget', async () => {
  const changes = { name: 'Another', monthly_ceiling_usd: '10.00', filter: { owner: null } }
  await check(changedBudget(budget(), changes, Date.UTC(2026, 10, 1)), '2026-11-02T00:00:00Z')

  expect(await months()).toEqual(['2026-10', '2026-11'])
})
