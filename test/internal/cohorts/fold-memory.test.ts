import fc from 'fast-check'
import { expect, test } from 'vitest'
import { TooMuchToFold } from '../../../internal/cohorts/cell-split.js'
import { createFoldMemory, type FoldMemory, foldKeyOf } from '../../../internal/cohorts/fold-memory.js'
import { peopleOf } from '../../../internal/cohorts/people.js'
import { type Cell, foldInSteps, type Rollups } from '../../../internal/cohorts/rollups.js'

const DIMENSIONS = 3

const label = fc.constantFrom('x', 'y', 'z')
const anyCells: fc.Arbitrary<Cell[]> = fc.uniqueArray(
  fc.record({
    values: fc.tuple(label, label, label),
    people: fc.uniqueArray(fc.nat({ max: 40 }), { minLength: 1, maxLength: 12 }).map(peopleOf),
  }),
  { selector: ({ values }) => values.join(), minLength: 1, maxLength: 20 },
)

function fold(cells: readonly Cell[], memory: FoldMemory): { rollups: Rollups; steps: number } {
  const folding = foldInSteps(cells, DIMENSIONS, memory)
  for (let steps = 0; ; steps++) {
    const step = folding.next()
    if (step.done) return { rollups: step.value, steps }
  }
}

const toldBy = ({ isShown, isSafe }: Rollups, cells: readonly Cell[]) => [
  ...cells.flatMap(({ values }) => Array.from({ length: 1 << DIMENSIONS }, (_, set) => isShown(set, values))),
  ...cells.map(({ values }) => isSafe([values])),
  isSafe(cells.slice(1).map(({ values }) => values)),
]

test('a folded lattice is reused for the same cells in any order, without folding again', () => {
  fc.assert(
    fc.property(anyCells, (cells) => {
      const memory = createFoldMemory()
      const first = fold(cells, memory)
      const again = fold(cells.toReversed(), memory)

      expect(toldBy(again.rollups, cells)).toEqual(toldBy(first.rollups, cells))
      expect(again.steps).toBeLessThan(first.steps)
    }),
    { numRuns: 300 },
  )
})

test('other people, other values and other dimensions are folded separately', () => {
  const cells: Cell[] = [{ values: ['x', 'y'], people: [1, 2, 3] }]

  const keys = [
    foldKeyOf(cells, 2),
    foldKeyOf(cells, 3),
    foldKeyOf([{ values: ['x', 'y'], people: [1, 2] }], 2),
    foldKeyOf([{ values: ['x,y', ''], people: [1, 2, 3] }], 2),
    foldKeyOf([...cells, ...cells], 2),
  ]

  expect(new Set(keys).size).toBe(keys.length)
})

test('the fold memory evicts the least recently used entry', () => {
  const memory = createFoldMemory(2_500)
  const fold = [new Uint8Array(800)]
  memory.set('one', fold)
  memory.set('two', fold)
  memory.get('one')
  memory.set('three', fold)

  expect(['one', 'two', 'three'].map((key) => memory.get(key) === fold)).toEqual([true, false, true])
})

test('the fold memory also remembers that folding took too long', () => {
  const cells: Cell[] = [{ values: ['x', 'y', 'z'], people: [1, 2, 3, 4, 5] }]
  const memory = createFoldMemory()
  memory.set(foldKeyOf(cells, DIMENSIONS), 'too much')

  expect(() => fold(cells, memory)).toThrow(TooMuchToFold)
})
