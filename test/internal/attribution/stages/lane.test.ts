import { setTimeout as sleep } from 'node:timers/promises'
import { beforeAll, describe, expect, test } from 'vitest'
import { type ActorDeps, partitionActor } from '../../../../internal/attribution/actor/partition-actor.js'
import { DROP, type Stage } from '../../../../internal/attribution/actor/stage.js'
import { LanePace, laneStage, untilWorkedOff } from '../../../../internal/attribution/stages/lane.js'
import { readLog } from '../../../../internal/broker/log.js'
import { publishOrThrow } from '../../../../internal/broker/publisher.js'
import { followWatermark } from '../../../../internal/broker/watermark.js'
import { partitionOf } from '../../../../internal/ids/event-partition.js'
import {
  type AdmissionKey,
  decodeGroup,
  encodeEntry,
  encodeGroup,
} from '../../../../internal/invocations/invocation-group.js'
import { INVOCATIONS, invocationsSubject } from '../../../../streams/invocations.js'
import { countingPublisher } from '../../../support/counting-publisher.js'
import { idOf, NOW_MS, validEvent } from '../../../support/invocations.js'
import { type LogBroker, launchLogBroker, startPlannedLog } from '../../../support/planned-logs.js'
import { event } from '../../../support/stages.js'

const PARTITIONS = 3
const LANE = invocationsSubject('l', 0)

let broker: LogBroker

beforeAll(async () => {
  broker = await launchLogBroker()
})

const keyOf = (number: number): AdmissionKey => ({
  hash: Buffer.alloc(16, number),
  fingerprint: Buffer.alloc(8, number),
  flags: number & 255,
})

/** One message of the lane; events of even numbers have a key. */
async function send(messageId: string, numbers: readonly number[]): Promise<void> {
  const entries = numbers.map((number) =>
    encodeEntry(
      {
        tenantId: 'tnt_one',
        principal: 'key_one',
        id: idOf(number),
        receivedAtMs: NOW_MS + number,
        key: number % 2 === 0 ? keyOf(number) : undefined,
      },
      validEvent(),
    ),
  )
  await publishOrThrow(broker.publish, LANE, encodeGroup(entries), messageId)
}

const nothing = async (): Promise<void> => undefined
const actorDeps = (): ActorDeps => ({
  partitions: PARTITIONS,
  publish: broker.publish,
  publishTogether: broker.publishTogether,
  insert: nothing,
  recordKeys: async (rows) => expect(rows).toEqual([]),
  recordQuarantined: nothing,
  hasRecord: async (invocations) => invocations.map(() => false),
  correct: nothing,
  log: broker.deps.log,
})

const laneActor = (waits: () => Promise<void>, deps: Partial<ActorDeps> = {}) =>
  startPlannedLog(
    partitionActor(laneStage({ partitions: PARTITIONS, untilWorkedOff: waits }), 0, { ...actorDeps(), ...deps }),
    broker.deps,
  )
const untilPassedOn = (): Promise<void> => broker.untilDone('l.0', INVOCATIONS.name, LANE)

const passedOn = async (partition: number) => {
  const subject = invocationsSubject('a', partition)
  const range = { stream: INVOCATIONS.name, subject, from: 1, messagesMax: 100, bytesMax: 1024 ** 2 }
  return (await readLog(broker.manager, range)).flatMap(({ data, sequence }) => decodeGroup(data, sequence))
}
const numberOf = ({ id }: { readonly id: Uint8Array }): number => Buffer.from(id).readUInt32BE(4)

