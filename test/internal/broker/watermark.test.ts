import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import type { Progress } from '../../../internal/broker/checkpoint.js'
import { type PlannedLog, runPlannedLog } from '../../../internal/broker/planned-log.js'
import { publishOrThrow } from '../../../internal/broker/publisher.js'
import { followWatermark, type Watermark } from '../../../internal/broker/watermark.js'
import { OBSERVATIONS } from '../../../streams/observations.js'
import { FENCE } from '../../../streams/records.js'
import { type LogBroker, launchLogBroker } from '../../support/planned-logs.js'

let broker: LogBroker
let stopping: AbortController

beforeEach(async () => {
  broker = await launchLogBroker()
  stopping = new AbortController()
})
afterEach(() => {
  stopping.abort()
  vi.restoreAllMocks()
})

const fail = (cause: unknown): void => {
  if (!stopping.signal.aborted) throw cause
}
const reader = (clock: () => number = Date.now): Promise<Watermark> =>
  followWatermark(broker.deps.checkpoints, fail, clock)

/** A process that writes the rows of a log. @param write gets the instant that they are valid from */
function writer(
  key: string,
  write: (atMs: number, sequences: readonly number[]) => Promise<void> | void,
  clock: () => number = Date.now,
) {
  const dying = new AbortController()
  const log: PlannedLog<Progress> = {
    key,
    stream: OBSERVATIONS.name,
    subject: subjectOf(key),
    initial: { done: 0 },
    open: async () => async (entries, extent, _before, planned) => ({
      plan: planned ?? extent,
      after: { done: extent.last },
      size: entries.length,
      inserts: true,
      applyEffects: async () =>
        write(
          extent.atMs,
          entries.map(({ sequence }) => sequence),
        ),
    }),
  }
  const running = runPlannedLog(log, { ...broker.deps, clock }, AbortSignal.any([stopping.signal, dying.signal]))
  return {
    async die(): Promise<never> {
      dying.abort()
      throw new Error('this process is dead')
    },
    dead: running,
  }
}

const subjectOf = (key: string): string => `observations.${key.replace('.', '-')}`
let sent = 0
const send = (key: string): Promise<void> =>
  publishOrThrow(broker.publish, subjectOf(key), Buffer.from('x'), `m${sent++}`)

describe('an instant of the watermark', () => {
  test('advances with the clock while no batch is in flight', async () => {
    const watermark = await reader()

    const one = await watermark.renewed()
    await sleep(5)
    const other = await watermark.renewed()

    expect(other).toBeGreaterThan(one)
    expect(Date.now() - other).toBeLessThan(1_000)
  })

  test('stays before a batch until the batch is complete', async () => {
    const watermark = await reader()
    let written = (): void => undefined
    let finish = (): void => undefined
    const isWriting = new Promise<number>((resolve) => {
      writer('a.0', (atMs) => {
        resolve(atMs)
        return new Promise((done) => {
          finish = done
        })
      })
    })
    await send('a.0')
    const atMs = await isWriting

    const during = [await watermark.renewed(), await watermark.renewed()]
    const isDone = new Promise<void>((resolve) => {
      written = resolve
    })
    finish()
    void broker.untilDone('a.0', OBSERVATIONS.name, subjectOf('a.0')).then(written)
    await isDone

    expect(during).toEqual([atMs - 1, atMs - 1])
    expect(await watermark.renewed()).toBeGreaterThanOrEqual(atMs)
  })

  test.each(['audit', 'l.0'])('ignores a log that writes no records: %s', async (key) => {
    const watermark = await reader()
    let finish = (): void => undefined
    const isAtWork = new Promise<number>((resolve) => {
      writer(key, (atMs) => {
        resolve(atMs)
        return new Promise((done) => {
          finish = done
        })
      })
    })
    await send(key)
    const atMs = await isAtWork

    expect(await watermark.renewed()).toBeGreaterThanOrEqual(atMs)
    finish()
  })

  test('is earlier than records that a writer with a slow clock writes afterwards', async () => {
    const watermark = await reader()
    const given = await watermark.renewed()

    const atMs = await new Promise<number>((resolve) => {
      writer('a.0', resolve, () => Date.now() - 60_000)
      void send('a.0')
    })

    expect(atMs).toBeGreaterThan(given)
  })

  test('includes records that a writer with a fast clock has written', async () => {
    const watermark = await reader()
    writer(
      'a.0',
      () => undefined,
      () => Date.now() + 60_000,
    )
    await send('a.0')
    await broker.untilDone('a.0', OBSERVATIONS.name, subjectOf('a.0'))

    expect(await watermark.renewed()).toBeGreaterThan(Date.now() + 50_000)
  })

  test('stays before the batch of a dead process until another process has applied it', async () => {
    const watermark = await reader()
    const tried: number[] = []
    const dying = writer('a.0', (atMs) => {
      tried.push(atMs)
      return dying.die()
    })
    await send('a.0')
    await dying.dead
    const [first = 0] = tried
    const afterDeath = [await watermark.renewed(), await (await reader()).renewed()]

    writer('a.0', (atMs) => void tried.push(atMs))
    await broker.untilDone('a.0', OBSERVATIONS.name, subjectOf('a.0'))

    expect(afterDeath).toEqual([first - 1, first - 1])
    expect(tried).toEqual([first, first])
    expect(await watermark.renewed()).toBeGreaterThanOrEqual(first)
  })
})

