import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { readMessages } from '../../../../internal/attribution/actor/batch.js'
import type { Correction } from '../../../../internal/attribution/actor/corrections.js'
import { heldFinder } from '../../../../internal/attribution/actor/held-invocations.js'
import { type LoadSeenDeps, loadSeenEvents } from '../../../../internal/attribution/actor/load-seen.js'
import { type ActorDeps, partitionActor } from '../../../../internal/attribution/actor/partition-actor.js'
import { isTraceFacts, type LearnedFact } from '../../../../internal/attribution/actor/trace-facts.js'
import { tracePartition } from '../../../../internal/attribution/actor/trace-partition.js'
import type { RowDeps } from '../../../../internal/attribution/records/row.js'
import { stageA } from '../../../../internal/attribution/stages/a/stage-a.js'
import { stageC } from '../../../../internal/attribution/stages/c/stage-c.js'
import { loadTraces } from '../../../../internal/attribution/stages/t/load-traces.js'
import { stageT } from '../../../../internal/attribution/stages/t/stage-t.js'
import { DEFAULT_SETTINGS } from '../../../../internal/auth/tenant.js'
import { partitionsHeld } from '../../../../internal/broker/partitions.js'
import { runPlannedLog } from '../../../../internal/broker/planned-log.js'
import { publishOrThrow } from '../../../../internal/broker/publisher.js'
import {
  findQuarantinedMessage,
  type Quarantined,
  quarantinedFrom,
  type ReplayMark,
  replayQuarantined,
} from '../../../../internal/broker/quarantine-log.js'
import { bucketRecords } from '../../../../internal/broker/records.js'
import type { Directory } from '../../../../internal/directory/directory.js'
import { NO_RULES } from '../../../../internal/directory/mapping/mapping-policy.js'
import {
  type Admission,
  type AdmissionKey,
  encodeEntry,
  encodeGroup,
  type Position,
  splitIntoGroups,
  WAS_DUPLICATE,
} from '../../../../internal/invocations/invocation-group.js'
import { findQuarantined } from '../../../../internal/store/queries/quarantined.js'
import { recordedIds, recordSourcesOf, recordSourcesSince } from '../../../../internal/store/queries/records/sources.js'
import type { RowBinaryTable } from '../../../../internal/store/row-binary.js'
import { insertRows } from '../../../../internal/store/sink.js'
import { ADMISSION_KEYS } from '../../../../internal/store/tables/admission-keys.js'
import { ATTRIBUTIONS } from '../../../../internal/store/tables/attributions.js'
import { QUARANTINED } from '../../../../internal/store/tables/quarantined.js'
import { QUARANTINE_REPLAYS } from '../../../../streams/buckets.js'
import { INVOCATIONS, invocationsSubject, type StageName } from '../../../../streams/invocations.js'
import { quarantineSubject } from '../../../../streams/quarantine.js'
import { directoryOf } from '../../../support/directory.js'
import { idOf, validEvent } from '../../../support/invocations.js'
import { type LogBroker, launchLogBroker } from '../../../support/planned-logs.js'
import { event, ROW_DEPS, STAGE_C_DEPS, switchedOffStageB } from '../../../support/stages.js'
import { launchMigratedStore, type RunningStore, stopStore } from '../../../support/store.js'

let store: RunningStore
let broker: LogBroker

beforeAll(async () => {
  store = await launchMigratedStore()
  broker = await launchLogBroker()
})

afterAll(() => stopStore(store))

const LOG_ID = ROW_DEPS.logId
const HOUR_MS = 3_600_000

const insertInto =
  <Row>(table: RowBinaryTable<Row>) =>
  (rows: readonly Row[], token: string) =>
    insertRows(store.client, table, rows, `${LOG_ID}.${token}`)

/** So many that each test has one of its own. */
const PARTITIONS = 16

