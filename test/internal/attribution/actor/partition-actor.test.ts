import { beforeAll, describe, expect, test } from 'vitest'
import { readMessages } from '../../../../internal/attribution/actor/batch.js'
import type { Correction } from '../../../../internal/attribution/actor/corrections.js'
import { isTraceFacts, type LearnedFact } from '../../../../internal/attribution/actor/trace-facts.js'
import { tracePartition } from '../../../../internal/attribution/actor/trace-partition.js'
import {
  findQuarantinedMessage,
  type Quarantined,
  quarantinedFrom,
  type ReplayMark,
  replayQuarantined,
} from '../../../../internal/broker/quarantine-log.js'
import { bucketRecords } from '../../../../internal/broker/records.js'
import {
  encodeEntry,
  encodeGroup,
  splitIntoGroups,
  WAS_DUPLICATE,
} from '../../../../internal/invocations/invocation-group.js'
import { findQuarantined } from '../../../../internal/store/queries/quarantined.js'
import { QUARANTINE_REPLAYS } from '../../../../streams/buckets.js'
import { INVOCATIONS, invocationsSubject } from '../../../../streams/invocations.js'
import { quarantineSubject } from '../../../../streams/quarantine.js'
import { directoryOf } from '../../../support/directory.js'
import { idOf, validEvent } from '../../../support/invocations.js'
import {
  actorDeps,
  broker,
  FREE,
  HOUR_MS,
  hex,
  hexOf,
  idIn,
  keyOf,
  keysOf,
  lines,
  openPartitions,
  PARTITIONS,
  publish,
  recordsOf,
  send,
  start,
  store,
  untilDone,
} from '../../../support/partition-actors.js'

beforeAll(openPartitions)

describe('admission keys of a batch', () => {
  test('stage A records each admission key once, also for handed-over and dropped events', async () => {
    const receivedAtMs = Date.now() - 5_000
    await send(0, [
      { number: 1, key: keyOf(11), service: 'search', receivedAtMs },
      { number: 2, key: keyOf(12), receivedAtMs },
      { number: 1, key: keyOf(13), service: 'search', receivedAtMs },
      { number: 3, service: 'search' },
      // A gateway that had the event answered `duplicate`: which one is the first, stage A alone decides.
      { number: 4, key: { ...keyOf(14), flags: WAS_DUPLICATE }, service: 'search', receivedAtMs },
    ])

    const actors = start(0)
    await untilDone(0)
    await actors.stop()

    expect(await keysOf([11, 12, 13, 14])).toEqual([1, 1, 1, 1])
    expect(await recordsOf(0, [1, 2, 3, 4])).toEqual([1, 1, 1, 1])
    const [row] = await lines(
      'SELECT lower(hex(fingerprint)), toString(toUnixTimestamp64Milli(admitted_at)) FROM admission_keys ' +
        `WHERE key_hash = unhex('${hexOf(idOf(12))}')`,
    )
    expect(row).toEqual(['0c'.repeat(8), String(receivedAtMs)])
  })

  test('admission keys are recorded once if the process dies between inserts of keys and records', async () => {
    await send(1, [
      { number: 21, key: keyOf(31), service: 'search' },
      { number: 22, key: keyOf(32) },
    ])

    let whenRecorded = (): void => undefined
    const recorded = new Promise<void>((resolve) => {
      whenRecorded = resolve
    })
    const dying = start(1, ['a'], {
      deps: {
        recordKeys: (rows, token) => actorDeps().recordKeys(rows, token).then(whenRecorded),
        insert: () => recorded.then(() => dying.die()),
      },
    })
    await dying.dead
    expect(await keysOf([31, 32])).toEqual([1, 1])
    expect(await recordsOf(1, [21])).toEqual([0])
    const actors = start(1)
    await untilDone(1)
    await actors.stop()

    expect(await keysOf([31, 32])).toEqual([1, 1])
    expect(await recordsOf(1, [21, 22])).toEqual([1, 1])
  })

  test('admission keys are recorded once if the process dies before it learns that they were inserted', async () => {
    await send(2, [{ number: 41, key: keyOf(51), service: 'search' }])

    const dying = start(2, ['a'], {
      deps: {
        async recordKeys(rows, token) {
          await actorDeps().recordKeys(rows, token)
          dying.die()
        },
      },
    })
    await dying.dead
    const actors = start(2)
    await untilDone(2)
    await actors.stop()

    expect(await keysOf([51])).toEqual([1])
    expect(await recordsOf(2, [41])).toEqual([1])
  })

  test('admission keys that expired before their batch was formed are not recorded', async () => {
    await send(3, [{ number: 61, key: keyOf(71), service: 'search', receivedAtMs: Date.now() - 25 * HOUR_MS }])

    const actors = start(3)
    await untilDone(3)
    await actors.stop()

    expect(await keysOf([71])).toEqual([0])
    expect(await recordsOf(3, [61])).toEqual([1])
  })
})

