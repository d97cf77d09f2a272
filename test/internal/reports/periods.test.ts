import fc from 'fast-check'
import { expect, test } from 'vitest'
import { readQuestion } from '../../../internal/reports/kinds.js'
import type { Measured } from '../../../internal/reports/parts.js'
import type { ReportQuestion } from '../../../internal/reports/question.js'
import { reportOf } from '../../../internal/reports/report.js'
import { type ReportedCall, type ReportedSums, reportReads } from '../../support/report-reads.js'

const SMALL = 5
const HOUR_MS = 3_600_000
const START_MS = Date.UTC(2026, 9, 5)

/** The calls behind each figure, in place of their sums. */
const CALLS: Measured<readonly number[]> = {
  peopleMax: 32,
  of: (sums) => (sums as ReportedSums).members,
  none: [],
  plus: (one, other) => [...one, ...other],
}

const anyCalls: fc.Arbitrary<ReportedCall[]> = fc
  .record({
    peopleCount: fc.integer({ min: 5, max: 24 }),
    habits: fc.array(
      fc.record({ service: fc.constantFrom('x', 'y'), provider: fc.constantFrom('p', 'q'), hour: fc.nat({ max: 60 }) }),
      {
        minLength: 1,
        maxLength: 6,
      },
    ),
    others: fc.array(
      fc.record({
        person: fc.nat({ max: 24 }),
        service: fc.constantFrom('x', 'y'),
        provider: fc.constantFrom('p', 'q'),
        quarter: fc.nat({ max: 240 }),
      }),
      { maxLength: 10 },
    ),
  })
  .map(({ peopleCount, habits, others }) => [
    ...habits.flatMap(({ service, provider, hour }, habit) =>
      Array.from({ length: peopleCount }, (_, i) => i + 1)
        .filter((person) => (person * 7 + habit) % habits.length < 2)
        .map((person) => ({ person, service, provider, atMs: START_MS + hour * HOUR_MS })),
    ),
    ...others.map(({ person, quarter, ...rest }) => ({
      ...rest,
      person: person % (peopleCount + 1),
      atMs: START_MS + quarter * (HOUR_MS / 4),
    })),
  ])

const usage = (query: string): ReportQuestion => {
  const read = readQuestion('usage', query, Date.now())
  if (!read.ok) throw new Error(JSON.stringify(read.problem))
  return read.question
}

const edge = fc.nat({ max: 252 }).map((quarter) => START_MS - 3 * HOUR_MS + quarter * (HOUR_MS / 4))
const anyQuestion = fc
  .record({
    group: fc.constantFrom('', 'service', 'provider', 'service,provider'),
    interval: fc.constantFrom('', 'day', 'month'),
    edges: fc.uniqueArray(edge, { minLength: 2, maxLength: 2 }),
    filter: fc.constantFrom('', 'filter[service][eq]=x', 'filter[provider][ne]=p'),
  })
  .map(({ group, interval, edges, filter }) => {
    const [from = 0, to = 0] = [...edges].sort((a, b) => a - b)
    const parts = [
      group === '' ? '' : `group_by=${group}`,
      interval === '' ? '' : `interval=${interval}`,
      `from=${new Date(from).toISOString()}`,
      `to=${new Date(to).toISOString()}`,
      filter,
    ]
    return usage(parts.filter((part) => part !== '').join('&'))
  })

async function ask(calls: readonly ReportedCall[], question: ReportQuestion) {
  const report = await reportOf('tnt_one', question, CALLS, reportReads(calls), new AbortController().signal)
  return report.rows.map(({ sum }) => sum)
}

