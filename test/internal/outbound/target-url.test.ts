import { describe, expect, test } from 'vitest'
import { parseNetworks, parseResolvers } from '../../../internal/config/networks.js'
import { readTarget, type TargetRules } from '../../../internal/outbound/target-url.js'

const RULES: TargetRules = { ports: [443, 8443], allowsPrivateNames: false, ownHosts: ['api.example.com'] }
const read = (text: string) => readTarget(text, RULES)

test('a target URL is split in its canonical form', () => {
  expect(read('HTTPS://Hooks.Example.COM.:8443/in/../to?a=b#part')).toEqual({
    href: 'https://hooks.example.com:8443/to?a=b',
    origin: 'https://hooks.example.com:8443',
    hostname: 'hooks.example.com',
    port: 8443,
    path: '/to?a=b',
  })
  expect(read('https://hooks.example.com')).toMatchObject({ port: 443, path: '/', hostname: 'hooks.example.com' })
  expect(read('https://[2606:4700::1111]/x')).toMatchObject({ hostname: '2606:4700::1111' })
})

test.each([
  ['plain', 'http://hooks.example.com/'],
  ['of another protocol', 'ftp://hooks.example.com/'],
  ['of another protocol', 'file:///etc/passwd'],
  ['of another protocol', 'gopher://hooks.example.com/'],
  ['repaired by a parser', 'https:hooks.example.com'],
  ['repaired by a parser', 'https:/hooks.example.com'],
  ['repaired by a parser', 'https:///hooks.example.com'],
  ['repaired by a parser', 'https:\\\\hooks.example.com'],
  ['repaired by a parser', 'https://hooks.example.com\\@10.0.0.1/'],
  ['repaired by a parser', ' https://hooks.example.com'],
  ['repaired by a parser', 'https://hooks.exa\tmple.com'],
  ['repaired by a parser', 'https://hooks.example.com/\n'],
  ['with a zero byte', 'https://hooks.example.com/\u0000'],
  ['in other letters', 'https://hooks.example.com/exämple'],
  ['with a user', 'https://user:password@hooks.example.com/'],
  ['with an empty user', 'https://@hooks.example.com/'],
  ['with another port', 'https://hooks.example.com:22/'],
  ['with another port', 'https://hooks.example.com:80/'],
  ['with port zero', 'https://hooks.example.com:0/'],
  ['without a host', 'https://'],
  ['without a host', 'https://?a'],
  ['of this machine', 'https://localhost/'],
  ['of this machine', 'https://a.localhost/'],
  ['of a cluster', 'https://redis/'],
  ['of a cluster', 'https://api.default.svc.cluster.local/'],
  ['of a cloud', 'https://metadata.google.internal/'],
  ['of a home network', 'https://router.home.arpa/'],
  ['of no network', 'https://hooks.test/'],
  ['of no network', 'https://hooks.invalid/'],
  ['of another network', 'https://hooks.onion/'],
  ['of this service', 'https://api.example.com/'],
  ['of this service', 'https://API.example.com./'],
  ['with a long label', `https://${'a'.repeat(64)}.example.com/`],
  ['with a long name', `https://${'a.'.repeat(130)}example.com/`],
  ['with an empty label', 'https://a..example.com/'],
  ['with two dots at its end', 'https://example.com../'],
  ['too long', `https://hooks.example.com/${'a'.repeat(2_048)}`],
  ['none', 'hooks.example.com'],
  ['none', ''],
])('a target URL %s is refused: %j', (_, text) => {
  expect(typeof read(text)).toBe('string')
})

describe('a host that is an address', () => {
  test.each([
    ['https://127.0.0.1/', '127.0.0.1'],
    ['https://127.1/', '127.0.0.1'],
    ['https://0x7f000001/', '127.0.0.1'],
    ['https://2130706433/', '127.0.0.1'],
    ['https://%31%32%37.0.0.1/', '127.0.0.1'],
    ['https://0/', '0.0.0.0'],
    ['https://127.0.0.1./', '127.0.0.1'],
    ['https://[::ffff:127.0.0.1]/', '::ffff:7f00:1'],
    ['https://[0:0:0:0:0:0:0:1]/', '::1'],
  ])('%s is checked as its normalised host %s', (text, hostname) => {
    expect(read(text)).toMatchObject({ hostname })
  })

  test.each(['https://0177.0.0.1/', 'https://127.0.0.01/', 'https://010.1.2.3:443/hook'])(
    '%s is refused, because its leading zeros are read in two ways',
    (text) => {
      expect(read(text)).toBe('has an address with leading zeros')
    },
  )

  test.each(['https://[fe80::1%25eth0]/', 'https://1.2.3.4.5/', 'https://256.0.0.1/', 'https://0x7f.0.0.1.example.1/'])(
    '%s is none',
    (text) => {
      expect(typeof read(text)).toBe('string')
    },
  )
})

test('an international name is taken as its A-label, and no other part may have such letters', () => {
  expect(read('https://Bücher.example.com/hook')).toMatchObject({
    hostname: 'xn--bcher-kva.example.com',
    href: 'https://xn--bcher-kva.example.com/hook',
  })
  expect(read('https://１２７.0.0.1/')).toMatchObject({ hostname: '127.0.0.1' })
  expect(read('https://hooks.example.com/bücher')).toBe('contains invalid characters')
  expect(read('https://bü\u200dcher.example.com/')).toBe('contains invalid characters')
})

test('private host names are accepted if the operator allows non-public networks', () => {
  expect(readTarget('https://localhost:8443/', { ...RULES, allowsPrivateNames: true })).toMatchObject({
    hostname: 'localhost',
  })
})

test('networks and resolvers of the configuration are read strictly', () => {
  expect(parseNetworks('127.0.0.0/8, fd00::/8')).toEqual(['127.0.0.0/8', 'fd00::/8'])
  expect(parseResolvers('127.0.0.1:5353,1.1.1.1,[::1]:53')).toEqual(['127.0.0.1:5353', '1.1.1.1', '[::1]:53'])
  expect(() => parseNetworks('127.0.0.1')).toThrow('CIDR')
  expect(() => parseResolvers('localhost')).toThrow('resolvers')
})