/** Names of traces that one trace actor has. */
function* tracesOf(partition: number, name = '', tenantId = 'tnt_one'): Generator<string> {
  for (let i = 0; ; i++) {
    if (tracePartition(tenantId, `${name}${i}`, PARTITIONS) === partition) yield `${name}${i}`
  }
}

/** Sends calls that state these traces and services to stage A, in messages that any broker takes. */
async function sendTraced(
  partition: number,
  calls: readonly {
    readonly number: number
    readonly stated: Parameters<typeof validEvent>[0]
    readonly tenantId?: string
  }[],
): Promise<void> {
  const entries = calls.map(({ number, stated, tenantId = 'tnt_one' }) => {
    const admission = {
      tenantId,
      principal: 'key_one',
      id: idIn(partition, number),
      receivedAtMs: Date.now(),
    }
    return encodeEntry(admission, validEvent(stated))
  })
  for (const group of splitIntoGroups(entries)) await publish(partition, encodeGroup(group))
}

/** All that stage A has told a trace actor. */
async function factsFor(partition: number): Promise<readonly LearnedFact[]> {
  const range = { stream: INVOCATIONS.name, subject: invocationsSubject('t', partition), from: 1 }
  const entries = await broker.deps.readLog({ ...range, messagesMax: 1_000, bytesMax: 64 * 1024 ** 2 })
  return readMessages('t', partition, entries, { done: 0 }).facts
}

describe('facts of traces', () => {
  test('with the longest names they pass a broker with the least `max_payload`', async () => {
    const name = '’'.repeat(250)
    const traces = tracesOf(15, name)
    const calls = Array.from({ length: 1_000 }, (_, number) => {
      return { number, stated: { attributed_service: name, trace_id: traces.next().value } }
    })
    await sendTraced(15, calls)

    const actors = start(15, ['a'])
    await untilDone(15, ['a'])
    await actors.stop()

    const told = await factsFor(15)
    expect(told.map(({ traceId }) => traceId)).toEqual(calls.map(({ stated: { trace_id: traceId } }) => traceId))
  })
})

test('a batch that is repeated with another directory tells the traces what it told when it was planned', async () => {
  const resolvedTo = (service: string) => directoryOf({ identities: [{ name: 'bot', owner: 'team-bots', service }] })
  const traceId = tracesOf(13).next().value
  await sendTraced(13, [{ number: 1, stated: { trace_id: traceId, attributed_identity: 'bot' } }])

  const dying = start(13, ['a'], { directory: resolvedTo('one'), deps: { insert: async () => dying.die() } })
  await dying.dead
  const actors = start(13, undefined, { directory: resolvedTo('two') })
  await untilDone(13)
  await sendTraced(13, [{ number: 2, stated: { trace_id: traceId } }])
  await untilDone(13)
  await actors.stop()

  const query = 'SELECT service, evidence_basis FROM attributions WHERE source_partition = 13 ORDER BY id'
  expect(await lines(query)).toEqual([
    ['two', 'identity_resolved'],
    ['one', 'trace_correlated'],
  ])
  expect((await factsFor(13)).map(({ service }) => service)).toEqual(['one'])
})

