import { expect, test } from 'vitest'
import { comparableName } from '../../../internal/text/comparable-name.js'
import { nameDoubt } from '../../../internal/text/misleading-name.js'

test.each([
  'search',
  'Café 2',
  '検索-api',
  'поиск',
  'αναζήτηση',
  'ค้นหา',
  '검색 API',
  'חיפוש',
  '🚀 launch',
  '⚙\uFE0F worker',
  'ⲁⲃ',
])('a name of one script, or of scripts that are written together, misleads nobody: %s', (name) => {
  expect(nameDoubt(name)).toBeUndefined()
})

test.each([
  ['s\u0435arch', 'mixed_scripts'], // Cyrillic
  ['s\u03bfarch', 'mixed_scripts'], // Greek
  ['поиск-検索', 'mixed_scripts'],
  ['Ꭺpi', 'mixed_scripts'], // Cherokee
  ['sea\u200brch', 'hidden_characters'],
  ['search\u2060', 'hidden_characters'],
  ['\u202ehcraes', 'hidden_characters'],
  ['search\uFE0F', 'hidden_characters'],
])('%j looks like another name: %s', (name, doubt) => {
  expect(nameDoubt(name)).toBe(doubt)
})

test.each([
  ['Search', 'search'],
  [' search ', 'search'],
  ['Cafe\u0301', 'café'],
  ['STRASSE', 'Straße'],
  ['ΟΔΟΣ', 'οδος'],
])('%j and %j are one name', (one, other) => {
  expect(comparableName(one)).toBe(comparableName(other))
})

test('a letter without a dot is another letter', () => {
  expect(comparableName('ap\u0131')).not.toBe(comparableName('api'))
})
