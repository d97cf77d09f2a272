import { afterEach, beforeAll, describe, expect, test, vi } from 'vitest'
import { EMPTY_READS_MAX } from '../../../internal/broker/arrivals.js'
import type { Extent, Progress } from '../../../internal/broker/checkpoint.js'
import { askForPause, followPauses } from '../../../internal/broker/pause.js'
import { type PlannedLog, type PlannedLogDeps, pauseAfter } from '../../../internal/broker/planned-log.js'
import { publishOrThrow } from '../../../internal/broker/publisher.js'
import { OBSERVATIONS } from '../../../streams/observations.js'
import { type LogBroker, launchLogBroker, startPlannedLog } from '../../support/planned-logs.js'

let broker: LogBroker

beforeAll(async () => {
  broker = await launchLogBroker()
})

let logs = 0

/** A log that no other test uses. */
function newLog() {
  const key = `log-${++logs}`
  const subject = `observations.${key}`
  let sent = 0
  return {
    key,
    subject,
    async send(count: number): Promise<void> {
      for (let i = 0; i < count; i++)
        await publishOrThrow(broker.publish, subject, Buffer.from('x'), `${key}.${sent++}`)
    },
    untilDone: () => broker.untilDone(key, OBSERVATIONS.name, subject),
    /** Resolves once the checkpoint is exactly there, without a plan. */
    async untilDoneWith(sequence: number): Promise<void> {
      await vi.waitUntil(async () => {
        const { done, plan } = (await broker.deps.checkpoints.get(key))?.json<Progress>() ?? {}
        return done === sequence && plan === undefined
      })
    },
    checkpoint: async () => (await broker.deps.checkpoints.get(key))?.json<Progress>(),
  }
}

interface Done extends Extent {
  readonly sequences: readonly number[]
}

/** A process that reads the log. @param effect of a batch, called before the batch is marked as done */
function start(
  log: ReturnType<typeof newLog>,
  effect: (batch: Done) => Promise<void> | void,
  {
    preparing,
    events,
    ...limits
  }: Pick<PlannedLog<Progress>, 'messagesMax' | 'foresee' | 'canWait'> & {
    preparing?: () => Promise<void> | void
    events?: number
  } = {},
  deps: PlannedLogDeps = broker.deps,
) {
  let opened = 0
  let prepared = 0
  const planned: PlannedLog<Progress> = {
    key: log.key,
    stream: OBSERVATIONS.name,
    subject: log.subject,
    initial: { done: 0 },
    ...limits,
    async open() {
      opened++
      return async (entries, extent, _before, plan) => {
        prepared++
        await preparing?.()
        return {
          plan: plan ?? extent,
          after: { done: extent.last },
          size: events ?? entries.length,
          inserts: false,
          async applyEffects() {
            const { first, last, atMs } = extent
            await effect({ first, last, atMs, sequences: entries.map(({ sequence }) => sequence) })
          },
        }
      }
    },
  }
  return { opened: () => opened, prepared: () => prepared, ...startPlannedLog(planned, deps) }
}

