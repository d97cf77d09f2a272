import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createGuard, type Guard } from '../../../internal/outbound/address-guard.js'
import { addressRule } from '../../../internal/outbound/public-addresses.js'
import { type DnsAnswer, type DnsServer, launchDnsServer } from '../../support/dns-server.js'

/** Longer than an answer is shared. */
const SHARED_MS_MAX = 21

const answers = new Map<string, DnsAnswer>()
let server: DnsServer
let guard: Guard

beforeAll(async () => {
  server = await launchDnsServer((name) => answers.get(name))
  guard = guardOf()
})
afterAll(() => server.close())

/** A guard of an operator who allows some networks. */
const guardOf = (allowed: readonly string[] = []): Guard =>
  createGuard({
    isAllowed: addressRule(allowed),
    resolvers: [server.address],
    allowsPrivateNames: allowed.length > 0,
  })

const checked = (name: string, answer: DnsAnswer) => {
  answers.set(name, answer)
  return guard.check(name)
}

test('a host is allowed if all its IPv4 and IPv6 addresses are', async () => {
  expect(await checked('one.example.com', ['8.8.8.8', '2606:4700::1111'])).toEqual({
    kind: 'allowed',
    addresses: ['8.8.8.8', '2606:4700:0:0:0:0:0:1111'].map((ip) => expect.stringMatching(ip.slice(0, 6))),
  })
})

test.each([
  ['a private one', ['10.0.0.1']],
  ['a private one among public ones', ['8.8.8.8', '1.1.1.1', '192.168.0.1']],
  ['a private one of the other kind', ['8.8.8.8', '::1']],
  ['metadata', ['169.254.169.254']],
  ['a private one in IPv6 clothes', ['::ffff:7f00:1']],
])('a host with %s is disallowed', async (_, addresses) => {
  expect(await checked('two.example.com', addresses)).toEqual({ kind: 'disallowed' })
})

test('a host without an address, or with a failing resolver, is unresolved', async () => {
  expect(await checked('none.example.com', undefined)).toEqual({ kind: 'unresolved' })
  expect(await checked('empty.example.com', [])).toEqual({ kind: 'unresolved' })
  expect(await checked('broken.example.com', 'fails')).toEqual({ kind: 'unresolved' })
})

test('a resolver that does not answer times out soon', async () => {
  const startedAt = performance.now()

  expect(await checked('silent.example.com', 'silent')).toEqual({ kind: 'unresolved' })
  expect(performance.now() - startedAt).toBeLessThan(8_000)
})

test('a host is resolved again for each check, except that nearly simultaneous checks share an answer', async () => {
  const asked = () => server.asked.filter((question) => question === 'moving.example.com A').length

  const [first, same] = await Promise.all([
    checked('moving.example.com', ['8.8.8.8']),
    guard.check('moving.example.com'),
  ])
  expect([first.kind, same, asked()]).toEqual(['allowed', first, 1])
  for (const [address, kind] of [
    ['127.0.0.1', 'disallowed'],
    ['8.8.8.8', 'allowed'],
  ] as const) {
    await sleep(SHARED_MS_MAX)
    expect((await checked('moving.example.com', [address])).kind).toBe(kind)
  }
  expect(asked()).toBe(3)
})

test('continuous checks of a host do not wait: its answer is refreshed before it expires', async () => {
  answers.set('busy.example.com', ['8.8.8.8'])
  const asked = () => server.asked.filter((question) => question === 'busy.example.com A').length
  let waited = 0

  // On a slow machine, a stall longer than the sharing time makes a check wait: repeat until queries outnumber the
  // waits.
  while (asked() <= waited + 3) {
    const answer = guard.check('busy.example.com')
    if (answer instanceof Promise) waited++
    expect((await answer).kind).toBe('allowed')
    await new Promise(setImmediate)
  }
})

test('a host that is an address is checked without a resolver', async () => {
  const before = server.asked.length

  expect([await guard.check('127.0.0.1'), await guard.check('::1'), await guard.check('8.8.8.8')]).toEqual([
    { kind: 'disallowed' },
    { kind: 'disallowed' },
    { kind: 'allowed', addresses: ['8.8.8.8'] },
  ])
  expect(server.asked.length).toBe(before)
})

test('localhost is the loopback address if the operator allows its network, without a resolver', async () => {
  const before = server.asked.length

  for (const name of ['localhost', 'hooks.localhost']) {
    expect(await guardOf(['127.0.0.0/8']).check(name)).toEqual({ kind: 'allowed', addresses: ['127.0.0.1'] })
    expect(await guardOf(['127.0.0.0/8', '::1/128']).check(name)).toEqual({
      kind: 'allowed',
      addresses: ['127.0.0.1', '::1'],
    })
    expect(await guardOf(['10.0.0.0/8']).check(name)).toEqual({ kind: 'disallowed' })
  }
  expect(server.asked.length).toBe(before)
})

test('localhost is a name like any other if the operator allows no network', async () => {
  expect(await checked('localhost', ['127.0.0.1'])).toEqual({ kind: 'disallowed' })
  expect(await guardOf(['127.0.0.0/8']).check('notlocalhost')).toEqual({ kind: 'unresolved' })
})
