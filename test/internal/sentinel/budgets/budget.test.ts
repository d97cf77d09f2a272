import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  type Budget,
  budgetChanges,
  budgetFields,
  budgetOfGroup,
  changedBudget,
  reachedThresholds,
  readBudget,
  STANDARD_THRESHOLDS,
  type StoredBudget,
  storedBudget,
} from '../../../../internal/sentinel/budgets/budget.js'
import { amountAt } from '../../../../internal/sentinel/budgets/crossing-event.js'
import { parseQuantity, type Quantity, quantityOfSteps } from '../../../../internal/units/quantity.js'

const usd = (text: string): Quantity<'USD'> => parseQuantity<'USD'>(text) as Quantity<'USD'>
const withCeiling = (ceiling: Quantity<'USD'>, thresholds: readonly number[] = STANDARD_THRESHOLDS) => ({
  ceiling,
  thresholds,
})

test.each([
  ['7.499999999999999999', []],
  ['7.5', [75]],
  ['9.999999999999999999', [75]],
  ['10', [75, 100]],
  ['15', [75, 100, 150]],
  ['0', []],
])('spend of %s reaches the thresholds %j of a ceiling of 10', (spent, reached) => {
  expect(reachedThresholds(usd(spent), withCeiling(usd('10')))).toEqual(reached)
})

test('the thresholds reached by more spend start with those reached by less, and each at its amount', () => {
  const amount = fc.bigInt({ min: 0n, max: 10n ** 30n })
  const thresholds = fc
    .uniqueArray(fc.integer({ min: 1, max: 1_000 }), { maxLength: 12 })
    .map((all) => all.sort((one, other) => one - other))
  fc.assert(
    fc.property(amount, amount, fc.bigInt({ min: 1n, max: 10n ** 30n }), thresholds, (one, more, ceiling, percents) => {
      const budget = withCeiling(quantityOfSteps<'USD'>(ceiling), percents)
      const less = reachedThresholds(quantityOfSteps<'USD'>(one), budget)
      const all = reachedThresholds(quantityOfSteps<'USD'>(one + more), budget)
      expect(all.slice(0, less.length)).toEqual(less)
      expect(percents.slice(0, all.length)).toEqual(all)
      for (const percent of percents) {
        const least = amountAt(budget, percent)
        expect(reachedThresholds(least, budget)).toContain(percent)
        expect(reachedThresholds(quantityOfSteps<'USD'>(least - 1n), budget)).not.toContain(percent)
      }
    }),
  )
})

const CREATED_MS = Date.UTC(2026, 10, 1)
const created = (stated: object): StoredBudget =>
  storedBudget(budgetFields.parse({ name: 'A budget', ...stated }), 'bdg_one', 'tnt_one', CREATED_MS)
const read = (stored: StoredBudget): Budget => readBudget(stored, 'Europe/Berlin')

describe('a budget', () => {
  test('without a time zone has that of the tenant', () => {
    const stored: StoredBudget = {
      id: 'bdg_one',
      tenant_id: 'tnt_one',
      name: 'A budget',
      filter: { owner: 'team-a' },
      ceiling_usd: '2500.00',
      period: 'month',
      created_at: '2026-09-15T00:00:00.000Z',
      changed_at: '2026-10-15T00:00:00.000Z',
    }

    expect(readBudget(stored, 'UTC')).toEqual({
      id: 'bdg_one',
      name: 'A budget',
      filter: { owner: 'team-a' },
      per: undefined,
      period: 'month',
      zone: 'UTC',
      ceilingText: '2500.00',
      ceiling: usd('2500'),
      groupCeilings: {},
      thresholds: [75, 100, 150],
      countsSinceMs: Date.UTC(2026, 9, 15),
    })
  })

  test.each([
    { ceiling_usd: '10' },
    { ceiling_usd: '10', period: 'month' },
    { monthly_ceiling_usd: '10' },
    { monthly_ceiling_usd: '10', ceiling_usd: '10.00', period: 'month' },
  ])('of a month is stored in one form: %j', (stated) => {
    const stored = created(stated)

    expect(stored).toEqual({
      id: 'bdg_one',
      tenant_id: 'tnt_one',
      name: 'A budget',
      filter: {},
      ceiling_usd: expect.stringMatching(/^10/),
      period: 'month',
      created_at: '2026-11-01T00:00:00.000Z',
    })
    expect(read(stored)).toMatchObject({ period: 'month', ceiling: usd('10'), zone: 'Europe/Berlin' })
  })

  test('states its period, time zone, group and thresholds', () => {
    const stated = {
      ceiling_usd: '10',
      period: 'week',
      time_zone: 'US/Pacific',
      per: 'owner',
      thresholds: [90, 50],
      filter: { provider: 'openai', output_state: 'inferred', owner: null },
    }

    expect(read(created(stated))).toMatchObject({
      period: 'week',
      zone: 'America/Los_Angeles',
      per: 'owner',
      thresholds: [50, 90],
      filter: { provider: 'openai', output_state: 'inferred' },
    })
    expect(read(created({ ceiling_usd: '10', per: 'tags.Cost Centre' })).per).toBe('tags.cost centre')
    expect(read(created({ ceiling_usd: '10', thresholds: [] })).thresholds).toEqual([])
    expect(read(created({ ceiling_usd: '10', thresholds: null })).thresholds).toEqual([75, 100, 150])
  })

  test.each([
    [{}, 'ceiling_usd'],
    [{ ceiling_usd: '0' }, 'ceiling_usd'],
    [{ ceiling_usd: 10 }, 'ceiling_usd'],
    [{ monthly_ceiling_usd: '10', period: 'week' }, 'monthly_ceiling_usd'],
    [{ monthly_ceiling_usd: '10', ceiling_usd: '11' }, 'monthly_ceiling_usd'],
    [{ ceiling_usd: '10', period: 'year' }, 'period'],
    [{ ceiling_usd: '10', time_zone: '+02:00' }, 'time_zone'],
    [{ ceiling_usd: '10', per: 'identity' }, 'per'],
    [{ ceiling_usd: '10', thresholds: [75, 75] }, 'thresholds'],
    [{ ceiling_usd: '10', thresholds: [0] }, 'thresholds.0'],
    [{ ceiling_usd: '10', thresholds: [99.5] }, 'thresholds.0'],
    [{ ceiling_usd: '10', filter: { output_state: 'guessed' } }, 'filter.output_state'],
    [{ ceiling_usd: '10', filter: { ownr: 'team-a' } }, 'filter'],
    [{ ceiling_usd: '10', per: 'owner', group_ceilings_usd: { 'team-a': '0' } }, 'group_ceilings_usd.team-a'],
    [{ ceiling_usd: '10', celing: '1' }, ''],
  ])('is refused: %j', (stated, path) => {
    const parsed = budgetFields.safeParse({ name: 'A budget', ...stated })

    expect(parsed.error?.issues.map((issue) => issue.path.join('.'))).toContain(path)
  })
})

