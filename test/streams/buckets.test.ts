import { expect, test } from 'vitest'
import { BUCKETS } from '../../streams/buckets.js'
import { INVOCATIONS } from '../../streams/invocations.js'
import { QUARANTINE } from '../../streams/quarantine.js'

test('every bucket has its own name, of characters that a stream name may hold', () => {
  const names = BUCKETS.map(({ name }) => name)

  expect(new Set(names).size).toBe(names.length)
  for (const name of names) expect(name).toMatch(/^[a-z_]+$/)
})

test('only heartbeats and the answers to bulk requests and observations expire by themselves', () => {
  expect(BUCKETS.filter((bucket) => bucket.ttlMs !== undefined).map(({ name }) => name)).toEqual([
    'idempotency',
    'members',
  ])
})

test.each([INVOCATIONS, QUARANTINE])(
  'the stream $name refuses what does not fit and forgets nothing by age',
  (stream) => {
    expect(stream).toMatchObject({ discard: 'new', retention: 'limits', storage: 'file', max_age: 0 })
  },
)
