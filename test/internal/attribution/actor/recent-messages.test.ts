import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { RecentMessages } from '../../../../internal/attribution/actor/checkpoint.js'
import { firstRecent, withBatch } from '../../../../internal/attribution/actor/recent-messages.js'

const READ_AGAIN = { windowMs: 3_600_000, bytesMax: 1_000_000 }

interface Batch {
  readonly afterMs: number
  readonly bytes: number
}

/** The recent messages after each of these batches, of one message each. */
function afterEach(batches: readonly Batch[]) {
  const times: number[] = []
  let recent: readonly RecentMessages[] = []
  return batches.map(({ afterMs, bytes }, after) => {
    times.push((times.at(-1) ?? 0) + afterMs)
    recent = withBatch(recent, { after, atMs: times[after] ?? 0, bytes }, READ_AGAIN)
    return recent
  })
}

test('all within the window and the bytes is remembered, in few entries and not many more bytes', () => {
  const batch = fc.record({
    afterMs: fc.oneof(fc.integer({ min: 1, max: 1_000 }), fc.integer({ min: 1, max: 4_000_000 })),
    bytes: fc.oneof(fc.constant(0), fc.integer({ min: 1, max: 1_000 }), fc.integer({ min: 1, max: 300_000 })),
  })
  fc.assert(
    fc.property(fc.array(batch, { minLength: 1, maxLength: 200 }), (batches) => {
      const recent = afterEach(batches).at(-1) ?? []
      const first = firstRecent({ done: batches.length, recent }) ?? Number.NaN

      const newer = (sequence: number) => batches.slice(sequence)
      const ageOf = (sequence: number) => newer(sequence).reduce((sum, { afterMs }) => sum + afterMs, 0)
      const bytesAfter = (sequence: number) => newer(sequence).reduce((sum, { bytes }) => sum + bytes, 0)
      // The message before the first one is too old, or there are enough behind it.
      if (first > 1) {
        expect(ageOf(first - 1) > READ_AGAIN.windowMs || bytesAfter(first - 1) >= READ_AGAIN.bytesMax).toBe(true)
      }
      expect(bytesAfter(first)).toBeLessThanOrEqual(READ_AGAIN.bytesMax * (1 + 1 / 6) + 300_000)
      expect(recent.length).toBeLessThanOrEqual(14)
    }),
  )
})

test('what is remembered says when its first batch was', () => {
  const batches = Array.from({ length: 8 }, () => ({ afterMs: 400_000, bytes: 10 }))

  expect(afterEach(batches).at(-1)).toEqual([
    { after: 0, atMs: 400_000, bytes: 20 },
    { after: 2, atMs: 1_200_000, bytes: 20 },
    { after: 4, atMs: 2_000_000, bytes: 20 },
    { after: 6, atMs: 2_800_000, bytes: 20 },
  ])
  expect(firstRecent({ done: 0 })).toBeUndefined()
})
