import { afterEach, beforeAll, describe, expect, test } from 'vitest'
import { publishOrThrow } from '../../../internal/broker/publisher.js'
import { type Poison, quarantine } from '../../../internal/broker/quarantine.js'
import {
  findQuarantinedMessage,
  type Quarantined,
  quarantinedFrom,
  quarantineState,
  type ReplayDeps,
  type ReplayMark,
  replayQuarantined,
} from '../../../internal/broker/quarantine-log.js'
import { bucketRecords } from '../../../internal/broker/records.js'
import { QUARANTINE_REPLAYS } from '../../../streams/buckets.js'
import { CHANGES } from '../../../streams/changes.js'
import { INVOCATIONS, invocationsSubject, STAGES } from '../../../streams/invocations.js'
import { QUARANTINE, type QuarantineReader, quarantineSubject } from '../../../streams/quarantine.js'
import { NOW_MS } from '../../support/invocations.js'
import { type LogBroker, launchLogBroker } from '../../support/planned-logs.js'

let broker: LogBroker
let deps: ReplayDeps

beforeAll(async () => {
  broker = await launchLogBroker()
  deps = {
    manager: broker.manager,
    publish: broker.publish,
    marks: bucketRecords<ReplayMark>(await broker.bucket(QUARANTINE_REPLAYS), async () => undefined),
    clock: () => NOW_MS,
  }
})
afterEach(async () => {
  for (const { name } of [QUARANTINE, INVOCATIONS, CHANGES]) await broker.manager.streams.purge(name)
})

let count = 0

/** A message in quarantine. */
async function keep(stated: Partial<Poison> = {}, reader: QuarantineReader = 'a'): Promise<Quarantined> {
  const poison = {
    id: `${reader}.test.${++count}`,
    data: Buffer.from(`poison ${count}`),
    reason: 'rule_failed: Error',
    log: invocationsSubject('a', 3),
    ...stated,
  }
  await quarantine(broker, quarantineSubject(reader), [poison])
  return found((await quarantineState(broker.manager)).lastSequence)
}

async function found(sequence: number): Promise<Quarantined> {
  const message = await findQuarantinedMessage(broker.manager, sequence)
  if (message === undefined) throw new Error('it is not in quarantine')
  return message
}

async function inLog(subject: string, stream = INVOCATIONS.name) {
  const entries = await broker.deps.readLog({ stream, subject, from: 1, messagesMax: 100, bytesMax: 2 ** 20 })
  return entries.map(({ data, messageId }) => [Buffer.from(data).toString(), messageId])
}

const listed = async (from = 1): Promise<Quarantined[]> => {
  const messages: Quarantined[] = []
  for await (const message of quarantinedFrom(broker.manager, from)) messages.push(message)
  return messages
}

test('a quarantined message has its reader, reason and origin', async () => {
  const one = await keep({ reason: 'unreadable_message: SyntaxError', messageId: 'correct.a0.7.abc' })
  const two = await keep({ log: 'changes.tnt_one' }, 'changes')

  expect(one).toMatchObject({
    reader: 'a',
    reason: 'unreadable_message: SyntaxError',
    log: 'invocations.a.3',
    messageId: 'correct.a0.7.abc',
  })
  expect(await listed()).toEqual([one, two])
  expect(await listed(two.sequence)).toEqual([two])
})

