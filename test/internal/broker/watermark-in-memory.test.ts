import { setImmediate as nextTurn } from 'node:timers/promises'
import { expect, test, vi } from 'vitest'
import { followWatermark } from '../../../internal/broker/watermark.js'
import { FENCE } from '../../../streams/records.js'
import { memoryBucket } from '../../support/memory-bucket.js'

test.each(['new', 'lagging'])(
  'a batch in flight is known while a %s watch has reported the fence alone',
  async (which) => {
    const bucket = memoryBucket()
    await bucket.put('a.0', { done: 1, doneMs: 1_000 })
    const watermark = await followWatermark(
      bucket.kv,
      () => undefined,
      () => 2_000,
    )
    expect(await watermark.renewed()).toBe(2_000)

    if (which === 'new') bucket.forgetWatches()
    else bucket.lag()
    await bucket.put('a.0', { done: 1, doneMs: 1_000, reservedMs: 3_000 })
    await bucket.put(FENCE, { fencedMs: 4_000 })
    // In place of the reservation, behind the fence.
    await bucket.put('a.0', { done: 1, doneMs: 1_000, plan: { first: 2, last: 2, atMs: 3_000 } })
    const known: number[] = []
    bucket.between = async () => {
      await nextTurn()
      known.push(watermark.known())
    }
    if (which === 'new') bucket.reconnect()
    else await bucket.catchUp()
    await vi.waitUntil(() => known.length === 2)

    expect([...known, watermark.known()]).toEqual([2_000, 2_999, 2_999])
  },
)

test('an instant is not reused in the next quarter of an hour, since days and hours of any zone begin with one', async () => {
  const bucket = memoryBucket()
  let nowMs = Date.UTC(2026, 10, 30, 23, 59, 58)
  const passed = vi.spyOn(performance, 'now').mockReturnValue(1_000)
  const watermark = await followWatermark(
    bucket.kv,
    () => undefined,
    () => nowMs,
  )
  const before = await watermark.latest()

  const later = async (ms: number): Promise<number> => {
    passed.mockReturnValue(passed() + ms)
    nowMs += ms
    return watermark.latest()
  }

  expect(await later(1_000)).toBe(before)
  expect(await later(1_500)).toBe(nowMs)
  expect(await later(5_000)).toBe(nowMs - 5_000)
})