describe('a batch', () => {
  test('that a dead process has planned is formed again by the next owner, whatever has arrived since', async () => {
    const log = newLog()
    const tried: Done[] = []
    await log.send(3)
    const dying = start(log, (batch) => {
      tried.push(batch)
      dying.die()
    })
    await dying.dead
    await log.send(2)

    const next = start(log, (batch) => void tried.push(batch))
    await log.untilDone()
    await next.stop()

    expect(tried).toHaveLength(3)
    expect(tried[1]).toEqual(tried[0])
    expect(tried[2]?.sequences).toHaveLength(2)
    expect(tried[2]?.first).toBeGreaterThan(tried[1]?.last ?? 0)
  })

  test('has as many messages as the log’s cut says; the rest form the next batch', async () => {
    const log = newLog()
    const sizes: number[] = []
    await log.send(5)

    const process = start(log, ({ sequences }) => void sizes.push(sequences.length), { messagesMax: 2 })
    await log.untilDone()
    await process.stop()

    expect(sizes).toEqual([2, 2, 1])
  })

  test('that is full is applied while the next one is read, which is formed even if it fails at first', async () => {
    const log = newLog()
    const tried: number[][] = []
    let reads = 0
    let onRead = (): void => undefined
    const deps: PlannedLogDeps = {
      ...broker.deps,
      async readLog(range) {
        const entries = await broker.deps.readLog(range)
        reads++
        onRead()
        return entries
      },
    }
    await log.send(3)

    const process = start(
      log,
      async ({ sequences }) => {
        tried.push([...sequences])
        if (tried.length === 1 && reads === 1) {
          await new Promise<void>((resolve) => {
            onRead = resolve
          })
        }
        if (tried.length === 2) throw new Error('a dependency is unavailable')
      },
      { messagesMax: 1, events: 5_000 },
      deps,
    )
    await log.untilDone()
    await process.stop()

    expect(tried.map(({ length }) => length)).toEqual([1, 1, 1, 1])
    expect(tried[2]).toEqual(tried[1])
    expect(new Set(tried.flat()).size).toBe(3)
  })

  test('is foreseen while a full one is applied, with the checkpoint that it will find', async () => {
    const log = newLog()
    const sequences: number[] = []
    const foreseen: number[][] = []
    await log.send(3)

    const process = start(log, (batch) => void sequences.push(...batch.sequences), {
      messagesMax: 1,
      events: 5_000,
      foresee: (entries, { done }) => foreseen.push([done, ...entries.map(({ sequence }) => sequence)]),
    })
    await log.untilDone()
    await process.stop()

    const [first, second, third] = sequences
    expect(foreseen).toEqual([[first, second], [second, third], [third]])
  })

  test('that fails is formed again by the same process, which keeps its in-memory state', async () => {
    const log = newLog()
    const tried: Done[] = []
    await log.send(2)

    const process = start(log, async (batch) => {
      tried.push(batch)
      if (tried.length > 2) return
      await log.send(1)
      throw new Error('a dependency is unavailable')
    })
    await log.untilDone()
    await process.stop()

    expect(process.opened()).toBe(1)
    expect(tried.slice(0, 3)).toEqual([tried[0], tried[0], tried[0]])
    expect(tried.flatMap(({ sequences }) => sequences).length).toBe(3 * 2 + 2)
  })

  test('that another process has applied meanwhile is not applied again, and in-memory state is reset', async () => {
    const log = newLog()
    await log.send(2)
    const other: Done[] = []
    const mine: Done[] = []

    let another = (): void => undefined
    const hasAnother = new Promise<void>((resolve) => {
      another = resolve
    })

    const process = start(log, async (batch) => {
      mine.push(batch)
      if (mine.length > 1) return another()
      const taking = start(log, (taken) => void other.push(taken))
      await log.untilDone()
      await taking.stop()
      await log.send(1)
      throw new Error('a dependency is unavailable')
    })
    await hasAnother
    await log.untilDone()
    await process.stop()

    expect(process.opened()).toBe(2)
    expect(other).toEqual([mine[0]])
    expect(mine[1]?.sequences).toHaveLength(1)
  })
})

