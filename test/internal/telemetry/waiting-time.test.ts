import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { reportWhileWaiting } from '../../../internal/telemetry/waiting-time.js'

beforeEach(() => void vi.useFakeTimers({ now: Date.UTC(2026, 10, 24) }))
afterEach(() => void vi.useRealTimers())

test('a dependency that does not answer is named within 3 s: what, where, since when, no password', async () => {
  const lines: string[] = []
  let answer: (value: string) => void = () => undefined
  const pending = new Promise<string>((resolve) => {
    answer = resolve
  })

  const waiting = reportWhileWaiting('NATS', 'nats://user:s3cret@broker:4222', pending, (line) => lines.push(line))
  await vi.advanceTimersByTimeAsync(3_000)
  expect(lines).toEqual(['waiting for NATS at nats://broker:4222 since 2026-11-24T00:00:00.000Z: it does not answer'])

  await vi.advanceTimersByTimeAsync(30_000)
  answer('there')
  expect(await waiting).toBe('there')
  await vi.advanceTimersByTimeAsync(60_000)
  expect(lines).toHaveLength(2)
})
