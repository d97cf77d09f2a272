import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type FilterCell, holdingFilters } from '../../../internal/cohorts/holding-filters.js'
import { drawn } from '../../support/run/rings.js'

const K = 5
type Field = 'service' | 'provider'
interface Call {
  readonly service: string
  readonly provider: string
  /** 0 is nobody. */
  readonly person: number
  readonly cost: number
}
interface Filter {
  readonly field: Field
  readonly operator: 'in' | 'ne'
  readonly values: readonly string[]
}

const matches = (call: Call, { field, operator, values }: Filter): boolean =>
  values.includes(call[field]) === (operator === 'in')

const groupedBy = (calls: readonly Call[], keyOf: (call: Call) => string): ReadonlyMap<string, readonly Call[]> => {
  const groups = new Map<string, Call[]>()
  for (const call of calls) groups.set(keyOf(call), [...(groups.get(keyOf(call)) ?? []), call])
  return groups
}
const cellsOf = (calls: readonly Call[], filters: readonly Filter[]): FilterCell[] => {
  const byKey = groupedBy(calls, ({ service, provider }) => `${service} ${provider}`)
  return [...byKey.values()].map((of) => ({
    values: filters.map(({ field }) => of[0]?.[field] ?? ''),
    matches: filters.map((filter) => matches(of[0] as Call, filter)),
    few: [...new Set(of.filter(({ person }) => person > 0).map(({ person }) => String(person)))].slice(0, K),
    cost: BigInt(of.reduce((sum, { cost }) => sum + cost, 0)),
  }))
}
const isAnswered = (calls: readonly Call[], filters: readonly Filter[]): boolean =>
  holdingFilters(cellsOf(calls, filters), filters.length, K) === filters.length
const isFew = (calls: readonly Call[]): boolean => {
  const people = new Set(calls.filter(({ person }) => person > 0).map(({ person }) => person)).size
  return people > 0 && people < K
}

const callsDrawn = fc.array(
  fc.record({
    service: fc.constantFrom('a', 'b', 'c', 'd'),
    provider: fc.constantFrom('x', 'y', 'z'),
    person: fc.oneof(fc.integer({ min: 0, max: 30 }), fc.integer({ min: 0, max: 8 })),
    cost: fc.integer({ min: 0, max: 3 }),
  }),
  { minLength: 1, maxLength: 60 },
)
const filterOn = (field: Field, values: readonly string[]) =>
  fc.record({
    field: fc.constant(field),
    operator: fc.constantFrom('in' as const, 'ne' as const),
    values: fc.subarray([...values], { minLength: 1 }),
  })
const ofService = filterOn('service', ['a', 'b', 'c', 'd', 'unknown'])
const ofProvider = filterOn('provider', ['x', 'y', 'z'])

describe('filters', () => {
  test('that leave out one person do not hold, as those that select one', () => {
    const calls = [1, 2, 3, 4, 5, 6].map((person) => ({ service: 'a', provider: 'x', person, cost: 1 }))
    const ada = { service: 'b', provider: 'x', person: 9, cost: 1 }
    const others = [1, 2, 3, 4, 5].map((person) => ({ service: 'c', provider: 'x', person, cost: 9 }))
    const all = [...calls, ...others, ada]
    const of = (operator: 'in' | 'ne', ...values: string[]): Filter => ({ field: 'service', operator, values })

    expect(isAnswered(all, [of('in', 'b')])).toBe(false)
    expect(isAnswered(all, [of('ne', 'b')])).toBe(false)
    expect(isAnswered(all, [of('in', 'a', 'c')])).toBe(false)
    expect(isAnswered(all, [of('in', 'c')])).toBe(true)
    expect(isAnswered(all, [of('ne', 'c')])).toBe(true)
    // The grouping by service has one row of a and b: their difference would be Ada.
    expect(isAnswered(all, [of('in', 'a')])).toBe(false)
    expect(isAnswered([...calls, ...others], [of('in', 'a')])).toBe(true)
  })

  test('are dropped from the last on, until the others hold', () => {
    const calls = [1, 2, 3, 4, 5, 6].flatMap((person) => [
      { service: 'a', provider: 'x', person, cost: 1 },
      { service: 'c', provider: 'y', person: person + 10, cost: 1 },
    ])
    const filters: Filter[] = [
      { field: 'provider', operator: 'in', values: ['x'] },
      { field: 'service', operator: 'ne', values: ['b'] },
    ]
    const ada = { service: 'b', provider: 'x', person: 9, cost: 1 }

    expect(holdingFilters(cellsOf(calls, filters), 2, K)).toBe(2)
    expect(holdingFilters(cellsOf([...calls, ada], filters), 2, K)).toBe(1)
  })

  test('of one field that are answered cannot be combined to fewer than five people, however many are asked', () => {
    fc.assert(
      fc.property(callsDrawn, fc.array(ofService, { minLength: 1, maxLength: 12 }), (calls, asked) => {
        const answered = asked.filter((filter) => isAnswered(calls, [filter]))

        // Sums and differences of answers are sums over calls that the same answers contain.
        const atoms = groupedBy(calls, (call) => answered.map((filter) => matches(call, filter)).join())
        const isOfFew = isFew(calls)
        expect([...atoms.values()].filter(isFew)).toEqual(isOfFew ? [calls] : [])
      }),
      { numRuns: drawn(500) },
    )
  })

  test('of two fields that are answered cannot be combined with the answers to each', () => {
    fc.assert(
      fc.property(callsDrawn, ofService, ofProvider, (calls, one, other) => {
        const isBoth = isAnswered(calls, [one, other])
        const answered = isBoth ? [one, other] : [one, other].filter((filter) => isAnswered(calls, [filter]))

        if (!isBoth) return
        expect(isAnswered(calls, [other, one])).toBe(true)
        const atoms = groupedBy(calls, (call) => answered.map((filter) => matches(call, filter)).join())
        expect([...atoms.values()].filter(isFew)).toEqual([])
      }),
      { numRuns: drawn(500) },
    )
  })

  test('that nobody matches, of a tenant of many, hold', () => {
    const calls = [1, 2, 3, 4, 5].map((person) => ({ service: 'a', provider: 'x', person, cost: 1 }))

    expect(isAnswered(calls, [{ field: 'service', operator: 'in', values: ['unknown'] }])).toBe(true)
    expect(isAnswered([], [{ field: 'service', operator: 'in', values: ['a'] }])).toBe(true)
  })
})