const actorDeps = (): ActorDeps => ({
  partitions: PARTITIONS,
  publish: broker.publish,
  insert: insertInto(ATTRIBUTIONS),
  recordKeys: insertInto(ADMISSION_KEYS),
  recordQuarantined: insertInto(QUARANTINED),
  async hasRecord(invocations) {
    const ids = invocations.map(({ id }) => id)
    const recorded = await recordedIds(store.client, ids)
    return ids.map((id) => recorded.has(Buffer.from(id).toString('hex')))
  },
  correct: async () => undefined,
  log: broker.deps.log,
})

interface Options {
  readonly deps?: Partial<ActorDeps>
  readonly seen?: Partial<LoadSeenDeps>
  /** Replaces the default rule, for which `broken` events are poison. */
  readonly consumptionOf?: RowDeps['consumptionOf']
  readonly directory?: Directory
}

/** Runs the actors of a partition, as one process does, until `stop`. */
function start(
  partition: number,
  stages: readonly StageName[] = ['a', 't', 'b', 'c'],
  { deps, seen, ...rule }: Options = {},
) {
  const stopping = new AbortController()
  const seenDeps: LoadSeenDeps = {
    findHeld: heldFinder({ ...broker.deps, partitions: () => partitionsHeld(broker.manager, PARTITIONS) }),
    clock: broker.deps.clock,
    logId: LOG_ID,
    partitions: PARTITIONS,
    recordSourcesSince: (of, sinceMs) =>
      recordSourcesSince(store.client, { partition: of, partitions: PARTITIONS }, sinceMs),
    recordSourcesOf: (ids, sinceMs) => recordSourcesOf(store.client, ids, sinceMs),
    filterBytesMax: () => 1e6,
    ...seen,
  }
  const facts = {
    ...ROW_DEPS,
    directory: directoryOf(),
    ...rule,
    settingsOf: () => DEFAULT_SETTINGS,
    policyOf: STAGE_C_DEPS.policyOf,
    mappingOf: () => NO_RULES,
  }
  const all = [
    stageA({ ...facts, partitions: PARTITIONS, loadSeen: (of) => loadSeenEvents(of, seenDeps) }),
    stageT({
      ...facts,
      loadTraces: (...mailbox) => loadTraces(...mailbox, { ...STAGE_C_DEPS, ...facts, ...broker.deps }),
    }),
    switchedOffStageB(),
    stageC(STAGE_C_DEPS),
  ]
  const running = all
    .filter(({ name }) => stages.includes(name))
    .map((stage) =>
      runPlannedLog(partitionActor(stage, partition, { ...actorDeps(), ...deps }), broker.deps, stopping.signal),
    )
  return {
    /** Simulates the death of the process: it has no further effects. */
    die(): never {
      stopping.abort()
      throw new Error('this process has died')
    },
    dead: Promise.all(running),
    async stop() {
      stopping.abort()
      await Promise.all(running)
    },
  }
}

/** Resolves when the stages, one after the other, have processed all their messages. */
async function untilDone(partition: number, stages: readonly StageName[] = ['a', 't', 'b', 'c']): Promise<void> {
  for (const stage of stages) {
    await broker.untilDone(`${stage}.${partition}`, INVOCATIONS.name, invocationsSubject(stage, partition))
  }
}

interface Sent {
  readonly number: number
  readonly key?: AdmissionKey
  readonly receivedAtMs?: number
  /** Stage A resolves the event by this service; absent: stage A hands it over. */
  readonly service?: string
  readonly provider?: string
}

let messages = 0

const FREE = ROW_DEPS.consumptionOf(event(1, 0))

/** The id of an event of this partition. */
const idIn = (partition: number, number: number): Uint8Array => idOf(number * PARTITIONS + partition)

/** Sends one message with these events to stage A. */
const send = (partition: number, events: readonly Sent[]): Promise<void> =>
  publish(partition, encodeGroup(events.map((each) => entryOf(partition, each))))

function entryOf(
  partition: number,
  { number, key, receivedAtMs = Date.now(), service, provider = 'openai' }: Sent,
  position?: Position,
): string {
  const id = idIn(partition, number)
  const admission: Admission = { tenantId: 'tnt_one', principal: 'key_one', id, receivedAtMs, key }
  return encodeEntry(
    admission,
    validEvent({ provider, ...(service === undefined ? {} : { attributed_service: service }) }),
    position,
  )
}

