import { beforeEach, expect, test } from 'vitest'
import { HeardMembers } from '../../../internal/broker/heard-members.js'
import { MEMBERS } from '../../../streams/buckets.js'

let nowMs = 0
let heard: HeardMembers

beforeEach(() => {
  nowMs = 1_000
  heard = new HeardMembers('gateway.one', () => nowMs)
  heard.heard('gateway.two', {})
})

/** Time passes in which the broker works: this process hears itself. */
function pass(ms: number): void {
  for (const endsAt = nowMs + ms; nowMs < endsAt; ) {
    nowMs = Math.min(endsAt, nowMs + 1_000)
    heard.heard('gateway.one', {})
  }
}
const live = (): string[] => [...heard.liveOthers()].map(([key]) => key)

test('a member that is silent and has not left may have events on its disk, for as long as the bucket keeps it', () => {
  expect([live(), heard.mayOthersSpool()]).toEqual([['gateway.two'], false])
  pass(4_000)
  expect([live(), heard.mayOthersSpool()]).toEqual([[], true])
  pass(MEMBERS.ttlMs - 4_000)
  expect(heard.mayOthersSpool()).toBe(true)
  pass(1_000)
  expect(heard.mayOthersSpool()).toBe(false)
})

test.each([0, 4_000])('a member that leaves %i ms after its last heartbeat has no events on its disk', (ms) => {
  pass(ms)
  heard.gone('gateway.two')

  expect([live(), heard.mayOthersSpool()]).toEqual([[], false])
})

test('after an outage of the broker, members that were there before it may have events until they are heard', () => {
  heard.heard('gateway.three', {})
  nowMs += 5 * 60_000
  // Their heartbeats have expired: the bucket no longer has them.
  for (const name of ['one', 'two', 'three']) heard.gone(`gateway.${name}`)
  expect(heard.mayOthersSpool()).toBe(true)
  pass(1_000)
  expect([live(), heard.mayOthersSpool()]).toEqual([[], true])

  heard.heard('gateway.two', {})
  expect(heard.mayOthersSpool()).toBe(true)
  heard.heard('gateway.three', { spooling: true })
  expect(heard.mayOthersSpool()).toBe(true)
  heard.heard('gateway.three', {})
  expect([live(), heard.mayOthersSpool()]).toEqual([['gateway.two', 'gateway.three'], false])
})

test('a member that died in an outage is forgotten like any other that is silent', () => {
  nowMs += 60_000
  pass(MEMBERS.ttlMs)
  expect(heard.mayOthersSpool()).toBe(true)
  pass(2_000)

  expect(heard.mayOthersSpool()).toBe(false)
})