test('a budget filters by declared tags under their folded keys, and another value is another rule', () => {
  const of = (tags: Record<string, string>) =>
    storedBudget(
      budgetFields.parse({ name: 'A', ceiling_usd: '1', filter: { owner: 'o', tags } }),
      'bdg_one',
      'tnt_one',
      1,
    )
  const budget = of({ Team: 'Payments' })

  expect(budget.filter).toEqual({ owner: 'o', tags: { team: 'Payments' } })
  const changes = (tags: Record<string, string>) => budgetChanges.parse({ filter: { owner: 'o', tags } })
  expect(changedBudget(budget, changes({ TEAM: 'Payments' }), 2).changed_at).toBeUndefined()
  expect(changedBudget(budget, changes({ team: 'payments' }), 2).changed_at).toBeDefined()
  expect(budgetFields.safeParse({ name: 'A', ceiling_usd: '1', filter: { tags: { team: '' } } }).success).toBe(false)
})

test('a group has its own ceiling, or that of the budget, whatever its name', () => {
  const own = { 'team-a': '3', constructor: '4' }
  const budget = read(created({ ceiling_usd: '10', per: 'owner', group_ceilings_usd: own }))
  const ceilings = ['team-a', 'constructor', 'team-b', 'toString'].map((value) => budgetOfGroup(budget, value))

  expect(ceilings.map(({ ceilingText }) => ceilingText)).toEqual(['3', '4', '10', '10'])
  expect(ceilings.map(({ ceiling }) => ceiling)).toEqual(['3', '4', '10', '10'].map(usd))
})

describe('a change of a budget', () => {
  const changed = (stated: object, change: object): Budget =>
    read(changedBudget(created(stated), budgetChanges.parse(change), CREATED_MS + 1))
  const WEEK = { ceiling_usd: '10', period: 'week', per: 'owner', time_zone: 'UTC', thresholds: [50] }

  test('leaves what it does not state', () => {
    const { countsSinceMs: _, ...before } = read(created(WEEK))

    expect(changed(WEEK, { ceiling_usd: '11' })).toMatchObject({ ...before, ceilingText: '11', ceiling: usd('11') })
    expect(changed(WEEK, { period: 'quarter' })).toMatchObject({ ...before, period: 'quarter' })
    expect(changed(WEEK, { period: 'month' })).toMatchObject({ ...before, period: 'month', ceilingText: '10' })
  })

  test('of the monthly ceiling makes it one of a month', () => {
    expect(changed(WEEK, { monthly_ceiling_usd: '12' })).toMatchObject({ period: 'month', ceilingText: '12' })
    expect(changed({ monthly_ceiling_usd: '10' }, { period: 'day' })).toMatchObject({
      period: 'day',
      ceilingText: '10',
    })
  })

  test('of the dimension drops the ceilings of its groups', () => {
    const own = { ...WEEK, group_ceilings_usd: { 'team-a': '3' } }

    expect(changed(own, { ceiling_usd: '11' }).groupCeilings).toEqual({ 'team-a': '3' })
    expect(changed(own, { group_ceilings_usd: { 'team-b': '5' } }).groupCeilings).toEqual({ 'team-b': '5' })
    for (const change of [{ per: 'service' }, { per: null }, { group_ceilings_usd: null }]) {
      expect(changed(own, change).groupCeilings).toEqual({})
    }
  })

  test('to null restores the defaults', () => {
    const cleared = { per: null, time_zone: null, thresholds: null, filter: null }

    expect(changed({ ...WEEK, filter: { owner: 'team-a' } }, cleared)).toMatchObject({
      per: undefined,
      zone: 'Europe/Berlin',
      thresholds: [75, 100, 150],
      filter: {},
    })
  })

  test.each([
    [{ name: 'Another' }, false],
    [{ ceiling_usd: '10.00' }, false],
    [{ thresholds: [50] }, false],
    [{ ceiling_usd: '11' }, true],
    [{ period: 'day' }, true],
    [{ per: 'service' }, true],
    [{ time_zone: 'Asia/Tokyo' }, true],
    [{ group_ceilings_usd: {} }, false],
    [{ group_ceilings_usd: { 'team-a': '9' } }, true],
    [{ thresholds: [50, 75] }, true],
    [{ filter: { provider: 'openai' } }, true],
  ])('%j restarts it: %s', (change, restarts) => {
    expect(changed(WEEK, change).countsSinceMs).toBe(restarts ? CREATED_MS + 1 : CREATED_MS)
  })
})
