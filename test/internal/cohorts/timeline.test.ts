import fc from 'fast-check'
import { expect, test } from 'vitest'
import { type People, peopleOf, unionOf } from '../../../internal/cohorts/people.js'
import { isCut, type Slot } from '../../../internal/cohorts/timeline.js'

const HOUR_MS = 60 * 60 * 1000
const START_MS = Date.UTC(2026, 10, 1)
const at = (hour: number): number => START_MS + hour * HOUR_MS
const slot = (hour: number, people: readonly number[]): Slot => ({
  startMs: at(hour),
  endMs: at(hour + 1),
  people: peopleOf(people),
})

test('a period that ends between two busy hours is told of', () => {
  const slots = [slot(9, [1, 2, 3, 4, 5]), slot(10, [1, 2, 3, 4, 6])]

  expect(isCut(slots, { fromMs: at(0), toMs: at(10) })).toBe(false)
})

test('a period that parts four people from the rest is not', () => {
  const slots = [slot(9, [1, 2, 3, 4, 5]), slot(10, [6, 7])]

  expect(isCut(slots, { fromMs: at(0), toMs: at(10) })).toBe(true)
  expect(isCut(slots, { fromMs: at(0), toMs: at(11) })).toBe(false)
  expect(isCut(slots, { fromMs: at(10), toMs: at(11) })).toBe(true)
})

test('hours in which nobody appears may be cut anywhere', () => {
  const slots = [slot(9, [1, 2, 3, 4, 5]), slot(33, [1, 2, 3, 4, 6])]

  for (const hour of [10, 17, 24, 33]) expect(isCut(slots, { fromMs: at(0), toMs: at(hour) })).toBe(false)
})

test('a month in which one to four people appear is told of in no period that touches it', () => {
  const slots = [slot(9, [1, 2]), slot(30 * 24 + 2, [1, 2, 3, 4, 5])]

  expect(isCut(slots, { fromMs: at(0), toMs: at(31 * 24) })).toBe(true)
  expect(isCut(slots, { fromMs: at(30 * 24), toMs: at(31 * 24) })).toBe(false)
})

const anySlots = fc
  .uniqueArray(
    fc.tuple(
      fc.integer({ min: 0, max: 70 }),
      fc.array(fc.integer({ min: 1, max: 12 }), { minLength: 1, maxLength: 7 }),
    ),
    {
      selector: ([hour]) => hour,
      maxLength: 25,
    },
  )
  .map((slots) => slots.sort(([one], [other]) => one - other).map(([hour, people]) => slot(hour, people)))
const anyPeriod = fc
  .tuple(fc.integer({ min: 0, max: 71 }), fc.integer({ min: 0, max: 71 }))
  .map(([one, other]) => ({ fromMs: at(Math.min(one, other)), toMs: at(Math.max(one, other)) }))

test('the difference of two periods that are told of is nobody, or five people and more', () => {
  fc.assert(
    fc.property(anySlots, anyPeriod, anyPeriod, (slots, one, other) => {
      if (isCut(slots, one) || isCut(slots, other)) return
      const isIn = ({ startMs }: Slot, { fromMs, toMs }: typeof one) => startMs >= fromMs && startMs < toMs
      const whoIsIn = (holds: (slot: Slot) => boolean): People =>
        unionOf(slots.filter(holds).map(({ people }) => people))
      const isWithin = slots.every((each) => !isIn(each, other) || isIn(each, one))
      const left = whoIsIn((each) => isIn(each, one) && !isIn(each, other)).length
      if (isWithin) expect(left === 0 || left >= 5).toBe(true)
      const all = whoIsIn((each) => isIn(each, one)).length
      expect(all === 0 || all >= 5).toBe(true)
    }),
    { numRuns: 5_000 },
  )
})
