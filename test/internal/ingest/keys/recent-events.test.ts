import { randomBytes } from 'node:crypto'
import { expect, test } from 'vitest'
import { RecentEvents } from '../../../../internal/ingest/keys/recent-events.js'

test('events that were stored lately are known, and others are not', () => {
  const recent = new RecentEvents()
  const ids = Array.from({ length: 1_000 }, () => randomBytes(16))
  for (const id of ids) recent.add(id)

  // A younger one may take the place of an older one.
  expect(ids.filter((id) => recent.has(id)).length).toBeGreaterThan(990)
  expect(recent.has(ids.at(-1) ?? Buffer.alloc(16))).toBe(true)
  expect(Array.from({ length: 1_000 }, () => randomBytes(16)).filter((id) => recent.has(id))).toEqual([])
})

test('an id that differs in one bit is another event', () => {
  const recent = new RecentEvents()
  const id = randomBytes(16)
  recent.add(id)

  for (let bit = 0; bit < 128; bit++) {
    const other = Buffer.from(id)
    other[bit >> 3] = (other[bit >> 3] ?? 0) ^ (1 << (bit & 7))
    expect(recent.has(other)).toBe(false)
  }
})

test('its memory is bounded: of very many, the newest are known', () => {
  const recent = new RecentEvents()
  const old = randomBytes(16)
  recent.add(old)
  const bytes = randomBytes(16 * 1_000_000)
  for (let at = 0; at < bytes.length; at += 16) recent.add(bytes.subarray(at, at + 16))
  for (let at = 0; at < bytes.length; at += 16) recent.add(randomBytes(16))
  const newest = Array.from({ length: 10_000 }, () => randomBytes(16))
  for (const id of newest) recent.add(id)

  expect(newest.filter((id) => recent.has(id)).length).toBeGreaterThan(9_700)
  expect(recent.has(bytes.subarray(0, 16))).toBe(false)
})
