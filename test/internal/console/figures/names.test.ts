import { expect, test } from 'vitest'
import { namesOf } from '../../../../internal/console/figures/names.js'

test('names are listed in one line, each only once', () => {
  expect(namesOf(' checkout-v2, kasse;kasse ,, ')).toEqual(['checkout-v2', 'kasse'])
  expect(namesOf('')).toEqual([])
})