test('events pass to the partition of their id once, in their order, with their keys and the place they came in', async () => {
  await send('one', [1, 2, 3, 4])
  await send('two', [5, 6, 7, 8, 260])
  // It dies when half of its messages are out, and another takes over.
  let sent = 0
  const dying = laneActor(nothing, {
    async publish(...message) {
      if (++sent > 2) return dying.die()
      return broker.publish(...message)
    },
  })
  await dying.dead
  const lane = laneActor(nothing)
  await untilPassedOn()
  await lane.stop()

  for (let partition = 0; partition < PARTITIONS; partition++) {
    const events = await passedOn(partition)
    const numbers = [1, 2, 3, 4, 5, 6, 7, 8, 260]

    expect(events.map(numberOf)).toEqual(
      numbers.filter((number) => partitionOf(idOf(number), PARTITIONS) === partition),
    )
    for (const { key, position, receivedAtMs, ...read } of events) {
      const number = numberOf(read)
      expect(key).toEqual(number % 2 === 0 ? keyOf(number) : undefined)
      expect(receivedAtMs).toBe(NOW_MS + number)
      expect(position.index).toBe(number <= 4 ? number - 1 : numbers.indexOf(number) - 4)
    }
  }
})

test('each batch waits until stage A has worked off what it has', async () => {
  let workedOff: () => void = () => undefined
  let asked = 0
  const lane = laneActor(() => {
    asked++
    return new Promise((resolve) => {
      workedOff = resolve
    })
  })
  const before = (await passedOn(partitionOf(idOf(21), PARTITIONS))).length

  await send('three', [21])
  await expect.poll(() => asked).toBe(1)
  await sleep(100)
  expect(await passedOn(partitionOf(idOf(21), PARTITIONS))).toHaveLength(before)
  // Readers of records do not wait with it: it writes none.
  const watermark = await followWatermark(broker.deps.checkpoints, nothing, Date.now)
  const nowMs = Date.now()
  expect(await watermark.renewed()).toBeGreaterThanOrEqual(nowMs)
  workedOff()
  await untilPassedOn()
  expect(await passedOn(partitionOf(idOf(21), PARTITIONS))).toHaveLength(before + 1)
  await lane.stop()
})

test('stage A has worked off its mailboxes when its checkpoints have passed their last messages', async () => {
  const { checkpoints } = broker.deps
  const lastOf = async (partition: number): Promise<number> => {
    const query = { last_by_subj: invocationsSubject('a', partition) }
    return (await broker.manager.streams.getMessage(INVOCATIONS.name, query))?.seq ?? 0
  }
  for (let partition = 0; partition < PARTITIONS; partition++) {
    await publishOrThrow(broker.publish, invocationsSubject('a', partition), Buffer.from('[]'), `waits.${partition}`)
    if (partition > 0) await checkpoints.put(`a.${partition}`, JSON.stringify({ done: await lastOf(partition) }))
  }
  let isOver = false
  const waiting = untilWorkedOff({ manager: broker.manager, checkpoints }, PARTITIONS).then(() => {
    isOver = true
  })

  await sleep(300)
  expect(isOver).toBe(false)
  await checkpoints.put('a.0', JSON.stringify({ done: await lastOf(0) }))
  await waiting
  // A partition beyond them has nothing to wait for.
  await untilWorkedOff({ manager: broker.manager, checkpoints }, PARTITIONS + 1)
})

test('a stage A that stands still keeps the lane for seconds, not for ever', async () => {
  await publishOrThrow(broker.publish, invocationsSubject('a', 0), Buffer.from('[]'), 'stands still')
  const startedAt = performance.now()

  const waited = { manager: broker.manager, checkpoints: broker.deps.checkpoints }

  expect(await untilWorkedOff(waited, PARTITIONS)).toBe(5_000)
  expect(performance.now() - startedAt).toBeGreaterThan(4_000)
})

test('the lane hands everything on: it decides on nothing', async () => {
  const { handle } = await laneStage({ partitions: PARTITIONS, untilWorkedOff: nothing }).open(0)
  const invocations = [event(1, 0, { attributedService: 'search' }), event(1, 1)]

  expect(
    await handle({ stage: 'l', partition: 0, token: '', validFromMs: NOW_MS, invocations, facts: [] }),
  ).toMatchObject([{ kind: 'hand_on' }, { kind: 'hand_on' }])
})

