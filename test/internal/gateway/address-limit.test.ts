import { expect, test } from 'vitest'
import { Attempts, networkOf } from '../../../internal/gateway/address-limit.js'
import { NOW_MS } from '../../support/invocations.js'

test('attempts are counted for each by itself, and come back with time', () => {
  const attempts = new Attempts({ perSecond: 1, burst: 2 })

  expect([1, 2].map(() => attempts.take('one', NOW_MS))).toEqual([0, 0])
  expect(attempts.take('one', NOW_MS)).toBe(1_000)
  expect(attempts.take('other', NOW_MS)).toBe(0)
  expect(attempts.take('one', NOW_MS + 1_000)).toBe(0)
})

test('attempts that are forgotten no longer count', () => {
  const attempts = new Attempts({ perSecond: 1, burst: 1 })
  attempts.take('one', NOW_MS)

  attempts.forget('one')

  expect(attempts.take('one', NOW_MS)).toBe(0)
})

test('many who are counted push out the oldest, so that memory stays bounded', () => {
  const attempts = new Attempts({ perSecond: 1, burst: 1 })
  attempts.take('first', NOW_MS)
  for (let i = 0; i < 19_999; i++) attempts.take(`${i}`, NOW_MS)
  expect(attempts.take('first', NOW_MS)).toBeGreaterThan(0)

  attempts.take('one more', NOW_MS)

  expect(attempts.take('first', NOW_MS)).toBe(0)
})

test.each([
  ['192.0.2.7', '192.0.2.7'],
  ['2001:0db8:0001:0002:0003:0004:0005:0006', '2001:0db8:0001:0002'],
  ['0000:0000:0000:0000:0000:ffff:c000:0207', '0000:0000:0000:0000:0000:ffff:c000:0207'],
])('the address %s stands for %s', (address, expected) => {
  expect(networkOf(address)).toBe(expected)
})