test('the calls of one bulk are attributed by their trace at once, however soon its mailbox is read', async () => {
  const traceId = tracesOf(13, 'bulk').next().value
  const numbers = Array.from({ length: 10 }, (_, i) => 10 + i)
  const calls = numbers.map((number) => ({ number, stated: { trace_id: traceId } }))
  await sendTraced(13, [...calls.slice(1), { number: 10, stated: { trace_id: traceId, attributed_service: 'bulk' } }])

  const mailbox = invocationsSubject('t', 13)
  const corrections: Correction[] = []
  const actors = start(13, undefined, {
    deps: {
      async publish(subject, ...message) {
        const result = await broker.publish(subject, ...message)
        if (subject === mailbox) await untilDone(13, ['t'])
        return result
      },
      correct: async (some) => void corrections.push(...some),
    },
  })
  await untilDone(13)
  await actors.stop()

  const query = `SELECT count() FROM attributions WHERE service = 'bulk' AND evidence_basis = 'trace_correlated'`
  expect(await lines(query)).toEqual([['9']])
  expect(await recordsOf(13, numbers)).toEqual(numbers.map(() => 1))
  expect(corrections).toEqual([])
})

test('a batch that is repeated with another directory of one tenant has told the traces of the others', async () => {
  const resolvedTo = (service: string) => directoryOf({ identities: [{ name: 'bot', owner: 'team-bots', service }] })
  const [one, two] = [tracesOf(13, 'one').next().value, tracesOf(13, 'two', 'tnt_two').next().value]
  await sendTraced(13, [
    { number: 20, stated: { trace_id: one, attributed_identity: 'bot' } },
    { number: 21, stated: { trace_id: two, attributed_service: 'told' }, tenantId: 'tnt_two' },
    { number: 22, stated: { trace_id: two }, tenantId: 'tnt_two' },
  ])

  const dying = start(13, ['a'], {
    directory: resolvedTo('one'),
    deps: {
      publish: async (...message) => (isTraceFacts(message[2]) ? broker.publish(...message) : dying.die()),
    },
  })
  await dying.dead
  const actors = start(13, undefined, { directory: resolvedTo('two') })
  await untilDone(13)
  await actors.stop()

  const query = `SELECT service, evidence_basis FROM attributions WHERE id = unhex('${hex(13, 22)}')`
  expect(await lines(query)).toEqual([['told', 'trace_correlated']])
})

test('a call is corrected by a later one of its trace, which another process handles', async () => {
  const traceId = tracesOf(13, 'late').next().value
  const first = start(13)
  await sendTraced(13, [{ number: 3, stated: { trace_id: traceId } }])
  await untilDone(13)
  await first.stop()

  const corrections: Correction[] = []
  const second = start(13, undefined, { deps: { correct: async (some) => void corrections.push(...some) } })
  await sendTraced(13, [{ number: 4, stated: { trace_id: traceId, attributed_service: 'search' } }])
  await untilDone(13)
  await second.stop()

  expect(corrections).toMatchObject([{ verdict: { service: 'search', evidenceBasis: 'trace_correlated' } }])
  expect(hexOf(corrections[0]?.id ?? new Uint8Array())).toBe(hex(13, 3))
})

