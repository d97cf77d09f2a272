import fc from 'fast-check'
import { expect, test } from 'vitest'
import { peopleOf } from '../../../internal/cohorts/people.js'
import { foldRollups } from '../../../internal/cohorts/rollups.js'
import { type Choice, rowsOf } from '../../../internal/cohorts/rows.js'

/** A call: who made it (0: nobody), and its values in three dimensions. */
interface Call {
  readonly person: number
  readonly values: readonly string[]
}
const DIMENSIONS = 3
const SMALL = 5

type Calls = readonly number[]
const SUMS = { none: [] as Calls, plus: (one: Calls, other: Calls): Calls => [...one, ...other] }

interface Question {
  readonly groupBy: readonly number[]
  readonly filters: readonly {
    readonly dimension: number
    readonly operator: 'in' | 'ne'
    readonly values: readonly string[]
  }[]
}

/** What an attacker gets: the calls behind each figure. */
function ask(calls: readonly Call[], { groupBy, filters }: Question): Calls[] {
  const byCell = new Map<string, number[]>()
  for (const [i, { values }] of calls.entries()) byCell.set(values.join(), [...(byCell.get(values.join()) ?? []), i])
  const cells = [...byCell].map(([key, members]) => ({
    values: key.split(','),
    people: peopleOf(members.flatMap((i) => calls[i]?.person || [])),
    sum: members,
  }))
  const inhabited = cells.filter(({ people }) => people.length > 0)
  const rollups = foldRollups(inhabited, DIMENSIONS)
  const choices: Choice[] = filters.map(({ dimension, operator, values }) => ({
    dimension,
    holds: (value) => values.includes(value) === (operator === 'in'),
  }))
  return rowsOf(cells, rollups, groupBy, choices, SUMS).rows.map(({ sum }) => sum)
}

const LABELS = ['x', 'y', 'z'] as const
const label = fc.constantFrom(...LABELS)

/**
 * Calls as companies have them: people who mostly do as their kind does, and sometimes something else; and calls that
 * nobody made.
 */
const anyCalls: fc.Arbitrary<Call[]> = fc
  .record({
    peopleCount: fc.integer({ min: 5, max: 30 }),
    kinds: fc.array(fc.tuple(label, label, label), { minLength: 1, maxLength: 5 }),
    others: fc.array(fc.record({ person: fc.nat({ max: 30 }), values: fc.tuple(label, label, label) }), {
      maxLength: 12,
    }),
    habits: fc.array(fc.tuple(fc.nat(), fc.nat()), { maxLength: 30 }),
  })
  .map(({ peopleCount, kinds, others, habits }) => {
    const usual = Array.from({ length: peopleCount }, (_, i) => ({
      person: i + 1,
      values: kinds[i % kinds.length] as [string, string, string],
    }))
    const further = habits.map(([person, kind]) => ({
      person: (person % peopleCount) + 1,
      values: kinds[kind % kinds.length] as [string, string, string],
    }))
    return [...usual, ...further, ...others.map((call) => ({ ...call, person: call.person % (peopleCount + 1) }))]
  })

const anyQuestion: fc.Arbitrary<Question> = fc.record({
  groupBy: fc.uniqueArray(fc.integer({ min: 0, max: DIMENSIONS - 1 })),
  filters: fc.uniqueArray(
    fc.record({
      dimension: fc.integer({ min: 0, max: DIMENSIONS - 1 }),
      operator: fc.constantFrom('in' as const, 'ne' as const),
      values: fc.uniqueArray(label, { minLength: 1, maxLength: 2 }),
    }),
    { selector: ({ dimension }) => dimension },
  ),
})

test('the difference of two answers never covers one to four people', () => {
  let toldApart = 0
  let answered = 0
  fc.assert(
    fc.property(anyCalls, fc.array(anyQuestion, { minLength: 2, maxLength: 6 }), (calls, questions) => {
      const peopleIn = (members: Calls) => new Set(members.flatMap((i) => calls[i]?.person || []))
      if (peopleIn(calls.map((_, i) => i)).size < SMALL) return
      const answers = questions.map((question) => ask(calls, question))
      for (const rows of answers) {
        answered++
        if (rows.filter((row) => peopleIn(row).size > 0).length > 1) toldApart++
        for (const row of [...rows, rows.flat()]) {
          const whole = new Set(row)
          for (const others of answers) {
            const inhabited = (members: Calls) => members.filter((i) => calls[i]?.person !== 0)
            const within = others.filter((other) => inhabited(other).every((i) => whole.has(i)))
            const taken = new Set(within.flat())
            const left = peopleIn(row.filter((i) => !taken.has(i)))
            expect(left.size === 0 || left.size >= SMALL).toBe(true)
          }
        }
      }
    }),
    { numRuns: 1_000 },
  )
  // Hiding everything would be safe too.
  expect(toldApart / answered).toBeGreaterThan(0.2)
})
