import { existsSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { pageOf, withPage } from '../../../bench/prices/page.js'
import type { PricesResult } from '../../../bench/prices/result.js'

const ROOT = fileURLToPath(new URL('../../..', import.meta.url))
const GUIDE = readFileSync(`${ROOT}/deploy/docs/prices.md`, 'utf8')
const TALLY = { 'as they say': 0, otherwise: 0, unpriced: 0 }
const RESULT = {
  date: '2026-11-29T12:00:00.000Z',
  book_as_of: '2026-11-28',
  books: [{ file: 'data.json' }, { file: 'map.json' }],
  comparison: {
    models: 1_200,
    vectors: 13_200,
    agreed: { 'as they say': 1_970, otherwise: 29, unpriced: 1 },
    ...{ differing: TALLY, alone: TALLY, share: 0.985, unpriced: 1 },
  },
  cells: [
    { provider: 'xai', vector: 'input', compared: 8, as_both_say: 7, otherwise: 1, unpriced: 0 },
    { provider: 'xai', vector: 'batch', compared: 2, as_both_say: 1, otherwise: 0, unpriced: 1 },
    { provider: 'groq', vector: 'input', compared: 5, as_both_say: 5, otherwise: 0, unpriced: 0 },
  ],
  rest: [
    { provider: 'xai', model: 'grok-a', vector: 'input', reason: 'cheaper since May' },
    { provider: 'xai', model: 'grok-b', vector: 'batch', reason: '' },
  ],
  tier_calls: [{ provider: 'xai', model: 'grok-a', tier: 'batch', ours: '0.1', genai: 0.1, litellm: null }],
} as unknown as PricesResult

test('the page has a row of each provider and of all, the calls with a tier, and each difference with its reason', () => {
  const lines = pageOf(RESULT).split('\n')
  const cellsOf = (start: string): readonly string[] | undefined =>
    lines
      .find((line) => line.startsWith(`| ${start}`))
      ?.split('|')
      .map((cell) => cell.trim())
      .filter((cell) => cell !== '')

  expect(lines).toContain('- Priced as both say: 98.5 % (bar 97.0 %).')
  expect(cellsOf('xai  ')).toEqual(['xai', '7/8', '1/2', '8/10', '1', '1'])
  expect(cellsOf('all ')).toEqual(['all', '12/13', '1/2', '13/15', '1', '1'])
  expect(cellsOf('xai `grok-a`')).toEqual(['xai `grok-a`', 'batch', '0.1', '0.1'])
  expect(lines).toContain('- xai, cheaper since May: `grok-a` (input)')
  expect(lines).toContain('- xai, not explained yet: `grok-b` (batch)')
  expect(Math.max(...lines.filter((line) => !line.startsWith('|')).map(({ length }) => length))).toBeLessThan(121)
})

test('a page replaces the one before, and the rest of the guide stays', () => {
  const once = withPage(GUIDE, 'one')

  expect(withPage(once, 'two')).toBe(withPage(GUIDE, 'two'))
  expect(once).toContain('\n\none\n\n<!-- /comparison -->')
  expect(() => withPage('# Prices', 'one')).toThrow('the guide has no')
})

const RESULT_FILE = `${ROOT}/bench/results/prices.json`

test.runIf(existsSync(RESULT_FILE))('the guide shows the committed result', () => {
  const page = pageOf(JSON.parse(readFileSync(RESULT_FILE, 'utf8')) as PricesResult)

  expect(withPage(GUIDE, page), 'npm run bench -- prices writes both').toBe(GUIDE)
})
