import fc from 'fast-check'
import { expect, test } from 'vitest'
import { sortedRows, sortOf, turnedSort } from '../../../../internal/console/figures/sorting.js'

const values = fc.array(fc.option(fc.bigInt(-5n, 5n)))

test('rows are sorted either way, those without a value last, equal ones in their order', () => {
  fc.assert(
    fc.property(values, fc.boolean(), (drawn, isDescending) => {
      const rows = drawn.map((value, at) => ({ value, at }))
      const sorted = sortedRows(rows, ({ value }) => value, isDescending)

      expect([...sorted].sort((one, other) => one.at - other.at)).toEqual(rows)
      sorted.slice(1).forEach((row, before) => {
        const previous = sorted[before]
        if (previous === undefined || row.value === null) return
        if (previous.value === null) throw new Error('a row without a value is before one with one')
        expect(isDescending ? previous.value >= row.value : previous.value <= row.value).toBe(true)
        if (previous.value === row.value) expect(previous.at).toBeLessThan(row.at)
      })
    }),
  )
})

test('a click sorts by the largest, the next by the smallest, and one on another column by its largest', () => {
  expect(turnedSort('-cost', 'cost')).toBe('cost')
  expect(turnedSort('cost', 'cost')).toBe('-cost')
  expect(turnedSort('cost', 'calls')).toBe('-calls')
  expect(sortOf('-calls')).toEqual({ name: 'calls', isDescending: true })
  expect(sortOf('calls')).toEqual({ name: 'calls', isDescending: false })
})
