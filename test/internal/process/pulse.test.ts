import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { createPulse, PULSE_MS } from '../../../internal/process/pulse.js'

// Other files of this worker may have left the process's own running.
const onPulse = createPulse()

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

test('what began at different times looks in the same turn', () => {
  const looks: string[] = []
  const ends = [onPulse(() => void looks.push('first'))]
  vi.advanceTimersByTime(PULSE_MS / 2)
  ends.push(onPulse(() => void looks.push('second')))
  expect(vi.getTimerCount()).toBe(1)

  vi.advanceTimersByTime(PULSE_MS / 2)

  expect(looks).toEqual(['first', 'second'])
  for (const end of ends) end()
  expect(vi.getTimerCount()).toBe(0)
})

test('a look that takes longer than a pulse is not begun twice, and delays no other', async () => {
  let ended: () => void = () => undefined
  const counts = { slow: 0, other: 0 }
  const ends = [
    onPulse(() => {
      counts.slow++
      return new Promise<void>((resolve) => {
        ended = resolve
      })
    }),
    onPulse(() => void counts.other++),
  ]

  await vi.advanceTimersByTimeAsync(3 * PULSE_MS)
  expect(counts).toEqual({ slow: 1, other: 3 })
  ended()
  await vi.advanceTimersByTimeAsync(PULSE_MS)

  expect(counts).toEqual({ slow: 2, other: 4 })
  for (const end of ends) end()
})
