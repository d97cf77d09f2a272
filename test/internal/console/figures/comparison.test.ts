import { expect, test } from 'vitest'
import { comparisonParams } from '../../../../internal/console/figures/comparison.js'

const ZONE = 'Europe/Berlin'
const NOVEMBER = { fromMs: Date.UTC(2026, 9, 31, 23), toMs: Date.UTC(2026, 10, 30, 23) }
const PREVIOUS = { compare: 'previous' }

test.each([
  [null, PREVIOUS],
  ['', PREVIOUS],
  ['last-tuesday', PREVIOUS],
  // Clocks go back in October.
  ['month', { compare_from: '2026-09-30T22:00:00.000Z', compare_to: '2026-10-31T23:00:00.000Z' }],
  ['year', { compare_from: '2025-10-31T23:00:00.000Z', compare_to: '2025-11-30T23:00:00.000Z' }],
  ['2026-08-01..2026-08-15', { compare_from: '2026-07-31T22:00:00.000Z', compare_to: '2026-08-15T22:00:00.000Z' }],
  // It overlaps the period.
  ['2026-10-15..2026-11-01', PREVIOUS],
])('November is compared with %s', (text, params) => {
  expect(comparisonParams(text, NOVEMBER, ZONE)).toEqual(params)
})

test('the last days of a month are compared with the last day of a shorter one', () => {
  const lastOfMarch = { fromMs: Date.UTC(2026, 2, 29), toMs: Date.UTC(2026, 2, 31, 12) }

  expect(comparisonParams('month', lastOfMarch, 'UTC')).toEqual({
    compare_from: '2026-02-28T00:00:00.000Z',
    compare_to: '2026-02-28T12:00:00.000Z',
  })
})

test('what is longer than a month is not compared with a month before', () => {
  const quarter = { fromMs: Date.UTC(2026, 6, 1), toMs: Date.UTC(2026, 9, 1) }

  expect(comparisonParams('month', quarter, 'UTC')).toEqual(PREVIOUS)
})
