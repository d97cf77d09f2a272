import { expect, test } from 'vitest'
import { containsText } from '../../../internal/filters/contains.js'

test.each([
  ['Search-API', 'search', true],
  ['search-api', 'SEARCH', true],
  ['team-müller', 'MÜLLER', true],
  ['ΣΊΣΥΦΟΣ', 'σίσυφος', true],
  ['ΣΊΣΥΦΟΣ', 'ΣΊΣ', true],
  ['search', 'research', false],
  ['strasse', 'straße', false],
])('%s contains %s: %s', (value, part, isContained) => {
  expect(containsText(value, part)).toBe(isContained)
})