test('overlapping groups, filters, days, months and periods reveal no individual people', async () => {
  let toldApart = 0
  let answered = 0
  await fc.assert(
    fc.asyncProperty(anyCalls, fc.array(anyQuestion, { minLength: 2, maxLength: 5 }), async (calls, questions) => {
      const peopleIn = (members: Iterable<number>) => new Set([...members].flatMap((i) => calls[i]?.person || []))
      if (peopleIn(calls.keys()).size < SMALL) return
      const answers = await Promise.all(questions.map((question) => ask(calls, question)))
      const inhabited = (members: readonly number[]) => members.filter((i) => calls[i]?.person !== 0)
      for (const rows of answers) {
        answered++
        if (rows.filter((row) => peopleIn(row).size > 0).length > 1) toldApart++
        for (const row of [...rows, rows.flat()]) {
          const whole = new Set(row)
          for (const others of answers) {
            const taken = new Set(others.filter((other) => inhabited(other).every((i) => whole.has(i))).flat())
            const left = peopleIn(row.filter((i) => !taken.has(i)))
            expect(left.size === 0 || left.size >= SMALL).toBe(true)
          }
        }
      }
    }),
    { numRuns: 400 },
  )
  // Guards against a test in which no report distinguishes any groups.
  expect(toldApart / answered).toBeGreaterThan(0.1)
})

test('a report by week covers whole weeks, even if the period contains only a part', async () => {
  const call = (person: number, day: string) => ({ person, service: 'x', provider: 'p', atMs: Date.parse(day) })
  const calls = [1, 2, 3, 4, 5].map((person) => call(person, '2026-11-30')).concat(call(6, '2026-12-02'))
  const reads = reportReads(calls)

  for (const period of [
    'from=2026-11-01&to=2026-12-01',
    'from=2026-12-01&to=2027-01-01',
    'from=2026-12-02&to=2026-12-03',
  ]) {
    const { rows } = await reportOf(
      'tnt_one',
      usage(`${period}&interval=week`),
      CALLS,
      reads,
      new AbortController().signal,
    )
    expect([period, rows.map(({ fromMs, sum }) => [new Date(fromMs).toISOString(), sum.length])]).toEqual([
      period,
      [['2026-11-30T00:00:00.000Z', 6]],
    ])
  }
})

test('a report by month shows the same groups as a report without an interval', async () => {
  const call = (person: number, at: string, service: string, provider: string) => ({
    person,
    service,
    provider,
    atMs: Date.parse(`2026-11-${at}`),
  })
  const people = (first: number, last: number) => Array.from({ length: last - first + 1 }, (_, i) => first + i)
  const calls = [
    ...people(1, 7).map((person) => call(person, '02', 'y', 'q')),
    ...people(10, 19).map((person) => call(person, '02', 'x', 'p')),
    call(2, '02', 'y', 'p'),
    ...people(1, 3).map(() => call(4, '04', 'y', 'q')),
    call(12, '04', 'y', 'p'),
  ]
  const shown = async (query: string) => {
    const question = usage(`from=2026-11-01&to=2026-12-01&group_by=service${query}`)
    const { rows } = await reportOf('tnt_one', question, CALLS, reportReads(calls), new AbortController().signal)
    return rows.map(({ labels, isFolded, sum }) => ({ labels, isFolded, sum }))
  }

  expect(await shown('&interval=month')).toEqual(await shown(''))
})

test('a report by month has a row per month, which covers the whole month if people appear', async () => {
  const calls = [10, 11].flatMap((month) =>
    [1, 2, 3, 4, 5].map((person) => ({ person, service: 'x', provider: 'p', atMs: Date.UTC(2026, month, person) })),
  )
  const asked = async (some: typeof calls) => {
    const question = usage('from=2026-11-03&to=2026-12-04&interval=month&group_by=service')
    const { rows, period } = await reportOf('tnt_one', question, CALLS, reportReads(some), new AbortController().signal)
    const isoOf = (ms: number): string => new Date(ms).toISOString().slice(0, 10)
    return [
      [isoOf(period.fromMs), isoOf(period.toMs)],
      ...rows.map(({ fromMs, toMs, labels, sum }) => [isoOf(fromMs), isoOf(toMs), labels['service'], sum.length]),
    ]
  }

  expect(await asked(calls)).toEqual([
    ['2026-11-01', '2027-01-01'],
    ['2026-11-01', '2026-12-01', 'x', 5],
    ['2026-12-01', '2027-01-01', 'x', 5],
  ])
  expect(await asked(calls.map((one) => ({ ...one, person: 0 })))).toEqual([
    ['2026-11-03', '2026-12-04'],
    ['2026-11-01', '2026-12-01', 'x', 3],
    ['2026-12-01', '2027-01-01', 'x', 3],
  ])
})