describe('a batch that takes longer to prepare than the maximum age of the proof of ownership', () => {
  /** Advances the monotonic clock, as if the process had been stalled. */
  function passTime(ms: number): void {
    const before = performance.now.bind(performance)
    vi.spyOn(performance, 'now').mockImplementation(() => before() + ms)
  }
  afterEach(() => {
    vi.restoreAllMocks()
  })

  test('is applied at the first attempt', async () => {
    const log = newLog()
    const tried: Done[] = []
    await log.send(2)

    const process = start(log, (batch) => void tried.push(batch), { preparing: () => passTime(25_000) })
    await log.untilDone()
    await process.stop()

    expect(tried.map(({ sequences }) => sequences.length)).toEqual([2])
    expect(process.prepared()).toBe(1)
  })

  test('is also applied when a dead process has planned it', async () => {
    const log = newLog()
    const tried: Done[] = []
    await log.send(2)
    const dying = start(log, () => dying.die())
    await dying.dead

    const process = start(log, (batch) => void tried.push(batch), { preparing: () => passTime(25_000) })
    await log.untilDone()
    await process.stop()

    expect(tried.map(({ sequences }) => sequences.length)).toEqual([2])
    expect(process.prepared()).toBe(1)
  })

  test('is not applied when another process has applied it meanwhile', async () => {
    const log = newLog()
    await log.send(2)
    const dying = start(log, () => dying.die())
    await dying.dead
    const other: Done[] = []
    const mine: Done[] = []
    let carriedOut = (): void => undefined
    const hasMine = new Promise<void>((resolve) => {
      carriedOut = resolve
    })

    const note = (batch: Done): void => {
      mine.push(batch)
      carriedOut()
    }
    const slow = start(log, note, {
      async preparing() {
        if (slow.prepared() > 1) return
        const taking = start(log, (taken) => void other.push(taken))
        await log.untilDone()
        await taking.stop()
        await log.send(1)
        passTime(25_000)
      },
    })
    await hasMine
    await slow.stop()

    expect(other.map(({ sequences }) => sequences.length)).toEqual([2])
    expect(mine.map(({ sequences }) => sequences.length)).toEqual([1])
  })
})

test('two processes that both consider themselves the owner never put one message into two batches', async () => {
  const log = newLog()
  const tried: Done[] = []
  const note = (batch: Done): void => void tried.push(batch)

  const processes = [start(log, note), start(log, note), start(log, note)]
  for (let i = 0; i < 30; i++) await log.send(7)
  await log.untilDone()
  for (const process of processes) await process.stop()

  const batches = new Map(tried.map((batch) => [`${batch.first}-${batch.last}`, batch]))
  expect(tried).toEqual(tried.map(({ first, last }) => batches.get(`${first}-${last}`)))
  const sequences = [...batches.values()].flatMap((batch) => batch.sequences)
  expect(sequences.length).toBe(30 * 7)
  expect(new Set(sequences).size).toBe(30 * 7)
})

test('when all messages are processed the checkpoint has no plan, and a new owner applies nothing again', async () => {
  const log = newLog()
  await log.send(3)
  const first = start(log, () => undefined)
  await log.untilDone()
  await first.stop()
  const checkpoint = await log.checkpoint()

  const again: Done[] = []
  const second = start(log, (batch) => void again.push(batch))
  await log.send(1)
  await log.untilDone()
  await second.stop()

  expect(checkpoint?.plan).toBeUndefined()
  expect(again.map(({ sequences }) => sequences.length)).toEqual([1])
  expect(again[0]?.first).toBeGreaterThan(checkpoint?.done ?? 0)
})

test('a paused reader ends its batch, saves its checkpoint without a plan, and starts none until resumed', async () => {
  const log = newLog()
  const isPaused = followPauses(broker.connection)
  const applied: number[] = []
  let goOn = (): void => undefined
  const held = new Promise<void>((resolve) => {
    goOn = resolve
  })
  await log.send(1)
  const reader = start(
    log,
    async ({ sequences }) => {
      applied.push(...sequences)
      if (applied.length === 1) await held
    },
    {},
    { ...broker.deps, isPaused },
  )
  await vi.waitUntil(() => applied.length === 1)

  await askForPause(broker.connection, 30_000)
  await vi.waitUntil(isPaused)
  await log.send(1)
  goOn()
  await log.untilDoneWith(applied[0] ?? 0)
  await broker.connection.rtt()
  expect(applied).toHaveLength(1)

  await askForPause(broker.connection, 0)
  await log.untilDone()
  expect(applied).toHaveLength(2)
  await reader.stop()
})

test('a pause ends by itself', async () => {
  let nowMs = 0
  const isPaused = followPauses(broker.connection, () => nowMs)
  await askForPause(broker.connection, 20_000)
  await vi.waitUntil(isPaused)

  nowMs = 19_999
  expect(isPaused()).toBe(true)
  nowMs = 20_000
  expect(isPaused()).toBe(false)
})

