import { randomBytes } from 'node:crypto'
import { expect, test } from 'vitest'
import { RecentEvents } from '../../../../internal/ingest/keys/recent-events.js'
import { NOW_MS } from '../../../support/invocations.js'

test('events that were stored lately are known, and others are not', () => {
  const recent = new RecentEvents()
  const ids = Array.from({ length: 1_000 }, () => randomBytes(16))
  for (const id of ids) recent.add(id, NOW_MS)

  // A younger one may take the place of an older one.
  expect(ids.filter((id) => recent.has(id, NOW_MS)).length).toBeGreaterThan(990)
  expect(recent.has(ids.at(-1) ?? Buffer.alloc(16), NOW_MS)).toBe(true)
  expect(Array.from({ length: 1_000 }, () => randomBytes(16)).filter((id) => recent.has(id, NOW_MS))).toEqual([])
})

test('an id that differs in one bit is another event', () => {
  const recent = new RecentEvents()
  const id = randomBytes(16)
  recent.add(id, NOW_MS)

  for (let bit = 0; bit < 128; bit++) {
    const other = Buffer.from(id)
    other[bit >> 3] = (other[bit >> 3] ?? 0) ^ (1 << (bit & 7))
    expect(recent.has(other, NOW_MS)).toBe(false)
  }
})

test('its memory is bounded: of very many, the newest are known', () => {
  const recent = new RecentEvents()
  const old = randomBytes(16)
  recent.add(old, NOW_MS)
  const bytes = randomBytes(16 * 2_000_000)
  for (let at = 0; at < bytes.length; at += 16) recent.add(bytes.subarray(at, at + 16), NOW_MS)
  const newest = Array.from({ length: 10_000 }, () => randomBytes(16))
  for (const id of newest) recent.add(id, NOW_MS)

  expect(newest.filter((id) => recent.has(id, NOW_MS)).length).toBeGreaterThan(9_700)
  expect(recent.has(bytes.subarray(0, 16), NOW_MS)).toBe(false)
})

test('an event is known for seven days, or for as short as one asks', () => {
  const recent = new RecentEvents()
  const id = randomBytes(16)
  recent.add(id, NOW_MS)
  const DAY_MS = 24 * 60 * 60 * 1000

  expect(recent.has(id, NOW_MS + 7 * DAY_MS - 1_000)).toBe(true)
  expect(recent.has(id, NOW_MS + 7 * DAY_MS + 1_000)).toBe(false)
  expect(recent.has(id, NOW_MS + 59_000, 60_000)).toBe(true)
  expect(recent.has(id, NOW_MS + 61_000, 60_000)).toBe(false)
  recent.add(id, NOW_MS + 8 * DAY_MS)
  expect(recent.has(id, NOW_MS + 8 * DAY_MS)).toBe(true)
})
