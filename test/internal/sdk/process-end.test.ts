import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import { afterEach, beforeEach, expect, onTestFinished, test, vi } from 'vitest'
import { unwatchEnd, type Waiting, watchEnd } from '../../../internal/sdk/process-end.js'
import { Sender } from '../../../internal/sdk/sender.js'
import { atEnd } from '../../support/run/at-end.js'

let sends: number
const waiting: Waiting = {
  end: () => undefined,
  send: async () => void sends++,
  keep: () => undefined,
  sendNow: () => {
    throw new Error('a program that ends goes on to end')
  },
}
/** What clients of other test files, in the same process, have left. */
beforeEach(() => {
  const ends = (globalThis as unknown as Record<symbol, { waiting: Set<Waiting> }>)[
    Symbol.for('attribution-service.ends')
  ]
  for (const each of ends?.waiting ?? []) unwatchEnd(each)
})
afterEach(() => {
  unwatchEnd(waiting)
  vi.restoreAllMocks()
})

/** @returns how often the process was ended by the library, and what a listener from before saw */
async function seenOf(
  listen: (listener: () => void) => void,
): Promise<{ readonly kills: number; readonly left: number }> {
  sends = 0
  let left = -1
  const kill = vi.spyOn(process, 'kill').mockReturnValue(true)
  const listener = () => {
    left = process.listenerCount('SIGTERM')
  }
  listen(listener)
  watchEnd(waiting)
  process.emit('SIGTERM', 'SIGTERM')
  process.off('SIGTERM', listener)
  await setImmediate()
  unwatchEnd(waiting)
  expect(sends).toBe(1)
  return { kills: kill.mock.calls.length, left }
}

test('a signal is left to an application that handles it, also where it does so only once', async () => {
  expect(await seenOf((listener) => process.once('SIGTERM', listener))).toMatchObject({ kills: 0 })
  // `signal-exit` ends the process when it finds no listener but its own.
  expect(await seenOf((listener) => process.on('SIGTERM', listener))).toEqual({ kills: 0, left: 1 })
  expect(await seenOf(() => undefined)).toMatchObject({ kills: 1 })
})

test('a signal after one that the application handled is waited for again, though calls were waiting all the time', async () => {
  const kill = vi.spyOn(process, 'kill').mockReturnValue(true)
  sends = 0
  const other: Waiting = { ...waiting }
  watchEnd(other)
  process.once('SIGINT', () => undefined)
  process.emit('SIGINT', 'SIGINT')
  await setImmediate()
  expect([sends, kill.mock.calls.length]).toEqual([1, 0])

  watchEnd(waiting)
  process.emit('SIGTERM', 'SIGTERM')
  await setImmediate()
  unwatchEnd(other)

  expect([sends, kill.mock.calls.length]).toEqual([3, 1])
})

test('what could not be sent before a signal ends the process is in the spool, or said to be lost', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  onTestFinished(() => void vi.useRealTimers())
  const spoolFolder = mkdtempSync(join(tmpdir(), 'attribution-spool-'))
  atEnd(() => rmSync(spoolFolder, { recursive: true }))
  const kill = vi.spyOn(process, 'kill').mockReturnValue(true)
  for (const more of [{ spoolFolder }, {}]) {
    const ended = new Promise((resolve) => kill.mockImplementationOnce(() => resolve(undefined) ?? true))
    const fetch = () => new Promise<Response>(() => undefined)
    const sender = new Sender({
      baseUrl: 'http://service.test',
      apiKey: 'k',
      fetch,
      onProblem: () => undefined,
      ...more,
    })
    sender.record({ provider: 'openai', requested_model: 'gpt-4o' }, {})
    process.emit('SIGTERM', 'SIGTERM')
    await vi.advanceTimersByTimeAsync(3_000)
    await ended

    const isSpooled = 'spoolFolder' in more
    expect(sender.state).toMatchObject({ waiting: 0, spooled: isSpooled ? 1 : 0, lost: isSpooled ? 0 : 1 })
  }
  expect(readdirSync(spoolFolder)).toHaveLength(1)
})

test('whatever fails at the end of a process leaves its end as it is, and the rest is counted', () => {
  const before = process.listeners('exit')
  watchEnd(waiting)
  const sender = new Sender({ baseUrl: undefined as never, apiKey: 'k', onProblem: () => undefined })
  sender.record({ provider: 'openai', requested_model: 'gpt-4o' }, {})
  for (const listener of process.listeners('exit')) if (!before.includes(listener)) listener(0)

  expect(sender.state).toMatchObject({ lost: 1, waiting: 0 })
})

test('the end of a process takes a call that ended in its last turn', () => {
  const before = process.listeners('exit')
  const sender = new Sender({ baseUrl: undefined as never, apiKey: 'k', onProblem: () => undefined })
  const call = { end: () => undefined }
  sender.opened(call)
  sender.later(() => sender.record({ provider: 'openai', requested_model: 'gpt-4o' }, {}))
  sender.ended(call)
  for (const listener of process.listeners('exit')) if (!before.includes(listener)) listener(0)

  expect(sender.state).toMatchObject({ recorded: 1, lost: 1, waiting: 0 })
})
