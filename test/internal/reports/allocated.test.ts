import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { WEIGHT_PARTS } from '../../../internal/records/allocation-weights.js'
import { readQuestion } from '../../../internal/reports/kinds.js'
import type { Measured } from '../../../internal/reports/parts.js'
import { type ReportRow, reportOf } from '../../../internal/reports/report.js'
import { shownUsage, USAGE, type Usage } from '../../../internal/reports/usage.js'
import type { SpreadWeights } from '../../../internal/store/queries/attribution/allocation-weights.js'
import { USAGE_AMOUNTS, USAGE_COUNTS } from '../../../internal/store/queries/reports/usage.js'
import { DAY_MS, type ReportedCall, type ReportedSums, reportReads } from '../../support/report-reads.js'

const SMALL = 5
const START_MS = Date.UTC(2026, 9, 5)

const weight = (service: string, owner: string, percent: bigint) => ({
  service,
  owner,
  parts: (WEIGHT_PARTS * percent) / 100n,
})
/** A fifth stays in the pools; `new` has no calls. */
const WEIGHTS: SpreadWeights = {
  asOfMs: START_MS,
  weights: [weight('x', 'team-x', 40n), weight('y', 'team-y', 30n), weight('new', 'team-x', 10n)],
}
const OWNERS: Readonly<Record<string, string>> = { x: 'team-x', y: 'team-y', pool: 'team-x', rest: 'unallocated' }
const call = (person: number, service: string, provider = 'p', day = 0): ReportedCall => ({
  person,
  service,
  provider,
  owner: OWNERS[service] ?? '',
  atMs: START_MS + day * DAY_MS,
  isPooled: service === 'pool' || service === 'rest',
  costSteps: 10n ** 18n + BigInt(person),
})
const callsOf = (service: string, from: number, to: number, provider?: string): ReportedCall[] =>
  Array.from({ length: to - from + 1 }, (_, i) => call(from + i, service, provider))

async function ask<M>(calls: readonly ReportedCall[], query: string, measured: Measured<M>, weights = WEIGHTS) {
  const period = `from=${new Date(START_MS - DAY_MS).toISOString()}&to=${new Date(START_MS + 50 * DAY_MS).toISOString()}`
  const read = readQuestion('usage', [period, query].filter((part) => part !== '').join('&'), Date.now())
  if (!read.ok) throw new Error(JSON.stringify(read.problem))
  const reads = reportReads(calls, weights)
  return (await reportOf('tnt_one', read.question, measured, reads, new AbortController().signal)).rows
}
const costs = (rows: readonly ReportRow<Usage>[], label: string) =>
  Object.fromEntries(rows.map((row) => [row.isFolded ? '…' : row.labels[label], shownUsage(row).cost_usd]))

describe('pools without people', () => {
  const calls = [...callsOf('x', 0, 0), ...callsOf('y', 0, 0), { ...call(0, 'rest'), costSteps: 1_000n }]

  test('are spread by weight, and the share without a weight stays in the pool', async () => {
    expect(costs(await ask(calls, 'group_by=service&allocate=true', USAGE), 'service')).toEqual({
      x: '1.0000000000000004',
      y: '1.0000000000000003',
      new: '0.0000000000000001',
      rest: '0.0000000000000002',
    })
  })

  test('are spread by owner with the sum of the weights of its services', async () => {
    expect(costs(await ask(calls, 'group_by=owner&allocate=true', USAGE), 'owner')).toEqual({
      'team-x': '1.0000000000000005',
      'team-y': '1.0000000000000003',
      unallocated: '0.0000000000000002',
    })
  })

  test('keep their calls and tokens', async () => {
    const rows = await ask(calls, 'group_by=service&allocate=true', USAGE)

    expect(Object.fromEntries(rows.map(({ labels, sum }) => [labels['service'], sum.counts.calls]))).toEqual({
      x: 1,
      y: 1,
      new: 0,
      rest: 1,
    })
  })

  test('are spread before a filter applies', async () => {
    expect(costs(await ask(calls, 'group_by=service&filter[service][eq]=y&allocate=true', USAGE), 'service')).toEqual({
      y: '1.0000000000000003',
    })
    expect(costs(await ask(calls, 'filter[owner][eq]=unallocated&allocate=true', USAGE), '')).toEqual({
      undefined: '0.0000000000000002',
    })
  })

  test('make a sum with a share of unpriced calls a lower bound', async () => {
    const lacking = [...calls, { ...call(0, 'rest'), isUnpriced: true }]
    const bounds = async (query: string) =>
      (await ask(lacking, query, USAGE)).map((row) => [row.labels['service'], shownUsage(row).lower_bounds])

    expect(await bounds('group_by=service')).toEqual([
      ['rest', ['cost_usd']],
      ['x', []],
      ['y', []],
    ])
    expect(await bounds('group_by=service&allocate=true')).toEqual([
      ['new', ['cost_usd']],
      ['rest', ['cost_usd']],
      ['x', ['cost_usd']],
      ['y', ['cost_usd']],
    ])
  })

  test('keep everything without weights', async () => {
    const rows = await ask(calls, 'group_by=service&allocate=true', USAGE, { asOfMs: START_MS, weights: [] })

    expect(costs(rows, 'service')).toEqual(costs(await ask(calls, 'group_by=service', USAGE), 'service'))
  })
})

