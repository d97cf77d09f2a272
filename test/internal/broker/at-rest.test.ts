import { expect, test, vi } from 'vitest'
import { followWatermark } from '../../../internal/broker/watermark.js'
import { memoryBucket } from '../../support/memory-bucket.js'

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
