import { expect, test } from 'vitest'
import { KeptAnswers } from '../../../internal/reports/kept-answers.js'

const MINUTE_MS = 60_000

function keeping(rowsMax?: number) {
  let nowMs = 0
  const kept = new KeptAnswers<{ readonly rows: readonly number[] }>(() => nowMs, rowsMax)
  return {
    keep: (id: string, tenantId: string, rows: number) => kept.keep(id, tenantId, { rows: new Array(rows).fill(0) }),
    isKept: (id: string) => kept.find(id) !== undefined,
    pass: (ms: number) => {
      nowMs += ms
    },
  }
}

test('an answer is cached for five minutes after its last page', () => {
  const { keep, isKept, pass } = keeping()
  keep('one', 'tnt_one', 10)

  for (let page = 0; page < 3; page++) {
    pass(5 * MINUTE_MS - 1)
    expect(isKept('one')).toBe(true)
  }
  pass(5 * MINUTE_MS)
  expect(isKept('one')).toBe(false)
})

test('a tenant that fills the cache evicts its own oldest answers and none of other tenants', () => {
  const { keep, isKept } = keeping(1_000)
  keep('small', 'tnt_small', 100)
  for (const id of ['a', 'b', 'c', 'd', 'e', 'f']) keep(id, 'tnt_large', 200)

  expect(isKept('small')).toBe(true)
  expect(['a', 'b', 'c', 'd', 'e', 'f'].filter(isKept)).toEqual(['e', 'f'])
})

test('the least recently used answer is evicted first', () => {
  const { keep, isKept } = keeping(1_000)
  for (const id of ['a', 'b', 'c']) keep(id, 'tnt_one', 200)

  expect(isKept('a')).toBe(true)
  keep('d', 'tnt_one', 200)

  expect(['a', 'b', 'c', 'd'].filter(isKept)).toEqual(['a', 'c', 'd'])
})

test('small answers are bounded too, and an answer larger than the cache is not cached', () => {
  const { keep, isKept } = keeping(1_000)
  const ids = Array.from({ length: 100 }, (_, i) => `${i}`)
  for (const id of ids) keep(id, 'tnt_one', 2)

  expect(ids.filter(isKept)).toHaveLength(9)
  keep('large', 'tnt_one', 2_000)
  expect(isKept('large')).toBe(false)
})

test('an answer that is cached again counts once', () => {
  const { keep, isKept } = keeping(1_000)
  for (let i = 0; i < 10; i++) keep('one', 'tnt_one', 500)
  keep('two', 'tnt_one', 200)

  expect(['one', 'two'].filter(isKept)).toEqual(['one', 'two'])
})