test('a pool of fewer than five people is neither shown nor spread', async () => {
  const calls = [...callsOf('x', 1, 9), ...callsOf('y', 1, 9), ...callsOf('rest', 1, 3)]

  expect(costs(await ask(calls, 'group_by=service&allocate=true', USAGE), 'service')).toEqual(
    costs(await ask(calls, 'group_by=service', USAGE), 'service'),
  )
})

test('a pool of five people is spread', async () => {
  const calls = [...callsOf('x', 1, 9), ...callsOf('y', 1, 9), ...callsOf('rest', 1, 5)]

  const { rest } = costs(await ask(calls, 'group_by=service&allocate=true', USAGE), 'service')

  expect(rest).toBe('1.000000000000000003')
})

test('a pool with the same name as a service is not spread', async () => {
  const calls = [...callsOf('x', 1, 9), ...callsOf('rest', 1, 9), { ...call(0, 'rest'), isPooled: false }]

  expect(costs(await ask(calls, 'group_by=service&allocate=true', USAGE), 'service')).toEqual(
    costs(await ask(calls, 'group_by=service', USAGE), 'service'),
  )
})

const anyCalls: fc.Arbitrary<ReportedCall[]> = fc
  .record({
    peopleCount: fc.oneof(fc.constant(0), fc.integer({ min: 5, max: 30 })),
    habits: fc.array(
      fc.record({
        service: fc.constantFrom('x', 'y', 'pool', 'rest'),
        provider: fc.constantFrom('p', 'q'),
        day: fc.nat({ max: 6 }),
      }),
      { minLength: 1, maxLength: 7 },
    ),
    others: fc.array(
      fc.record({
        person: fc.oneof(fc.constant(0), fc.nat({ max: 30 })),
        service: fc.constantFrom('x', 'y', 'pool', 'rest'),
        provider: fc.constantFrom('p', 'q'),
        day: fc.nat({ max: 6 }),
        costSteps: fc.bigInt({ min: 0n, max: 10n ** 24n }),
      }),
      { minLength: 1, maxLength: 6 },
    ),
  })
  .map(({ peopleCount, habits, others }) => [
    ...habits.flatMap(({ service, provider, day }, habit) =>
      Array.from({ length: peopleCount }, (_, i) => i + 1)
        .filter((person) => (person * 7 + habit) % habits.length < 3)
        .map((person) => call(person, service, provider, day)),
    ),
    ...others.map(({ person, service, provider, day, costSteps }) => ({
      ...call(peopleCount === 0 ? 0 : person % (peopleCount + 1), service, provider, day),
      costSteps,
    })),
  ])

const group = fc.constantFrom('', 'service', 'owner', 'provider', 'owner,service', 'provider,owner', 'service,provider')
const interval = fc.constantFrom('', 'interval=day', 'interval=month')
const ofOthers = fc.constantFrom('', 'filter[provider][ne]=p')
const anyQuestion = (filter: fc.Arbitrary<string>) =>
  fc
    .tuple(group, interval, ofOthers, filter)
    .map(([names, ...parts]) =>
      [names === '' ? '' : `group_by=${names}`, ...parts].filter((part) => part !== '').join('&'),
    )

