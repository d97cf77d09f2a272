import { execFileSync } from 'node:child_process'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { joinMembers, type Membership } from '../../../internal/broker/members.js'
import { mirrorBucket } from '../../../internal/broker/mirror.js'
import { MEMBERS } from '../../../streams/buckets.js'
import { stageOf } from '../../../streams/records.js'
import { type Buckets, launchBuckets } from '../../support/buckets.js'

let buckets: Buckets

beforeAll(async () => {
  buckets = await launchBuckets()
})
afterAll(() => buckets.close())

const MAILBOXES = ['a', 'b', 'c'].flatMap((stage) => Array.from({ length: 32 }, (_, at) => `${stage}.${at}`))
const onLost = (cause: unknown): never => {
  throw cause
}

/** Members of a role that no other test uses, each with its parts of the work, once all see each other. */
async function members(role: string, parts: Readonly<Record<string, readonly string[] | undefined>>) {
  const joined: Membership[] = []
  const names = Object.keys(parts).sort()
  for (const [name, does] of Object.entries(parts)) {
    joined.push(await joinMembers(await buckets.open(MEMBERS), role, name, onLost, does))
  }
  const knowsAll = (membership: Membership): boolean => membership.live().join() === names.join()
  await Promise.all(
    joined.map(
      (membership) =>
        new Promise<void>((resolve) => {
          const check = (): void => {
            if (knowsAll(membership)) resolve()
          }
          membership.onChange(check)
          check()
        }),
    ),
  )
  return joined
}

const ownersOf = (joined: readonly Membership[], what: string): number[] =>
  joined.flatMap((membership, i) => (membership.owns(what, stageOf(what)) ? [i] : []))

test('a mailbox belongs to one of the members that run its stage, whatever other stages they run', async () => {
  const joined = await members('parted', { one: ['a'], two: ['b', 'c'], three: ['a', 'b', 'c'] })

  for (const what of MAILBOXES) expect(ownersOf(joined, what)).toHaveLength(1)
  const ownersOfStage = (stage: string): ReadonlySet<number> =>
    new Set(MAILBOXES.filter((what) => stageOf(what) === stage).flatMap((what) => ownersOf(joined, what)))
  expect(ownersOfStage('a')).toEqual(new Set([0, 2]))
  expect(ownersOfStage('b')).toEqual(new Set([1, 2]))
  expect(ownersOfStage('c')).toEqual(new Set([1, 2]))
  for (const membership of joined) await membership.leave()
})

test('a stage that no member runs belongs to nobody', async () => {
  const [one] = await members('alone', { one: ['a'] })

  expect([one?.owns('a.0', 'a'), one?.owns('b.0', 'b'), one?.owns('changes')]).toEqual([true, false, true])
  await one?.leave()
})

test('a member without listed parts can own all parts, and keys without a part are shared by all members', async () => {
  const joined = await members('mixed', { whole: undefined, listed: ['a', 'b', 'c'] })

  for (const what of [...MAILBOXES, 'changes', 'audit']) expect(ownersOf(joined, what)).toHaveLength(1)
  expect(new Set(MAILBOXES.flatMap((what) => ownersOf(joined, what)))).toEqual(new Set([0, 1]))
  for (const membership of joined) await membership.leave()
})

test('a member on whose disk events wait says so to the others, until they are delivered or it leaves', async () => {
  let isSpooling = true
  const gateway = { http: 'parser', isSpooling: () => isSpooling }
  const bucket = await buckets.open(MEMBERS)
  const one = await joinMembers(bucket, 'spooled', 'one', onLost, undefined, gateway)
  const two = await joinMembers(await buckets.open(MEMBERS), 'spooled', 'two', onLost)

  expect([one.mayOthersSpool(), two.mayOthersSpool()]).toEqual([false, true])
  isSpooling = false
  await expect.poll(() => two.mayOthersSpool(), { timeout: 5_000 }).toBe(false)
  isSpooling = true
  await expect.poll(() => two.mayOthersSpool(), { timeout: 5_000 }).toBe(true)
  await one.leave()
  await expect.poll(() => two.mayOthersSpool(), { timeout: 5_000 }).toBe(false)
  await two.leave()
})

