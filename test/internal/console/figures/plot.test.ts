import fc from 'fast-check'
import { expect, test } from 'vitest'
import { FORMS, formOf, rangeOf, runsOf, spansOf } from '../../../../internal/console/figures/plot.js'
import type { Bar, Stack } from '../../../../internal/console/figures/stack.js'

const bar = (parts: readonly (string | undefined)[]): Bar => ({
  fromMs: 0,
  toMs: 1,
  total: '0',
  parts,
  isHidden: false,
})
const stack = (...bars: Bar[]): Stack => ({ series: [], bars, total: '0', together: '0' })
const amounts = fc.integer({ min: -500, max: 500 }).map(String)

test('parts above zero stand upon each other, those below hang from it; a share is of what is above', () => {
  const parts = bar(['3', '-1', undefined, '1', '0'])

  expect(spansOf(parts, 'bars')).toEqual([[0, 3], [0, -1], undefined, [3, 4], undefined])
  expect(spansOf(parts, 'share')).toEqual([[0, 0.75], [0, -0.25], undefined, [0.75, 1], undefined])
  expect(spansOf(bar(['0', '-2']), 'share')).toEqual([undefined, undefined])
})

test('parts do not overlap, and every form shows all of them within its range', () => {
  fc.assert(
    fc.property(fc.array(amounts, { minLength: 1, maxLength: 9 }), fc.constantFrom(...FORMS), (parts, form) => {
      const drawn = bar(parts)
      const [lowest, highest] = rangeOf(stack(drawn), form)
      const spans = spansOf(drawn, form === 'lines' ? 'bars' : form).flatMap((span) => span ?? [])
      const ends = form === 'lines' ? parts.map(Number) : spans
      for (const end of ends) {
        expect(end).toBeGreaterThanOrEqual(lowest - 1e-9)
        expect(end).toBeLessThanOrEqual(highest + 1e-9)
      }
      const lengths = spansOf(drawn, 'bars').map((span) => (span === undefined ? 0 : Math.abs(span[1] - span[0])))
      expect(lengths).toEqual(parts.map((part) => Math.abs(Number(part))))
    }),
  )
})

test('a line breaks where its amount is not known', () => {
  const runs = runsOf(stack(bar(['1']), bar(['2']), bar([undefined]), bar(['0'])), 0)

  expect(runs.map((run) => run.map(({ amount }) => amount))).toEqual([[1, 2], [0]])
})

test('a form that no chart has is that of bars', () => {
  expect([formOf('share'), formOf('pie'), formOf(null)]).toEqual(['share', 'bars', 'bars'])
})