test('spread amounts sum to those of the pools, to the last digit, in every group', async () => {
  let changed = 0
  await fc.assert(
    fc.asyncProperty(anyCalls, anyQuestion(fc.constant('')), async (ofAWeek, question) => {
      // Over two months, each of which is folded and spread separately.
      const calls = ofAWeek.map((each) => ({ ...each, atMs: START_MS + (each.atMs - START_MS) * 7 }))
      const before = await ask(calls, question, USAGE)
      const after = await ask(calls, `${question}&allocate=true`, USAGE)

      const total = (rows: typeof before) => rows.reduce((sum, row) => USAGE.plus(sum, row.sum), USAGE.none)
      for (const name of USAGE_AMOUNTS) expect(total(after).amounts[name]).toBe(total(before).amounts[name])
      for (const name of USAGE_COUNTS) expect(total(after).counts[name]).toBe(total(before).counts[name])
      if (question.includes('owner') || question.includes('service')) {
        if (JSON.stringify(after.map(shownUsage)) !== JSON.stringify(before.map(shownUsage))) changed++
      } else expect(after.map(shownUsage).map(amountsOf)).toEqual(before.map(shownUsage).map(amountsOf))
    }),
    { numRuns: 500 },
  )
  // Guards against a test that spreads nothing.
  expect(changed).toBeGreaterThan(50)
}, 120_000)

const amountsOf = ({ cost_usd, energy_wh }: ReturnType<typeof shownUsage>) => [cost_usd, energy_wh]

/** The calls behind each figure: those of the row, and the pools that it has shares of. */
interface Behind {
  readonly own: readonly number[]
  readonly shares: readonly (readonly number[])[]
}
const BEHIND: Measured<Behind> = {
  peopleMax: 32,
  of: (sums) => ({ own: (sums as ReportedSums).members, shares: [] }),
  none: { own: [], shares: [] },
  plus: (one, other) => ({ own: [...one.own, ...other.own], shares: [...one.shares, ...other.shares] }),
  spreading: {
    shares: ({ own }, portions) => portions.map(() => ({ own: [], shares: [own] })),
    lessAmounts: (sum, part) => ({ ...sum, own: sum.own.filter((i) => !part.own.includes(i)) }),
  },
}

test('neither shares nor their difference from a report without them reveal one to four people', async () => {
  const ofOwners = fc.constantFrom(
    '',
    'filter[owner][eq]=team-x',
    'filter[service][ne]=y',
    'filter[service][in]=x,rest',
  )
  let spread = 0
  await fc.assert(
    fc.asyncProperty(
      anyCalls,
      fc.array(anyQuestion(ofOwners), { minLength: 1, maxLength: 3 }),
      async (calls, asked) => {
        const peopleIn = (members: Iterable<number>) => new Set([...members].flatMap((i) => calls[i]?.person || []))
        if (peopleIn(calls.keys()).size < SMALL) return
        // A reader who knows the weights knows the pools behind each share.
        const answers: (readonly number[])[][] = []
        for (const question of asked) {
          answers.push((await ask(calls, question, BEHIND)).map(({ sum }) => sum.own))
          const allocated = (await ask(calls, `${question}&allocate=true`, BEHIND)).map(({ sum }) => sum)
          const pools = new Map(allocated.flatMap(({ shares }) => shares).map((members) => [members.join(), members]))
          if ([...pools.values()].some((members) => peopleIn(members).size > 0)) spread++
          answers.push([...allocated.map(({ own }) => own), ...pools.values()])
        }
        const inhabited = (members: readonly number[]) => members.filter((i) => calls[i]?.person !== 0)
        for (const figures of answers) {
          for (const figure of [...figures, figures.flat()]) {
            const whole = new Set(figure)
            for (const others of answers) {
              const taken = new Set(others.filter((other) => inhabited(other).every((i) => whole.has(i))).flat())
              const left = peopleIn(figure.filter((i) => !taken.has(i)))
              expect(left.size === 0 || left.size >= SMALL).toBe(true)
            }
          }
        }
      },
    ),
    { numRuns: 1_000 },
  )
  expect(spread).toBeGreaterThan(50)
}, 120_000)
