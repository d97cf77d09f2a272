import { expect, test } from 'vitest'
import { containing } from '../../../internal/filters/contains.js'

test.each([
  ['Search-API', 'search', true],
  ['search-api', 'SEARCH', true],
  ['team-müller', 'MÜLLER', true],
  ['ΣΊΣΥΦΟΣ', 'σίσυφος', true],
  ['ΣΊΣΥΦΟΣ', 'ΣΊΣ', true],
  ['search', 'research', false],
  ['search', '', true],
  ['strasse', 'straße', false],
])('%s contains %s: %s', (value, part, isContained) => {
  expect(containing(part)(value)).toBe(isContained)
})
