import { expect, test } from 'vitest'
import { LateAnnouncements, OwnHeartbeats } from '../../../internal/broker/own-heartbeats.js'

function beating() {
  let nowMs = 0
  const lapses: number[] = []
  const own = new OwnHeartbeats(() => nowMs)
  own.onCurrentAgain((lapsedMs) => lapses.push(lapsedMs))
  return {
    own,
    to: (ms: number): void => {
      nowMs = ms
    },
    regained: () => lapses.length,
    lapses,
  }
}

test('a view of the members is current for 2.5 s after the sending of a heartbeat that has come back', () => {
  const { own, to } = beating()
  expect(own.areCurrent).toBe(false)
  const beat = own.next()
  to(2_000)
  own.cameBack(beat)
  expect(own.areCurrent).toBe(true)
  to(2_500)
  expect(own.areCurrent).toBe(true)
  to(2_501)
  expect(own.areCurrent).toBe(false)
})

test('a heartbeat that comes back too late, or of another process, proves nothing', () => {
  const { own, to, regained } = beating()
  const beat = own.next()
  to(2_600)
  own.cameBack(beat)
  own.cameBack(77)
  own.cameBack(undefined)

  expect([own.areCurrent, regained()]).toEqual([false, 0])
})

test('each gap is reported once, with its length, however short it was, and although nobody asked meanwhile', () => {
  const { own, to, regained, lapses } = beating()
  for (const ms of [0, 1_000, 2_000]) {
    to(ms)
    own.cameBack(own.next())
  }
  expect(regained()).toBe(1)

  to(4_600) // a gap of 0.1 s
  own.cameBack(own.next())
  own.cameBack(own.next())
  expect(regained()).toBe(2)
  // At first it had nothing to lose.
  expect(lapses).toEqual([0, 2_600])
})

test('an announcement is counted, and its wait stated until the next one', () => {
  const announcements = new LateAnnouncements()
  expect(announcements.stated).toBeUndefined()

  announcements.announce(900)
  expect(announcements.stated).toEqual({ count: 1, waitedMs: 900 })
  announcements.stored(announcements.stated)
  announcements.announce(200)
  expect(announcements.stated).toEqual({ count: 2, waitedMs: 200 })
})

test('of announcements that no stored heartbeat has stated, the longest wait is stated', () => {
  const announcements = new LateAnnouncements()
  announcements.announce(900)
  const { stated } = announcements
  announcements.announce(200)
  // The heartbeat of the first one arrives late.
  announcements.stored(stated)

  expect(announcements.stated).toEqual({ count: 2, waitedMs: 900 })
  announcements.announce(300)
  expect(announcements.stated).toEqual({ count: 3, waitedMs: 900 })
})