const publish = (partition: number, data: Uint8Array): Promise<void> =>
  publishOrThrow(broker.publish, invocationsSubject('a', partition), data, `test.${++messages}`)

const keyOf = (number: number): AdmissionKey => ({
  hash: Buffer.from(idOf(number)),
  fingerprint: Buffer.alloc(8, number),
  flags: 0,
})

async function lines(query: string): Promise<string[][]> {
  const result = await store.client.query({ query, format: 'JSONCompactEachRow' })
  return result.json<string[]>()
}

const hexOf = (id: Uint8Array): string => Buffer.from(id).toString('hex')
const hex = (partition: number, number: number): string => hexOf(idIn(partition, number))

/** Returns the number of rows per id, in order. */
async function rowsOf(table: string, column: string, ids: readonly Uint8Array[]): Promise<number[]> {
  const among = ids.map((id) => `unhex('${hexOf(id)}')`).join(', ')
  const counted = await lines(
    `SELECT lower(hex(${column})), toString(count()) FROM ${table} WHERE ${column} IN (${among}) GROUP BY 1`,
  )
  const counts = new Map(counted.map(([id, count]) => [id, Number(count)]))
  return ids.map((id) => counts.get(hexOf(id)) ?? 0)
}
const keysOf = (numbers: readonly number[]): Promise<number[]> =>
  rowsOf('admission_keys', 'key_hash', numbers.map(idOf))
const recordsOf = (partition: number, numbers: readonly number[], table = 'attributions'): Promise<number[]> =>
  rowsOf(
    table,
    'id',
    numbers.map((number) => idIn(partition, number)),
  )

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

describe('an event in the mailbox of another partition', () => {
  async function untilPassedOn(mailbox: number, ...partitions: readonly number[]): Promise<void> {
    await untilDone(mailbox, ['a'])
    for (const partition of partitions) await untilDone(partition)
  }

  test('is decided on in its own, where its repeat came later, also after takeovers', async () => {
    const ofOthers = [
      entryOf(11, { number: 201, key: keyOf(201), service: 'search' }),
      entryOf(13, { number: 202, service: 'search' }),
    ]
    await publish(12, encodeGroup(ofOthers))
    let sent = 0
    const dying = start(12, ['a'], {
      deps: { publish: (...message) => (++sent > 1 ? dying.die() : broker.publish(...message)) },
    })
    await dying.dead
    const actors = [start(11), start(12), start(13)]
    await untilPassedOn(12, 11, 13)
    await Promise.all(actors.map((each) => each.stop()))
    await send(11, [{ number: 201, key: keyOf(203), service: 'another' }])
    const next = start(11)
    await untilDone(11)
    await next.stop()

    expect(await recordsOf(11, [201])).toEqual([1])
    expect(await recordsOf(13, [202])).toEqual([1])
    expect(await keysOf([201, 203])).toEqual([1, 1])
    expect(await lines('SELECT service, source_partition FROM attributions WHERE source_partition = 11')).toEqual([
      ['search', 11],
    ])
  })

  test('is dropped in its own when its repeat came first, also from a partition that is no longer there', async () => {
    await send(14, [{ number: 211, service: 'search' }])
    const first = start(14)
    await untilDone(14)
    await first.stop()
    const gone = PARTITIONS + 3
    await publish(gone, encodeGroup([entryOf(14, { number: 211, key: keyOf(211), service: 'another' })]))

    const actors = [start(gone), start(14)]
    await untilPassedOn(gone, 14)
    await Promise.all(actors.map((each) => each.stop()))

    expect(await recordsOf(14, [211])).toEqual([1])
    expect(await keysOf([211])).toEqual([1])
  })
})

