import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { addressRule } from '../../../internal/webhooks/addresses.js'
import { createGuard, type Guard } from '../../../internal/webhooks/guard.js'
import { type DnsAnswer, type DnsServer, launchDnsServer } from '../../support/dns-server.js'

/** Longer than anybody is given an answer that another has asked for. */
const SHARED_MS_MAX = 21

const answers = new Map<string, DnsAnswer>()
let server: DnsServer
let guard: Guard

beforeAll(async () => {
  server = await launchDnsServer((name) => answers.get(name))
  guard = guardOf()
})
afterAll(() => server.close())

/** Of an operator who allows some networks. */
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

test('a host is allowed with all of its addresses, of both kinds', async () => {
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
])('a host with %s is not allowed', async (_, addresses) => {
  expect(await checked('two.example.com', addresses)).toEqual({ kind: 'disallowed' })
})

test('a host without an address, and one whose resolver fails, is not resolved', async () => {
  expect(await checked('none.example.com', undefined)).toEqual({ kind: 'unresolved' })
  expect(await checked('empty.example.com', [])).toEqual({ kind: 'unresolved' })
  expect(await checked('broken.example.com', 'fails')).toEqual({ kind: 'unresolved' })
})

test('a resolver that does not answer is not waited for for long', async () => {
  const startedAt = performance.now()

  expect(await checked('silent.example.com', 'silent')).toEqual({ kind: 'unresolved' })
  expect(performance.now() - startedAt).toBeLessThan(8_000)
})

test('a host is asked for anew, so that a changed answer counts; only those that ask at almost the same time share it', async () => {
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

test('whoever asks all the time does not wait for each answer: the next is asked for before the last is too old', async () => {
  answers.set('busy.example.com', ['8.8.8.8'])
  const asked = () => server.asked.filter((question) => question === 'busy.example.com A').length
  let waited = 0

  // As long as a slow machine takes: where it stands still for longer than an answer is good for, somebody waits.
  while (asked() <= waited + 3) {
    const answer = guard.check('busy.example.com')
    if (answer instanceof Promise) waited++
    expect((await answer).kind).toBe('allowed')
    await new Promise(setImmediate)
  }
})

test('a host that is an address is judged without asking', async () => {
  const before = server.asked.length

  expect([await guard.check('127.0.0.1'), await guard.check('::1'), await guard.check('8.8.8.8')]).toEqual([
    { kind: 'disallowed' },
    { kind: 'disallowed' },
    { kind: 'allowed', addresses: ['8.8.8.8'] },
  ])
  expect(server.asked.length).toBe(before)
})

test('localhost is this machine where networks of it are allowed, and no resolver is asked', async () => {
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

test('where no network is allowed localhost is a name like any other', async () => {
  expect(await checked('localhost', ['127.0.0.1'])).toEqual({ kind: 'disallowed' })
  expect(await guardOf(['127.0.0.0/8']).check('notlocalhost')).toEqual({ kind: 'unresolved' })
})
