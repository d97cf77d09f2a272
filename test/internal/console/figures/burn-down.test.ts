import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { burnDown, leftAt, markOn, thresholdsOf } from '../../../../internal/console/figures/burn-down.js'

const BUDGET = {
  ceiling_usd: '10',
  spent_usd: '11.5',
  from: '2026-11-01T00:00:00.000Z',
  as_of: '2026-11-02T12:00:00.000Z',
}
const spentIn = (to: string, cost_usd: string, folded = false) => ({ to, cost_usd, folded })

describe('the rest of a budget', () => {
  test('falls from the ceiling by each interval to what remains now, below zero too', () => {
    const figures = burnDown(BUDGET, [
      spentIn('2026-11-03T00:00:00.000Z', '8.000000000000000001'),
      spentIn('2026-11-02T00:00:00.000Z', '3.499999999999999999'),
    ])

    expect(figures.points.map(({ left }) => left)).toEqual(['10', '6.500000000000000001', '-1.5', '-1.5'])
    expect(figures.points[2]?.atMs).toBe(Date.parse(BUDGET.as_of))
    expect(figures.together).toBe('0')
  })

  test('says what was spent in intervals that are shown together', () => {
    const figures = burnDown(BUDGET, [
      spentIn('2026-11-02T00:00:00.000Z', '3'),
      spentIn('2026-12-01T00:00:00.000Z', '8.5', true),
    ])

    expect(figures.points.map(({ left }) => left)).toEqual(['10', '7', '-1.5'])
    expect(figures.together).toBe('8.5')
  })

  test('is exact at a threshold', () => {
    expect([75, 100, 150].map((percent) => leftAt('0.04', percent))).toEqual(['0.01', '0', '-0.02'])
  })
})

describe('a mark', () => {
  const points = [
    { atMs: 0, left: '10' },
    { atMs: 100, left: '6' },
    { atMs: 200, left: '-2' },
  ]

  test('lies where the line reaches the level, not where its event was told', () => {
    expect(markOn(points, '8', 170)).toEqual({ atMs: 50, left: 8 })
    expect(markOn(points, '0', undefined)).toEqual({ atMs: 175, left: 0 })
  })

  test('lies on the line at the time of the event, where a correction has raised the line above the level', () => {
    expect(markOn(points, '-5', 150)).toEqual({ atMs: 150, left: 2 })
    expect(markOn(points, '-5', 900)).toEqual({ atMs: 200, left: -2 })
    expect(markOn(points, '-5', undefined)).toBeUndefined()
  })

  test('is never off the line', () => {
    const lefts = fc.array(fc.integer({ min: -50, max: 99 }), { minLength: 1, maxLength: 8 })
    fc.assert(
      fc.property(lefts, fc.integer({ min: -60, max: 99 }), fc.nat(1_000), (later, level, toldMs) => {
        const line = [100, ...later].map((left, i) => ({ atMs: i * 100, left: String(left) }))
        const { atMs, left } = markOn(line, String(level), toldMs) ?? { atMs: -1, left: 0 }
        const which = Math.min(line.length - 2, Math.floor(atMs / 100))
        const [from, to] = [100, ...later].slice(which, which + 2) as [number, number]
        expect(left).toBeCloseTo(from + ((atMs - which * 100) / 100) * (to - from), 6)
        if (later.some((each) => each <= level)) expect(left).toBeLessThanOrEqual(level + 1e-9)
      }),
    )
  })
})

test('thresholds are read as people type them', () => {
  expect(thresholdsOf('100, 75 %; 75')).toEqual([75, 100])
  expect(thresholdsOf('')).toEqual([])
  expect(thresholdsOf('half')).toBeUndefined()
})
