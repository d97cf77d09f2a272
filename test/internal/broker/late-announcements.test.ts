import { expect, test } from 'vitest'
import { LateAnnouncements } from '../../../internal/broker/late-announcements.js'

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
