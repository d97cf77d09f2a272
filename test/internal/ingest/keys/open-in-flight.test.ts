import { expect, test, vi } from 'vitest'
import { openInFlight } from '../../../../internal/ingest/keys/open-in-flight.js'
import { atEnd } from '../../../support/run/at-end.js'

function inFlight() {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval', 'setImmediate', 'performance'] })
  const { inFlight, close } = openInFlight<string>()
  atEnd(() => {
    close()
    vi.restoreAllMocks()
    vi.useRealTimers()
  })
  const overdue: string[] = []
  return {
    overdue,
    begin: (name: string) =>
      inFlight.begin(Int32Array.of(name.length, 0, 0, 0), Int32Array.of(0, 0), {
        onOutcome: () => undefined,
        overdue: () => overdue.push(name),
      }),
    settle: (ticket: number) => inFlight.settle(ticket, true, '202'),
  }
}

/** The process has no processor time: no timer runs, and all that is due runs once afterwards. */
function stall(ms: number): void {
  const now = performance.now()
  vi.spyOn(performance, 'now').mockImplementation(() => now + ms)
  vi.advanceTimersByTime(100)
}

test('a request is overdue once its key has been in flight for two seconds', () => {
  const { begin, overdue } = inFlight()
  begin('a')

  vi.advanceTimersByTime(1_900)
  expect(overdue).toEqual([])
  vi.advanceTimersByTime(200)

  expect(overdue).toEqual(['a'])
})

test('turns of the event loop that are long do not put it off', () => {
  const { begin, overdue } = inFlight()
  let nowMs = performance.now()
  vi.spyOn(performance, 'now').mockImplementation(() => nowMs)
  begin('a')

  for (const end = nowMs + 2_200; nowMs < end; nowMs += 180) vi.advanceTimersByTime(100)

  expect(overdue).toEqual(['a'])
})

test('no request is overdue because the process had no processor time', () => {
  const { begin, overdue, settle } = inFlight()
  const before = begin('a')
  vi.advanceTimersByTime(100)

  stall(10_000)
  const after = begin('bb')
  vi.advanceTimersByTime(100)

  expect(overdue).toEqual([])
  settle(before)
  settle(after)
})
