import { expect, test } from 'vitest'
import { marksByInterval } from '../../../../internal/console/figures/mark-places.js'
import type { Mark } from '../../../../internal/console/figures/marks.js'

const mark = (atMs: number, text: string): Mark => ({ atMs, kind: 'annotation', text })

test('marks are at the interval in which they happened, in their order; others are left out', () => {
  const placed = marksByInterval(
    [mark(15, 'b'), mark(11, 'a'), mark(0, 'first'), mark(30, 'after'), mark(-1, 'before')],
    [0, 10, 20],
    30,
  )

  expect([...placed].map(([at, marks]) => [at, marks.map(({ text }) => text)])).toEqual([
    [0, ['first']],
    [1, ['a', 'b']],
  ])
})
