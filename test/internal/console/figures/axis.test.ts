import fc from 'fast-check'
import { expect, test } from 'vitest'
import {
  intervalAt,
  labelPx,
  labelsThatFit,
  slotAt,
  slotPx,
  ticksOf,
} from '../../../../internal/console/figures/axis.js'

const amount = fc.double({ min: 1e-9, max: 1e9, noNaN: true })

test('ticks are around what is shown, evenly apart, few, and zero is one of them', () => {
  fc.assert(
    fc.property(amount, fc.oneof(fc.constant(0), amount), (highest, below) => {
      const ticks = ticksOf(-below, highest)
      const step = (ticks[1] ?? 0) - (ticks[0] ?? 0)

      expect(ticks[0]).toBeLessThanOrEqual(-below + step * 1e-6)
      expect(ticks.at(-1)).toBeGreaterThanOrEqual(highest - step * 1e-6)
      expect(ticks.some((tick) => tick === 0)).toBe(true)
      expect(ticks.length).toBeLessThanOrEqual(8)
      expect(Number(step.toPrecision(1))).toBeCloseTo(step, 12)
    }),
  )
})

test('an axis of nothing has a line above zero', () => {
  expect(ticksOf(0, 0)).toEqual([0, 1])
})

test('a sum of floats that is a little more than its parts needs no further line', () => {
  expect(ticksOf(0, 0.1 + 0.2 + 0.7000000000000002)).toEqual([0, 0.5, 1])
})

const slots = fc.record({
  count: fc.integer({ min: 1, max: 100 }),
  leftPx: fc.nat(100),
  widthPx: fc.integer({ min: 320, max: 1_900 }),
})

test('no label is cut or overlaps another, and one is there', () => {
  fc.assert(
    fc.property(slots, fc.array(fc.string({ maxLength: 14 }), { minLength: 100, maxLength: 100 }), (drawn, texts) => {
      const own = texts.slice(0, drawn.count)
      const placed = labelsThatFit(own, drawn)
      const ends = placed.map(({ at, xPx }) => {
        const half = labelPx(own[at] ?? '') / 2
        return [xPx - half, xPx + half] as const
      })

      expect(placed.length).toBeGreaterThan(0)
      for (const [from, to] of ends) {
        expect(from).toBeGreaterThanOrEqual(-1e-9)
        expect(to).toBeLessThanOrEqual(drawn.widthPx + 1e-9)
      }
      for (const [at, [from]] of ends.entries()) if (at > 0) expect(from).toBeGreaterThanOrEqual(ends[at - 1]?.[1] ?? 0)
    }),
  )
})

test('each place is in the slot that is drawn there', () => {
  fc.assert(
    fc.property(slots, fc.nat(), (drawn, n) => {
      const at = n % drawn.count

      expect(slotAt(drawn, drawn.leftPx + (at + 0.5) * slotPx(drawn))).toBe(at)
    }),
  )
  expect(slotAt({ count: 3, leftPx: 50, widthPx: 350 }, 0)).toBe(0)
  expect(slotAt({ count: 3, leftPx: 50, widthPx: 350 }, 400)).toBe(2)
})

test('an instant is in the interval that began last, and in none outside of the period', () => {
  expect([-1, 0, 9, 10, 29, 30].map((ms) => intervalAt([0, 10, 20], 30, ms))).toEqual([
    undefined,
    0,
    0,
    1,
    2,
    undefined,
  ])
})