test('a deleted checkpoint is created again', async () => {
  const log = newLog()
  await log.send(2)
  await broker.deps.checkpoints.put(log.key, JSON.stringify({ done: 1_000_000 }))
  await broker.deps.checkpoints.delete(log.key)

  const read: Done[] = []
  const process = start(log, (batch) => void read.push(batch))
  await log.untilDone()
  await process.stop()

  expect(read.flatMap(({ sequences }) => sequences)).toHaveLength(2)
})

test('a quiet log is not read again until its next message is published', async () => {
  const log = newLog()
  const applied: Done[] = []
  let reads = 0
  let listened = (): void => undefined
  const isQuiet = new Promise<void>((resolve) => {
    listened = resolve
  })
  const deps: PlannedLogDeps = {
    ...broker.deps,
    readLog(range) {
      reads++
      return broker.deps.readLog(range)
    },
    nextArrival(subject) {
      const arrival = broker.deps.nextArrival(subject)
      listened()
      // It does not look by itself.
      return { ...arrival, within: (_, signal) => arrival.within(600_000, signal) }
    },
  }

  const process = start(log, (batch) => void applied.push(batch), {}, deps)
  await isQuiet
  const readsBefore = reads
  await log.send(1)
  await log.untilDone()
  await process.stop()

  expect(readsBefore).toBe(EMPTY_READS_MAX + 1)
  expect(applied.map(({ sequences }) => sequences.length)).toEqual([1])
})

test('messages that can wait share a batch, until one comes that cannot', async () => {
  const { key, subject, ...log } = newLog()
  const send = (id: string) => publishOrThrow(broker.publish, subject, Buffer.from('x'), `${id}.${key}`)
  const applied: Done[] = []
  let listened = (): void => undefined
  const isPausing = new Promise<void>((resolve) => {
    listened = resolve
  })
  const deps: PlannedLogDeps = {
    ...broker.deps,
    nextArrival(...awaited) {
      const arrival = broker.deps.nextArrival(...awaited)
      listened()
      return { ...arrival, within: (_, signal) => arrival.within(600_000, signal) }
    },
  }
  await send('wait.1')

  const canWait = (id: string): boolean => id.startsWith('wait.')
  const process = start({ key, subject, ...log }, (batch) => void applied.push(batch), { canWait }, deps)
  await isPausing
  await send('wait.2')
  await send('wait.3')
  await send('now.4')
  await log.untilDone()
  await process.stop()

  expect(applied.map(({ sequences }) => sequences.length)).toEqual([1, 3])
})

test('a message that cannot wait, and comes while a batch of those that can is applied, is read at once', async () => {
  const { key, subject, ...log } = newLog()
  const send = (id: string) => publishOrThrow(broker.publish, subject, Buffer.from('x'), `${id}.${key}`)
  const applied: Done[] = []
  const deps: PlannedLogDeps = {
    ...broker.deps,
    nextArrival(...awaited) {
      const arrival = broker.deps.nextArrival(...awaited)
      // It does not look by itself.
      return { ...arrival, within: (_, signal) => arrival.within(600_000, signal) }
    },
  }
  await send('wait.1')

  const process = start(
    { key, subject, ...log },
    async (batch) => {
      applied.push(batch)
      if (applied.length === 1) await send('now.2')
    },
    { canWait: (id) => id.startsWith('wait.') },
    deps,
  )
  await vi.waitUntil(() => applied.length === 2)
  await process.stop()

  expect(applied.map(({ sequences }) => sequences.length)).toEqual([1, 1])
})

test('the pause after a batch follows from what its effects took, not from slow rules', () => {
  expect(pauseAfter(50, 5)).toBe(175)
  expect(pauseAfter(150, 10)).toBe(280)
  expect(pauseAfter(300, 10)).toBe(500)
  expect(pauseAfter(400, 300)).toBe(200)
})