describe('poison in a batch', () => {
  test('a quarantined event is recorded once with stage, reason and time, also after a crash', async () => {
    const beforeMs = Date.now()
    await send(4, [
      { number: 81, provider: 'broken', service: 'search' },
      { number: 82, service: 'search' },
      { number: 83, provider: 'broken' },
    ])

    const dying = start(4, ['a'], { deps: { insert: async () => dying.die() } })
    await dying.dead
    const actors = start(4)
    await untilDone(4)
    await actors.stop()

    expect(await recordsOf(4, [81, 82, 83], 'quarantined')).toEqual([1, 0, 1])
    expect(await recordsOf(4, [81, 82, 83])).toEqual([0, 1, 0])
    const quarantined = await findQuarantined(store.client, 'tnt_one', hex(4, 81))
    expect(quarantined).toMatchObject({ stage: 'a', reason: 'rule_failed: Error' })
    expect(quarantined?.quarantinedAtMs).toBeGreaterThanOrEqual(beforeMs)
    expect(await findQuarantined(store.client, 'tnt_one', hex(4, 83))).toMatchObject({ stage: 'c' })
    expect(await findQuarantined(store.client, 'tnt_one', hex(4, 82))).toBeUndefined()
  })

  test('a replay returns a message to its own partition; if still poison, it is quarantined as a new one', async () => {
    const kept = async () => {
      const all: Quarantined[] = []
      for await (const message of quarantinedFrom(broker.manager, 1)) {
        if (message.log === invocationsSubject('a', 9)) all.push(message)
      }
      return all
    }
    await send(9, [
      { number: 95, provider: 'broken', service: 'search' },
      { number: 96, service: 'search' },
    ])
    const actors = start(9)
    await untilDone(9)
    const [first, ...others] = await kept()
    expect([first?.reason, others.length]).toEqual(['rule_failed: Error', 0])
    if (first === undefined) return

    const marks = bucketRecords<ReplayMark>(await broker.bucket(QUARANTINE_REPLAYS), async () => undefined)
    await replayQuarantined(first, { manager: broker.manager, publish: broker.publish, marks, clock: Date.now })
    await untilDone(9)
    await actors.stop()

    const [again, ...more] = await kept()
    expect([again?.data, more.length]).toEqual([first.data, 0])
    expect(again?.sequence).toBeGreaterThan(first.sequence)
    expect(await recordsOf(9, [95, 96])).toEqual([0, 1])
  })

  test.each([
    ['a', 97, { attributed_service: 'search' }],
    ['t', 98, { trace_id: tracesOf(10).next().value }],
  ] as const)(
    'a replayed event that stage %s can now handle gets exactly one record',
    async (stage, number, stated) => {
      const marks = bucketRecords<ReplayMark>(await broker.bucket(QUARANTINE_REPLAYS), async () => undefined)
      const before = start(10)
      const named = { trace_id: tracesOf(10).next().value, attributed_service: 'search' }
      await sendTraced(10, [{ number: number + 100, stated: named }])
      await untilDone(10)
      await sendTraced(10, [{ number, stated: { ...stated, provider: 'broken' } }])
      await untilDone(10)
      await before.stop()
      const found = await broker.manager.direct.getMessage('QUARANTINE', { last_by_subj: quarantineSubject(stage) })
      const message = await findQuarantinedMessage(broker.manager, found?.seq ?? 0)
      if (message === undefined) throw new Error('the message is not in quarantine')

      await replayQuarantined(message, { manager: broker.manager, publish: broker.publish, marks, clock: Date.now })
      const after = start(10, undefined, { consumptionOf: () => FREE })
      await untilDone(10)
      await after.stop()

      expect(await recordsOf(10, [number])).toEqual([1])
    },
  )

  test('an unreadable message quarantines the events whose ids can be read', async () => {
    const entry = JSON.parse(
      encodeEntry({ tenantId: 'tnt_one', principal: 'key_one', id: idIn(5, 91), receivedAtMs: 1 }, validEvent()),
    )
    const secret = 'sk-secret-prompt'
    const data = Buffer.from(JSON.stringify([entry, { ...entry, i: hex(5, 92), r: secret }]))
    await publish(5, data)

    const actors = start(5)
    await untilDone(5)
    await actors.stop()

    for (const number of [91, 92]) {
      expect(await findQuarantined(store.client, 'tnt_one', hex(5, number))).toMatchObject({
        stage: 'a',
        reason: 'unreadable_message: Error',
      })
    }
    const kept = await broker.manager.direct.getMessage('QUARANTINE', { last_by_subj: 'quarantine.a' })
    expect(Buffer.from(kept?.data ?? [])).toEqual(data)
  })
})
