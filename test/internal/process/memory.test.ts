import { setImmediate as nextTurn } from 'node:timers/promises'
import { afterEach, expect, test, vi } from 'vitest'
import { collectGarbage, collectWhenIdle, idleCollector } from '../../../internal/process/memory.js'

afterEach(() => void vi.useRealTimers())

test('what nobody refers to any more is collected at once', async () => {
  const kept = { bytes: new Uint8Array(1024) }
  const refs = [new WeakRef(kept), new WeakRef({ bytes: new Uint8Array(1024) })]
  // A WeakRef keeps its object until the end of the turn that has made it.
  await nextTurn()

  collectGarbage()

  expect(refs.map((ref) => ref.deref())).toEqual([kept, undefined])
})

test('garbage is collected once whenever a process has become idle', () => {
  let share = 0.9
  let collections = 0
  const look = idleCollector(
    () => share,
    () => collections++,
  )
  const lookAt = (next: number): number => {
    share = next
    look()
    return collections
  }

  expect([0.9, 0.01, 0.02, 0.5, 0.3, 0.04, 0].map(lookAt)).toEqual([0, 1, 1, 1, 1, 2, 2])
})

test('a process that does little collects its garbage', async () => {
  const garbage = new WeakRef({ bytes: new Uint8Array(1024) })
  await nextTurn()
  vi.useFakeTimers()
  collectWhenIdle()

  vi.advanceTimersByTime(60_000)

  expect(garbage.deref()).toBeUndefined()
})
