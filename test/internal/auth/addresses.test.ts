import fc from 'fast-check'
import { expect, test } from 'vitest'
import { addressBudgets, clientAddresses, networkOf, plainAddress } from '../../../internal/auth/addresses.js'
import { KeyedBudgets } from '../../../internal/auth/keyed-budgets.js'

const NOW_MS = 1_700_000_000_000

test.each([
  ['192.0.2.7', '192.0.2.7'],
  ['0000:0000:0000:0000:0000:ffff:c000:0207', '192.0.2.7'],
  ['2001:0db8:0001:0002:0003:0004:0005:0006', '2001:0db8:0001:0002'],
  ['0000:0000:0000:0000:0000:0000:0000:0001', '0000:0000:0000:0000'],
  ['::1', '0000:0000:0000:0000'],
  ['2001:db8:1:2::6', '2001:0db8:0001:0002'],
  ['2001:DB8::5:6%eth0', '2001:0db8:0000:0000'],
  ['::ffff:192.0.2.7', '192.0.2.7'],
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

const behindProxies = clientAddresses(['10.0.0.0/8', '2001:db8:ff::/48'])

test.each([
  ['192.0.2.7', '198.51.100.1', '192.0.2.7', 'a peer that is no proxy'],
  ['10.0.0.1', '', '10.0.0.1', 'a proxy that says nothing'],
  ['10.0.0.1', '198.51.100.1', '198.51.100.1', 'one proxy'],
  ['10.0.0.1', ' 198.51.100.1 , 10.0.0.2', '198.51.100.1', 'two proxies'],
  ['10.0.0.1', '203.0.113.9, 198.51.100.1', '198.51.100.1', 'what the caller wrote itself'],
  ['10.0.0.1', '198.51.100.1:4711', '198.51.100.1', 'a port'],
  ['10.0.0.1', '[2001:db8::1]:4711', '2001:0db8:0000:0000:0000:0000:0000:0001', 'a port of IPv6'],
  ['10.0.0.1', '::ffff:198.51.100.1', '198.51.100.1', 'a mapped address'],
  ['10.0.0.1', '127.0.0.1, 10.0.0.2', '10.0.0.2', 'nobody is local by a header'],
  ['10.0.0.1', '::1', '10.0.0.1', 'nor by one of IPv6'],
  ['10.0.0.1', '198.51.100.1, unknown', '10.0.0.1', 'an entry that is no address'],
  ['10.0.0.1', '10.0.0.3, 10.0.0.2', '10.0.0.3', 'a client within the network of the proxies'],
  ['2001:0db8:00ff:0000:0000:0000:0000:0001', '198.51.100.1', '198.51.100.1', 'a proxy of IPv6'],
])('%s that forwards for "%s" speaks for %s: %s', (peer, forwardedFor, client) => {
  expect(behindProxies(peer, forwardedFor)).toBe(client)
})

test('what a caller writes into X-Forwarded-For never changes its address', () => {
  fc.assert(
    fc.property(fc.string(), fc.ipV4(), fc.array(fc.constantFrom('10.0.0.2', '10.9.9.9')), (written, own, proxies) => {
      fc.pre(!own.startsWith('10.') && !own.startsWith('127.'))
      const forwarded = [own, ...proxies].join(', ')
      expect(behindProxies('10.0.0.1', `${written}, ${forwarded}`)).toBe(own)
    }),
  )
})

test('without trusted proxies the connection counts', () => {
  expect(clientAddresses([])('127.0.0.1', '198.51.100.1')).toBe('127.0.0.1')
})
