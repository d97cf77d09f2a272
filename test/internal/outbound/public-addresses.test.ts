import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { parseNetwork } from '../../../internal/config/networks.js'
import { addressRule } from '../../../internal/outbound/public-addresses.js'

const isAllowed = addressRule()

test.each([
  '8.8.8.8',
  '1.1.1.1',
  '100.63.255.255',
  '100.128.0.0',
  '172.15.255.255',
  '172.32.0.0',
  '192.0.1.0',
  '198.17.255.255',
  '198.20.0.0',
  '223.255.255.255',
  '168.63.129.15',
  '2606:4700:4700::1111',
  '2a00:1450:4001:82a::200e',
  '2001:200::1',
  '2000::',
  '3ffe::1',
])('address %s is allowed', (address) => {
  expect(isAllowed(address)).toBe(true)
})

test.each([
  ['this network', '0.0.0.0', '0.255.255.255'],
  ['private', '10.0.0.1', '172.16.0.1', '172.31.255.255', '192.168.1.1'],
  ['shared', '100.64.0.1', '100.127.255.255'],
  ['loopback', '127.0.0.1', '127.255.255.254', '::1'],
  ['link-local and metadata', '169.254.169.254', '169.254.170.2', 'fe80::1', 'fe80::1%eth0'],
  ['protocol assignments', '192.0.0.1', '192.0.0.192', '192.88.99.1'],
  ['documentation', '192.0.2.1', '198.51.100.1', '203.0.113.1', '2001:db8::1', '3fff::1'],
  ['benchmarking', '198.18.0.1', '198.19.255.255', '2001:2::1'],
  ['multicast', '224.0.0.1', '239.255.255.255', 'ff02::1'],
  ['reserved and broadcast', '240.0.0.1', '255.255.255.255'],
  ['the platform of Azure', '168.63.129.16'],
  ['unspecified', '::', '0:0:0:0:0:0:0:0'],
  [
    'IPv4 within IPv6',
    '::ffff:127.0.0.1',
    '::ffff:8.8.8.8',
    '::ffff:7f00:1',
    '::7f00:1',
    '::a9fe:a9fe',
    '::ffff:0:7f00:1',
  ],
  ['translated', '64:ff9b::7f00:1', '64:ff9b:1::1', '2002:7f00:1::', '2001:0:4136:e378:8000:63bf:3fff:fdd2'],
  ['discard-only, segment routing, ORCHID', '100::1', '100:0:0:1::1', '5f00::1', '2001:20::1'],
  ['unique local and site-local', 'fc00::1', 'fd00:ec2::254', 'fec0::1'],
  ['not assigned', '1::1', '4000::1', 'e000::1'],
])('addresses are refused: %s', (_, ...addresses) => {
  expect(addresses.filter(isAllowed)).toEqual([])
})

test.each(['', 'localhost', '0177.0.0.1', '0x7f.1', '2130706433', '127.1', '8.8.8.8 ', '[::1]', '8.8.8.8/32', '1.2.3'])(
  'a text that is not in a resolver’s form of an address is refused: %j',
  (text) => {
    expect(isAllowed(text)).toBe(false)
  },
)

test('an IPv4 address is judged only by its network: all addresses of a refused network are refused', () => {
  const networks = ['10.0.0.0/8', '127.0.0.0/8', '169.254.0.0/16', '172.16.0.0/12', '192.168.0.0/16', '224.0.0.0/3']
  const within = fc.constantFrom(...networks).chain((network) =>
    fc.nat(0xffffffff).map((random) => {
      const { address, bits } = parseNetwork(network) ?? { address: '', bits: 0 }
      const base = address.split('.').reduce((sum, part) => sum * 256 + Number(part), 0)
      const value = base + (random % 2 ** (32 - bits))
      return [24, 16, 8, 0].map((shift) => Math.floor(value / 2 ** shift) % 256).join('.')
    }),
  )

  fc.assert(fc.property(within, (address) => !isAllowed(address)))
})

test('no IPv6 address outside 2000::/3 may be called', () => {
  const group = fc.nat(0xffff).map((value) => value.toString(16))
  const address = fc.array(group, { minLength: 8, maxLength: 8 }).map((groups) => groups.join(':'))

  fc.assert(
    fc.property(address, (text) => {
      const first = Number.parseInt(text.split(':')[0] ?? '', 16)
      return (first >= 0x2000 && first <= 0x3fff) || !isAllowed(text)
    }),
  )
})

describe('networks that the operator allows', () => {
  const isAllowedHere = addressRule(['127.0.0.0/8', 'fd00:1::/32'])

  test('are allowed in addition to the public addresses, and no others are', () => {
    expect(['127.0.0.1', '127.9.9.9', 'fd00:1::5', '8.8.8.8'].map(isAllowedHere)).toEqual([true, true, true, true])
    expect(['10.0.0.1', 'fd00:2::5', '::1'].map(isAllowedHere)).toEqual([false, false, false])
  })

  test('do not allow other spellings of their addresses', () => {
    expect(isAllowedHere('::ffff:127.0.0.1')).toBe(false)
  })

  test.each(['', '127.0.0.1', '127.0.0.1/33', '::1/129', 'a/8', '127.0.0.1/8/8', '127.0.0.1/-1'])(
    '%j is not a valid network',
    (text) => {
      expect(parseNetwork(text)).toBeUndefined()
    },
  )
})
