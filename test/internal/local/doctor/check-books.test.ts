import { expect, test } from 'vitest'
import { ageOf } from '../../../../internal/local/doctor/check-books.js'

const NOW_MS = Date.parse('2026-11-29T12:00:00Z')

test('a book is old when it describes a day 45 days ago or more', () => {
  const statusOf = (asOf: string) => ageOf('price book', asOf, 'of the release', 'prices', NOW_MS).status

  expect(['2026-12-05', '2026-11-29', '2026-10-16'].map(statusOf)).toEqual(['ok', 'ok', 'ok'])
  expect(['2026-10-15', '2025-01-01'].map(statusOf)).toEqual(['warning', 'warning'])
})

test('the finding names the book, its day and the command', () => {
  expect(ageOf('energy table', '2026-09-29', 'energy_1', 'energy', NOW_MS)).toEqual({
    check: 'energy table',
    status: 'warning',
    detail:
      'energy_1, as of 2026-09-29, is 61 days old: upgrade, or take a newer one with `attribution energy propose`',
  })
})
