import { expect, test } from 'vitest'
import { addressBudgets, networkOf, plainAddress } from '../../../internal/auth/addresses.js'
import { KeyedBudgets } from '../../../internal/auth/keyed-budgets.js'

const NOW_MS = 1_700_000_000_000

test.each([
  ['192.0.2.7', '192.0.2.7'],
  ['0000:0000:0000:0000:0000:ffff:c000:0207', '192.0.2.7'],
  ['2001:0db8:0001:0002:0003:0004:0005:0006', '2001:0db8:0001:0002'],
  ['0000:0000:0000:0000:0000:0000:0000:0001', '0000:0000:0000:0000'],
])('%s counts as %s', (address, network) => {
  expect(networkOf(plainAddress(address))).toBe(network)
})

test('an address has a budget of its own, however it is written, and its neighbours in IPv6 share it', () => {
  const budgetOf = addressBudgets({ perSecond: 1, burst: 2 })
  budgetOf('192.0.2.7', NOW_MS).take(2, NOW_MS)
  budgetOf('2001:0db8:0001:0002:0003:0004:0005:0006', NOW_MS).take(1, NOW_MS)

  expect(budgetOf(plainAddress('0000:0000:0000:0000:0000:ffff:c000:0207'), NOW_MS).remaining(NOW_MS)).toBe(0)
  expect(budgetOf('192.0.2.8', NOW_MS).remaining(NOW_MS)).toBe(2)
  expect(budgetOf('2001:0db8:0001:0002:ffff:ffff:ffff:ffff', NOW_MS).remaining(NOW_MS)).toBe(1)
})

test('KeyedBudgets holds at most its maximum and drops a refilled budget before an exhausted one', () => {
  const budgets = new KeyedBudgets({ perSecond: 1, burst: 5 }, 4)
  for (const name of ['a', 'b', 'c', 'd']) if (name !== 'c') budgets.of(name, NOW_MS).take(5, NOW_MS)
  budgets.of('e', NOW_MS).take(5, NOW_MS)

  expect(budgets.size).toBe(4)
  expect(['a', 'b', 'd', 'e'].map((name) => budgets.of(name, NOW_MS).remaining(NOW_MS))).toEqual([0, 0, 0, 0])
  budgets.of('f', NOW_MS)
  expect(budgets.size).toBe(4)
  expect(budgets.of('b', NOW_MS).remaining(NOW_MS)).toBe(0)
})

test('a KeyedBudgets budget starts again unused after forget', () => {
  const budgets = new KeyedBudgets({ perSecond: 1, burst: 5 }, 4)
  budgets.of('a', NOW_MS).take(5, NOW_MS)

  budgets.forget('a')

  expect(budgets.of('a', NOW_MS).remaining(NOW_MS)).toBe(5)
})

test('KeyedBudgets keeps an exhausted budget that is still in use and drops the least recently used one', () => {
  const budgets = new KeyedBudgets({ perSecond: 1, burst: 5 }, 3)
  for (const name of ['a', 'b', 'c']) budgets.of(name, NOW_MS).take(5, NOW_MS)
  budgets.of('a', NOW_MS)

  budgets.of('d', NOW_MS)

  expect(budgets.of('a', NOW_MS).remaining(NOW_MS)).toBe(0)
  expect(budgets.of('b', NOW_MS).remaining(NOW_MS)).toBe(5)
})