test('an instant is reused for a moment only while a batch has ended that it does not include', async () => {
  const now = vi.spyOn(performance, 'now').mockReturnValue(1_000_000)
  const watermark = await reader()
  const before = await watermark.renewed()
  const unchanged = [await watermark.latest()]
  now.mockReturnValue(1_000_050)
  unchanged.push(await watermark.latest())

  const written: number[] = []
  writer('a.2', (atMs, sequences) => void written.push(atMs, ...sequences))
  await send('a.2')
  await broker.untilDone('a.2', OBSERVATIONS.name, subjectOf('a.2'))
  const [atMs = Number.NaN, sequence = Number.NaN] = written
  expect(await watermark.isDone('a.2', sequence, 10_000)).toBe(true)

  expect(unchanged).toEqual([before, before])
  expect(await watermark.latest()).toBeGreaterThanOrEqual(atMs)
})

test('an instant is reused for ten seconds, without another fence, while no writer makes progress', async () => {
  const now = vi.spyOn(performance, 'now').mockReturnValue(1_000_000)
  const watermark = await reader()
  const before = await watermark.renewed()
  const fences = vi.spyOn(broker.deps.checkpoints, 'update')
  const atRest: number[] = []
  for (const ms of [200, 5_000, 9_000]) {
    now.mockReturnValue(1_000_000 + ms)
    atRest.push(await watermark.latest())
  }
  const written = fences.mock.calls.length

  now.mockReturnValue(1_009_500)
  // By a process of whose progress this one may not have heard yet.
  await broker.deps.checkpoints.put('a.0', JSON.stringify({ done: 1, doneMs: before + 1 }))
  const afterProgress = await watermark.latest()
  now.mockReturnValue(1_030_000)
  fences.mockClear()
  const late = await watermark.latest()

  expect(atRest).toEqual([before, before, before])
  expect(written).toBe(0)
  expect(afterProgress).toBeGreaterThan(before)
  // Another fence, which may be of the same millisecond.
  expect(fences).toHaveBeenCalled()
  expect(late).toBeGreaterThanOrEqual(afterProgress)
})

test('an instant is not reused while it is before what is done, whichever process has set the fence', async () => {
  const now = vi.spyOn(performance, 'now').mockReturnValue(1_000_000)
  const watermark = await reader()
  const before = await watermark.renewed()
  const { checkpoints } = broker.deps
  const doneMs = before + 60_000

  await checkpoints.put('a.0', JSON.stringify({ done: 1, doneMs }))
  await checkpoints.put(FENCE, JSON.stringify({ fencedMs: before }))
  expect(await watermark.isDone('a.0', 1, 10_000)).toBe(true)
  now.mockReturnValue(1_000_200)

  expect(await watermark.latest()).toBeGreaterThanOrEqual(doneMs)
})

test('the fence is read before it is set only where another process has just set it', async () => {
  const reads = vi.spyOn(broker.deps.checkpoints, 'get')
  const [one, other] = [await reader(), await reader()]
  await one.renewed()
  await one.renewed()
  const alone = reads.mock.calls.length

  const together = await Promise.all([one.renewed(), other.renewed(), one.renewed(), other.renewed()])

  expect(alone).toBe(0)
  expect(reads.mock.calls.length).toBeGreaterThan(0)
  expect(await one.renewed()).toBeGreaterThanOrEqual(Math.max(...together))
})

test('a snapshot at an instant never changes, whichever processes write, die and read', async () => {
  const rows: { readonly atMs: number; readonly name: string }[] = []
  const keys = ['a.0', 'a.1', 'b.0', 'changes']
  const perLog = 60
  const startWriter = (key: string): void => {
    const skewMs = Math.floor(Math.random() * 400) - 200
    const process = writer(
      key,
      async (atMs, sequences) => {
        await sleep(Math.random() * 20)
        if (Math.random() < 0.1) {
          startWriter(key)
          await process.die()
        }
        for (const sequence of sequences) {
          const name = `${key}/${sequence}`
          if (!rows.some((row) => row.name === name)) rows.push({ atMs, name })
        }
      },
      () => Date.now() + skewMs,
    )
  }
  for (const key of keys) startWriter(key)

  const seen: { readonly instant: number; readonly names: ReadonlySet<string> }[] = []
  const reading = new AbortController()
  const namesAsOf = (instant: number): Set<string> =>
    new Set(rows.filter(({ atMs }) => atMs <= instant).map(({ name }) => name))
  const readers = [0, -150, 150].map(async (skewMs) => {
    const watermark = await reader(() => Date.now() + skewMs)
    while (!reading.signal.aborted) {
      const instant = Math.random() < 0.5 ? await watermark.latest() : await watermark.renewed()
      seen.push({ instant, names: namesAsOf(instant) })
      await sleep(Math.random() * 10)
    }
  })
  for (let i = 0; i < perLog; i++) {
    for (const key of keys) await send(key)
    await sleep(Math.random() * 30)
  }
  for (const key of keys) await broker.untilDone(key, OBSERVATIONS.name, subjectOf(key))
  reading.abort()
  await Promise.all(readers)

  expect(rows.length).toBe(keys.length * perLog)
  expect(seen.length).toBeGreaterThan(50)
  expect(new Set(seen.map(({ names }) => names.size)).size).toBeGreaterThan(5)
  for (const { instant, names } of seen) expect(namesAsOf(instant)).toEqual(names)
})