describe('a replay of a quarantined message', () => {
  test('publishes the same bytes to the log and deletes the message from quarantine', async () => {
    const message = await keep({ data: Buffer.from('event') })

    const replay = await replayQuarantined(message, deps)

    expect(replay).toMatchObject({ kind: 'replayed', log: 'invocations.a.3' })
    expect(await inLog('invocations.a.3')).toEqual([['event', expect.stringMatching(/^quarantined\.replay\./)]])
    expect(await listed()).toEqual([])
  })

  test.each(STAGES)('returns what stage %s could not handle to the mailbox that it came from', async (stage) => {
    const log = invocationsSubject(stage, 0)
    const message = await keep({ log, data: Buffer.from(`event of ${stage}`) }, stage)

    expect(await replayQuarantined(message, deps)).toMatchObject({ kind: 'replayed', log })

    expect(await inLog(log)).toEqual([[`event of ${stage}`, expect.any(String)]])
    expect(await listed()).toEqual([])
  })

  test('of a reader that only a newer version knows is left to that', async () => {
    await publishOrThrow(broker.publish, 'quarantine.toString', Buffer.from('new'), 'quarantine.new', {
      headers: { 'Attribution-Log': 'invocations.z.0' },
    })
    const message = await found((await quarantineState(broker.manager)).lastSequence)

    expect(await replayQuarantined(message, deps)).toEqual({ kind: 'unknown_log' })
    expect(await listed()).toEqual([message])
  })

  test('keeps the prefix of the message id, which readers use to recognise the kind of message', async () => {
    await replayQuarantined(await keep({ messageId: 'reattribution.rea_1.3', log: 'changes.tnt_one' }, 'changes'), deps)

    expect(await inLog('changes.tnt_one', CHANGES.name)).toEqual([
      [expect.any(String), expect.stringMatching(/^reattribution\.rea_1\.3\.replay\./)],
    ])
  })

  test('that died after the publish creates no second message, however much later it is repeated', async () => {
    const message = await keep()
    const dying: ReplayDeps = {
      ...deps,
      async publish(...args) {
        await broker.publish(...args)
        throw new Error('this process is dead')
      },
    }
    await expect(replayQuarantined(message, dying)).rejects.toThrow('dead')
    // The stream's duplicate window is over: it would store the id again.
    const late: ReplayDeps = {
      ...deps,
      publish: (subject, data, id, ...more) => broker.publish(subject, data, `${id}.forgotten`, ...more),
    }

    expect(await replayQuarantined(await found(message.sequence), late)).toMatchObject({ kind: 'replayed' })

    expect(await inLog('invocations.a.3')).toHaveLength(1)
    expect(await listed()).toEqual([])
  })

  test('that died before the publish was acknowledged leaves the message in quarantine', async () => {
    const message = await keep()
    const unavailable = async () => ({ kind: 'unavailable', reason: 'timeout' }) as const

    await expect(replayQuarantined(message, { ...deps, publish: unavailable })).rejects.toThrow('unavailable')

    expect(await listed()).toEqual([message])
    await replayQuarantined(message, deps)
    expect(await inLog('invocations.a.3')).toHaveLength(1)
  })

  test('of a second copy, left by a repeated batch, publishes nothing', async () => {
    const data = Buffer.from('twice')
    await replayQuarantined(await keep({ id: 'a.3.7-9.7.0', data }), deps)
    await publishOrThrow(broker.publish, quarantineSubject('a'), data, '', {
      headers: { 'Attribution-Log': 'invocations.a.3' },
    })
    const { lastSequence } = await quarantineState(broker.manager)
    const copy = { ...(await found(lastSequence)), id: 'quarantine.a.3.7-9.7.0' }

    expect(await replayQuarantined(copy, deps)).toMatchObject({ kind: 'replayed' })

    expect(await inLog('invocations.a.3')).toHaveLength(1)
    expect(await listed()).toEqual([])
  })

  test('that was interrupted before the oldest message in the log needs an explicit log', async () => {
    const message = await keep()
    const unavailable = async () => ({ kind: 'unavailable', reason: 'timeout' }) as const
    await expect(replayQuarantined(message, { ...deps, publish: unavailable })).rejects.toThrow()
    const dayAfter: ReplayDeps = { ...deps, clock: () => NOW_MS + 24 * 60 * 60 * 1000 }

    expect(await replayQuarantined(message, dayAfter)).toEqual({ kind: 'doubtful' })
    expect(await listed()).toEqual([message])

    expect(await replayQuarantined(message, dayAfter, 'invocations.a.3')).toMatchObject({ kind: 'replayed' })
    expect(await inLog('invocations.a.3')).toHaveLength(1)
  })

  test('of a message with an unknown log needs an explicit log', async () => {
    await publishOrThrow(broker.publish, quarantineSubject('a'), Buffer.from('old'), 'quarantine.a.99999')
    const message = await found((await quarantineState(broker.manager)).lastSequence)

    expect(await replayQuarantined(message, deps)).toEqual({ kind: 'unknown_log' })
    expect(await listed()).toEqual([message])
    expect(await replayQuarantined(message, deps, 'invocations.a.1')).toMatchObject({ kind: 'replayed' })
    expect(await inLog('invocations.a.1')).toHaveLength(1)
  })
})
