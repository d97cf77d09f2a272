import { expect, test } from 'vitest'
import { CHAIN_START, chained } from '../../../../internal/audit/chain.js'
import { chainOf } from '../../../../internal/console/figures/audit-chain.js'
import { auditEntry } from '../../../support/audit.js'

const first = chained(CHAIN_START, auditEntry())
const second = chained(first, auditEntry({ changes: { before: { name: 'ä' }, after: { name: 'b', rate: '0.5' } } }))
const third = chained(second, auditEntry())

test('records that follow each other are a whole chain', async () => {
  expect(await chainOf([third, second, first])).toEqual({ kind: 'whole', first: 1, last: 3 })
})

test('a record that was changed, or one behind it, is where the chain breaks', async () => {
  const changed = { ...second, actor: 'key_other' }

  expect(await chainOf([third, changed, first])).toEqual({ kind: 'broken', sequence: 2 })
  expect(await chainOf([third, { ...second, hash: first.hash }, first])).toEqual({ kind: 'broken', sequence: 3 })
  expect(await chainOf([third, { ...second, repeats: 0.5 }, first])).toEqual({ kind: 'broken', sequence: 2 })
})

test('of records between which some are left out, nothing is said', async () => {
  expect(await chainOf([third, first])).toEqual({ kind: 'unknown' })
  expect(await chainOf([third])).toEqual({ kind: 'unknown' })
  expect(await chainOf([])).toEqual({ kind: 'unknown' })
})