describe('how much goes on at once', () => {
  const messageOf = (tenantId: string, kib: number) => {
    const entry = encodeEntry(
      { tenantId, principal: 'key_one', id: idOf(1), receivedAtMs: NOW_MS, key: undefined },
      validEvent(),
    )
    return { data: encodeGroup(Array.from({ length: Math.floor((kib * 1024) / entry.length) }, () => entry)) }
  }
  const many = (tenantId: string, count: number) => Array.from({ length: count }, () => messageOf(tenantId, 15))
  const paceOf = () => new LanePace((tenantId) => tenantId === 'tnt_costly')

  test('all that was read, of events whose rules cost little', () => {
    const pace = paceOf()
    for (let batch = 0; batch < 3; batch++) {
      expect(pace.cut(many('tnt_one', 60))).toBe(60)
      pace.note(5_000)
    }
  })

  test('one message of events whose rules may cost much, and more while stage A decides on it in a moment', () => {
    const pace = paceOf()
    const taken = [10, 10, 10, 10, 10, 10, 1_600, 1_600, 50, 50, 6_000, 6_000].map((decidedMs) => {
      const count = pace.cut(many('tnt_costly', 60))
      pace.note(decidedMs)
      return count
    })

    expect(taken).toEqual([1, 1, 2, 4, 8, 8, 8, 1, 1, 2, 2, 1])
  })

  test('events whose rules cost little go on beside the costly ones', () => {
    expect(paceOf().cut([...many('tnt_one', 20), ...many('tnt_costly', 2), ...many('tnt_one', 5)])).toBe(21)
  })
})

test('what stage A does behind its decisions slows the lane down for no longer than it takes', async () => {
  const subject = invocationsSubject('a', 1)
  const entry = encodeEntry(
    { tenantId: 'tnt_one', principal: 'key_one', id: idOf(1), receivedAtMs: NOW_MS, key: undefined },
    validEvent(),
  )
  const worked = { manager: broker.manager, checkpoints: broker.deps.checkpoints }
  const stageOf = (decideMs: number, applyMs: number): Stage => ({
    name: 'a',
    next: 't',
    open: async () => ({
      async handle({ invocations }) {
        await sleep(decideMs)
        return invocations.map(() => DROP)
      },
      onApplied: () => sleep(applyMs),
    }),
  })
  const decidedMs = async (decideMs: number, applyMs: number): Promise<number> => {
    const actor = startPlannedLog(partitionActor(stageOf(decideMs, applyMs), 1, actorDeps()), broker.deps)
    await publishOrThrow(broker.publish, subject, encodeGroup([entry]), `decides.${decideMs}`)
    await broker.untilDone('a.1', INVOCATIONS.name, subject)
    const longest = await untilWorkedOff(worked, PARTITIONS)
    await actor.stop()
    return longest
  }
  for (const partition of [0, 2]) {
    const last = { last_by_subj: invocationsSubject('a', partition) }
    const done = (await broker.manager.streams.getMessage(INVOCATIONS.name, last))?.seq ?? 0
    await broker.deps.checkpoints.put(`a.${partition}`, JSON.stringify({ done }))
  }

  expect(await decidedMs(20, 700)).toBeLessThan(500)
  expect(await decidedMs(700, 0)).toBeGreaterThan(600)
})

test('what a batch hands on to many partitions is one write', async () => {
  const partitions = 16
  const { publisher, writes } = countingPublisher(broker)
  await send('many', [...Array(400).keys()])
  const stage = laneStage({ partitions, untilWorkedOff: nothing })
  const lane = startPlannedLog(partitionActor(stage, 0, { ...actorDeps(), ...publisher, partitions }), broker.deps)

  await untilPassedOn()
  await lane.stop()

  expect(writes()).toBe(1)
  for (let partition = PARTITIONS; partition < partitions; partition++) {
    expect((await passedOn(partition)).length).toBeGreaterThan(0)
  }
})
