import fc from 'fast-check'
import { expect, test } from 'vitest'
import { type ReportQuestion, readReport } from '../../../internal/reports/question.js'
import { type Measured, reportOf, type UsageReads } from '../../../internal/reports/report.js'
import type { UsageSums } from '../../../internal/store/queries/usage.js'

/** A call: who made it (0: nobody), of which service by which provider, and in which quarter of an hour. */
interface Call {
  readonly person: number
  readonly service: string
  readonly provider: string
  readonly atMs: number
}
const SMALL = 5
const HOUR_MS = 3_600_000
const START_MS = Date.UTC(2026, 9, 5)
const TAKEN = ['group_by', 'interval', 'time_zone', 'from', 'to'] as const

/** The calls behind each figure, in place of their sums. */
const CALLS: Measured<readonly number[]> = {
  peopleMax: 32,
  of: (sums) => (sums as UsageSums & { readonly members: readonly number[] }).members,
  none: [],
  plus: (one, other) => [...one, ...other],
}

/** What the read model would answer, in days of UTC. */
function readsOf(calls: readonly Call[]): UsageReads {
  const labelsOf = ({ service, provider }: Call) => ['', service, provider, '', '', '']
  const grouped = (keyOf: (call: Call) => number, fromMs: number, toMs: number) => {
    const groups = new Map<string, { at: number; labels: string[]; members: number[]; people: number[] }>()
    for (const [i, call] of calls.entries()) {
      if (call.atMs < fromMs || call.atMs >= toMs) continue
      const at = keyOf(call)
      const key = [at, ...labelsOf(call)].join()
      const group = groups.get(key) ?? { at, labels: labelsOf(call), members: [], people: [] }
      groups.set(key, group)
      group.members.push(i)
      if (call.person > 0) group.people = [...new Set([...group.people, call.person])].sort((a, b) => a - b)
    }
    return [...groups.values()]
  }
  return {
    sums: async ({ fromMs, toMs }, interval) => {
      const lengthMs = 24 * HOUR_MS
      const begins = (atMs: number) => Math.floor(atMs / lengthMs) * lengthMs
      return grouped(({ atMs }) => (interval === undefined ? 0 : begins(atMs)), fromMs, toMs).map(
        ({ at, labels, members, people }) => ({
          bucket: interval && { fromMs: at, toMs: at + lengthMs },
          labels,
          members,
          people,
          isPooled: false,
          counts: {} as UsageSums['counts'],
          amounts: {} as UsageSums['amounts'],
        }),
      )
    },
    notPeople: () => [],
  }
}

const anyCalls: fc.Arbitrary<Call[]> = fc
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

const edge = fc.nat({ max: 252 }).map((quarter) => START_MS - 3 * HOUR_MS + quarter * (HOUR_MS / 4))
const anyQuestion = fc
  .record({
    group: fc.constantFrom('', 'service', 'provider', 'service,provider'),
    interval: fc.constantFrom('', 'day'),
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
    const read = readReport(parts.filter((part) => part !== '').join('&'), Date.now(), TAKEN)
    if (!read.ok) throw new Error(JSON.stringify(read.problem))
    return read.question
  })

async function ask(calls: readonly Call[], question: ReportQuestion) {
  const report = await reportOf('tnt_one', question, CALLS, readsOf(calls), new AbortController().signal)
  return report.rows.map(({ sum }) => sum)
}

test('groups, filters, days and periods that overlap tell of nobody alone', async () => {
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
  // Telling nothing apart would be safe too.
  expect(toldApart / answered).toBeGreaterThan(0.1)
})
