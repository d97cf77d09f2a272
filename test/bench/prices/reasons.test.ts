import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { PROVIDERS } from '../../../bench/prices/names.js'
import { readReasons } from '../../../bench/prices/reasons.js'
import { VECTORS } from '../../../bench/prices/vectors.js'

const REASONS = readReasons(fileURLToPath(new URL('../../../bench/prices', import.meta.url)))

test.each(REASONS)('the reason "$reason" names a provider and vectors that are compared', ({ provider, vectors }) => {
  expect(PROVIDERS.map(({ id }) => id)).toContain(provider)
  for (const vector of vectors ?? []) expect(VECTORS.map(({ name }) => name)).toContain(vector)
})

test('a reason is one sentence of the page, with its source', () => {
  for (const { reason } of REASONS) expect(reason).toMatch(/^[a-z].*\(.+\)$/)
})
