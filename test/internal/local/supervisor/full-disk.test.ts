import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { watchDisk } from '../../../../internal/local/supervisor/full-disk.js'

const MIB = 1024 ** 2

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

test('a full disk is noticed once, and room only when there is enough of it', () => {
  const seen: string[] = []
  let free = 1_000 * MIB
  const watch = watchDisk({ onFull: () => seen.push('full'), onRoom: () => seen.push('room') }, () => free)
  const after = (bytes: number): readonly string[] => {
    free = bytes
    vi.advanceTimersByTime(2_000)
    return [...seen]
  }

  expect(after(65 * MIB)).toEqual([])
  expect(after(63 * MIB)).toEqual(['full'])
  expect(after(0)).toEqual(['full'])
  expect(after(200 * MIB)).toEqual(['full'])
  expect(after(300 * MIB)).toEqual(['full', 'room'])
  expect(after(10 * MIB)).toEqual(['full', 'room', 'full'])
  watch.stop()
  expect(after(500 * MIB)).toEqual(['full', 'room', 'full'])
})