describe('a repeated event', () => {
  /** A small exact table, so that most events are only in filters. */
  const limits = { windowMs: 7 * 24 * HOUR_MS, exactEventsMax: 64 }
  const NUMBERS = Array.from({ length: 400 }, (_, i) => 10_000 + i)
  const BATCH = 50

  /** Sends the events in messages, each of which becomes a batch of its own. */
  async function sendAll(partition: number, service: (number: number) => string | undefined): Promise<void> {
    for (let from = 0; from < NUMBERS.length; from += BATCH) {
      const events = NUMBERS.slice(from, from + BATCH).map((number): Sent => {
        const stated = service(number)
        return stated === undefined ? { number } : { number, service: stated }
      })
      await send(partition, events)
      await untilDone(partition, ['a'])
    }
  }

  test('a repeated event is dropped long after it left the exact table, also by the next process', async () => {
    let lookups = 0
    const seen: Partial<LoadSeenDeps> = {
      limits,
      recordSourcesOf(ids, sinceMs) {
        lookups++
        return recordSourcesOf(store.client, ids, sinceMs)
      },
    }
    const first = start(6, undefined, { seen })
    await sendAll(6, (number) => (number % 3 === 0 ? undefined : 'search'))
    await sendAll(6, () => 'another')
    await first.stop()
    const lookupsOfFirst = lookups
    const second = start(6, undefined, { seen })
    await sendAll(6, () => 'a third')
    await untilDone(6)
    await second.stop()

    expect(lookupsOfFirst).toBeGreaterThan(0)
    expect(lookups).toBeGreaterThan(lookupsOfFirst)
    expect(await recordsOf(6, NUMBERS)).toEqual(NUMBERS.map(() => 1))
    const services = await lines(
      'SELECT DISTINCT service FROM attributions WHERE source_partition = 6 ORDER BY service',
    )
    expect(services.flat()).toEqual(['search', 'unallocated'])
  })

  test('a repeated event is dropped while stage B still holds the first one, which has no record yet', async () => {
    const first = start(7, ['a'], { seen: { limits } })
    await sendAll(7, () => undefined)
    await sendAll(7, () => 'another')
    await first.stop()
    const second = start(7, ['a'], { seen: { limits } })
    await sendAll(7, () => 'a third')
    await second.stop()

    expect(await lines('SELECT count() FROM attributions WHERE source_partition = 7')).toEqual([['0']])
    const rest = start(7, ['t', 'b', 'c'], { seen: { limits } })
    await untilDone(7)
    await rest.stop()
    expect(await lines('SELECT count(), uniq(id) FROM attributions WHERE source_partition = 7')).toEqual([
      ['400', '400'],
    ])
  })

  test('a repeated event is dropped while a partition that is no longer there holds the first one', async () => {
    const gone = PARTITIONS + 2
    const held = encodeGroup([entryOf(12, { number: 221 }, { sequence: 7, index: 0 })])
    await publishOrThrow(broker.publish, invocationsSubject('c', gone), held, `test.${++messages}`)
    const first = start(12, ['a'])
    await send(12, [{ number: 221, service: 'another' }])
    await untilDone(12, ['a'])
    await first.stop()
    const rest = start(gone, ['c'])
    await untilDone(gone, ['c'])
    await rest.stop()

    expect(await recordsOf(12, [221])).toEqual([1])
  })

  test('an event of a repeated batch is not its own duplicate, even if only a filter knows it', async () => {
    const numbers = Array.from({ length: 1_000 }, (_, i) => 30_000 + i)
    await send(
      8,
      numbers.map((number) => ({ number, service: 'search' })),
    )
    const dying = start(8, ['a'], {
      seen: { limits },
      deps: {
        async insert(rows, token, isRepeat) {
          await actorDeps().insert(rows, token, isRepeat)
          dying.die()
        },
      },
    })
    await dying.dead

    const actors = start(8, ['a'], { seen: { limits } })
    await send(
      8,
      numbers.map((number) => ({ number, service: 'another' })),
    )
    await untilDone(8, ['a'])
    await actors.stop()

    expect(await recordsOf(8, numbers)).toEqual(numbers.map(() => 1))
  })
})
