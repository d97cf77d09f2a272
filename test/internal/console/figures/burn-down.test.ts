import { describe, expect, test } from 'vitest'
import { burnDown, leftAt, thresholdsOf } from '../../../../internal/console/figures/burn-down.js'

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

test('thresholds are read as people type them', () => {
  expect(thresholdsOf('100, 75 %; 75')).toEqual([75, 100])
  expect(thresholdsOf('')).toEqual([])
  expect(thresholdsOf('half')).toBeUndefined()
})
