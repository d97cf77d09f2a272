import { expect, test } from 'vitest'
import { type People, peopleOf } from '../../../internal/cohorts/people.js'
import { type Cell, foldRollups } from '../../../internal/cohorts/rollups.js'

const [SERVICE, MODEL] = [0b01, 0b10]

/** People from one number to another. */
const from = (first: number, last: number): People =>
  peopleOf(Array.from({ length: last - first + 1 }, (_, i) => first + i))
const cell = (service: string, model: string, people: People): Cell => ({ values: [service, model], people })

test('a group of one to four people is hidden, and the next smallest with it', () => {
  const rollups = foldRollups([cell('a', 'm', from(1, 6)), cell('b', 'm', from(7, 9)), cell('c', 'm', from(10, 16))], 2)

  expect(['a', 'b', 'c'].map((service) => rollups.isShown(SERVICE, [service, '']))).toEqual([false, false, true])
  expect(rollups.isShown(MODEL, ['', 'm'])).toBe(true)
})

test('two rollups of the same calls cannot be combined to reveal a small group', () => {
  // Without b's two people, the model m is just what service a calls.
  const cells = [
    cell('a', 'm', from(1, 8)),
    cell('b', 'm', from(9, 10)),
    cell('b', 'n', from(11, 20)),
    cell('c', 'n', from(21, 30)),
  ]

  const rollups = foldRollups(cells, 2)

  const isToldApart = rollups.isShown(SERVICE, ['a', '']) && rollups.isShown(MODEL, ['', 'm'])
  expect(isToldApart).toBe(false)
})

test('in a root of fewer than five people every group is hidden, and the root is not', () => {
  const rollups = foldRollups([cell('a', 'm', from(1, 3))], 2)

  expect(rollups.isShown(SERVICE, ['a', 'm'])).toBe(false)
  expect(rollups.isShown(MODEL, ['a', 'm'])).toBe(false)
  expect(rollups.isShown(0, [])).toBe(true)
})

test('a group in which nobody appears is shown', () => {
  expect(foldRollups([cell('a', 'm', from(1, 9))], 2).isShown(SERVICE, ['job', ''])).toBe(true)
})