/**
 * How many pauses of a second are begun from now on: one that is not alone says each second that it lives, and looks
 * who has died. A busy machine makes pauses longer, but not how they were meant.
 */
function countSeconds(): () => number {
  const started = vi.spyOn(globalThis, 'setTimeout')
  return () => {
    const seconds = started.mock.calls.filter(([, ms]) => ms === 1_000).length
    started.mockRestore()
    return seconds
  }
}

test('a member that was alone hears within seconds that one which joined has died', async () => {
  const bucket = await buckets.open(MEMBERS)
  const alone = await joinMembers(bucket, 'widowed', 'one', onLost)
  const changes: string[] = []
  let seconds = () => 0
  let whileBoth = 0
  const hasDied = new Promise<void>((resolve) => {
    alone.onChange(() => {
      changes.push(alone.live().join())
      if (changes.length === 1) seconds = countSeconds()
      if (changes.length < 2) return
      whileBoth = seconds()
      resolve()
    })
  })

  // It never says again that it lives.
  await bucket.put('widowed.two', JSON.stringify({ at: new Date().toISOString(), pid: 1, version: '1' }))
  await hasDied

  expect(changes).toEqual(['one,two', 'one'])
  expect(whileBoth).toBeGreaterThan(1)
  await alone.leave()
})

test('a member that stood still says again each second that it lives, since the others have not left', async () => {
  const bucket = await buckets.open(MEMBERS)
  const one = await joinMembers(bucket, 'stalled', 'one', onLost)
  const hasJoined = new Promise<void>((resolve) => one.onChange(resolve))
  const two = JSON.stringify({ at: new Date().toISOString(), pid: 1, version: '1' })
  await bucket.put('stalled.two', two)
  await hasJoined
  let changes = 0
  one.onChange(() => changes++)
  let stoodStillUntil = Number.POSITIVE_INFINITY
  let said = 0
  let hasSaid = (): void => undefined
  const twice = new Promise<void>((resolve) => {
    hasSaid = resolve
  })
  const watch = await mirrorBucket<{ readonly at: string }>(
    bucket,
    onLost,
    (_, value) => {
      const at = Date.parse(value?.at ?? '')
      if (at >= stoodStillUntil && ++said === 2) hasSaid()
    },
    'stalled.one',
  )
  // Another process says meanwhile that the other member lives, as the broker then tells this one.
  const otherMember = `
    import { setTimeout as sleep } from 'node:timers/promises'
    import { connect } from '@nats-io/transport-node'
    const connection = await connect({ servers: ${JSON.stringify(buckets.url)} })
    await sleep(3_100)
    connection.publish('$KV.${MEMBERS.name}.stalled.two', ${JSON.stringify(two)})
    await connection.drain()`
  execFileSync(process.execPath, ['--input-type=module', '--eval', otherMember])
  stoodStillUntil = Date.now()
  const seconds = countSeconds()
  await twice

  expect(seconds()).toBeGreaterThan(1)
  expect([one.live(), changes]).toEqual([['one', 'two'], 0])
  watch.stop()
  await one.leave()
})

test('a member that is alone says that it lives more rarely, and before the bucket forgets it', async () => {
  const bucket = await buckets.open(MEMBERS)
  const one = await joinMembers(bucket, 'lonely', 'one', onLost)
  const heard: number[] = []
  const forgotten: string[] = []
  let hasHeard = (): void => undefined
  const twice = new Promise<void>((resolve) => {
    hasHeard = resolve
  })
  const watch = await mirrorBucket<object>(
    bucket,
    onLost,
    (key, value) => {
      if (value === undefined) forgotten.push(key)
      heard.push(performance.now())
      if (heard.length === 3) hasHeard()
    },
    'lonely.>',
  )
  await twice

  expect(forgotten).toEqual([])
  const [, second = 0, third = 0] = heard
  expect(third - second).toBeGreaterThan(3_000)
  expect(third - second).toBeLessThan(MEMBERS.ttlMs)
  watch.stop()
  await one.leave()
})
