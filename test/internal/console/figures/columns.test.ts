import fc from 'fast-check'
import { expect, test } from 'vitest'
import { costFirst, shownColumns, turned } from '../../../../internal/console/figures/columns.js'

const COLUMNS = ['calls', 'cost', 'energy', 'people'].map((name, at) => ({ name, isUsual: at < 2 }))
const namesOf = (kept: string | null) => shownColumns(COLUMNS, kept).map(({ name }) => name)

test('who has chosen nothing, or what is no column any more, sees the usual ones', () => {
  expect(namesOf(null)).toEqual(['calls', 'cost'])
  expect(namesOf('colour')).toEqual(['calls', 'cost'])
  expect(namesOf('people,colour,calls')).toEqual(['calls', 'people'])
})

test('turning a column shows or hides it alone, keeps the order of the table, and never hides the last one', () => {
  fc.assert(
    fc.property(fc.array(fc.constantFrom(...COLUMNS.map(({ name }) => name))), (turns) => {
      let kept: string | null = null
      for (const name of turns) {
        const before = namesOf(kept)
        kept = turned(COLUMNS, kept, name)
        const after = namesOf(kept)
        const expected = before.includes(name) ? before.filter((each) => each !== name) : [...before, name]
        expect(new Set(after)).toEqual(new Set(expected.length === 0 ? before : expected))
        expect(after).toEqual(COLUMNS.map((column) => column.name).filter((each) => after.includes(each)))
      }
    }),
  )
})

test('on a telephone the cost is first, and all others stay in their order', () => {
  const columns = ['people', 'calls', 'cost_usd', 'change'].map((name) => ({ name, isUsual: true }))

  expect(costFirst(columns).map(({ name }) => name)).toEqual(['cost_usd', 'people', 'calls', 'change'])
  expect(costFirst(COLUMNS)).toEqual(COLUMNS)
})
