import { beforeAll, beforeEach, expect, test } from 'vitest'
import { type Change, type Decision, encodeChange } from '../../../../internal/attribution/changes/change.js'
import { type ChangesActorDeps, changesActor } from '../../../../internal/attribution/changes/changes-actor.js'
import {
  changePublisher,
  comparisonPublisher,
  correctionPublisher,
} from '../../../../internal/attribution/changes/publish-changes.js'
import { toRow } from '../../../../internal/attribution/records/row.js'
import { decodeEntry } from '../../../../internal/audit/audit-codec.js'
import { auditOnce } from '../../../../internal/audit/audit-sink.js'
import type { RepeatedEntry } from '../../../../internal/audit/chain.js'
import { readLog } from '../../../../internal/broker/log.js'
import { runPlannedLog } from '../../../../internal/broker/planned-log.js'
import { eventsPublisher } from '../../../../internal/events/publish-event.js'
import { formatId, tenantIdsCache } from '../../../../internal/ids/ids.js'
import { landedRows, versionsBefore } from '../../../../internal/store/queries/records/versions.js'
import { insertRows } from '../../../../internal/store/sink.js'
import { ATTRIBUTIONS, type AttributionRow } from '../../../../internal/store/tables/attributions.js'
import { CLOSED } from '../../../../internal/store/tables/closed.js'
import { createLog } from '../../../../internal/telemetry/log.js'
import { AUDIT, AUDIT_OF_ALL } from '../../../../streams/audit.js'
import { CHANGES, CHANGES_OF_ALL } from '../../../../streams/changes.js'
import { EVENTS } from '../../../../streams/events.js'
import { QUARANTINE } from '../../../../streams/quarantine.js'
import { CHANGES_CHECKPOINT } from '../../../../streams/records.js'
import { type Database, openDatabase } from '../../../support/database.js'
import { admitted, idOf, NOW_MS } from '../../../support/invocations.js'
import { type LogBroker, launchLogBroker } from '../../../support/planned-logs.js'
import { CORRELATED } from '../../../support/rows.js'
import { ROW_DEPS } from '../../../support/stages.js'
import { readBooks } from '../../../support/usage.js'

let store: Database
let broker: LogBroker
let stopping: AbortController

beforeAll(async () => {
  store = await openDatabase()
})
beforeEach(async () => {
  broker = await launchLogBroker()
  stopping = new AbortController()
  return () => stopping.abort()
})

let records = 0
/** A record as the stages create it, with every column filled. */
async function newRecord(stated: Partial<AttributionRow> = {}): Promise<AttributionRow> {
  const number = ++records
  const made = toRow(
    admitted({
      id: new Uint8Array(idOf(number)),
      position: { sequence: number, index: 3 },
      invocation: {
        attributedIdentity: 'ann',
        inputTokens: 1_000,
        outputTokens: undefined,
        estimatedCostUsd: '0.000000000000000001',
        tags: { team: 'é', '': '\u{1f600}' },
        servedFromCache: true,
        traceId: 'trace',
        region: 'eu-west-1',
      },
    }),
    {
      service: 'search',
      owner: 'team-search',
      stageOrigin: 'stage_b',
      evidenceBasis: 'trained_inference',
      confidence: 6_543,
      outputState: 'inferred',
      modelVersion: 'mdl_1',
      degradationState: 'none',
      evidence: { features: 'é' },
      inference: { probability: '0.6543', alternatives: [{ service: 'chat', owner: 'x', probability: '0.2' }] },
    },
    { partition: 1, validFromMs: NOW_MS },
    ROW_DEPS,
  )
  const row = { ...made, ...stated }
  await insertRows(store.client, ATTRIBUTIONS, [row], `record.${number}`)
  return row
}

const hexOf = ({ id }: AttributionRow): string => Buffer.from(id).toString('hex')

let changes = 0
const send = (row: AttributionRow, decision: Decision, changeId = `chg_${++changes}`): Promise<number> =>
  changePublisher(broker.publish)({
    id: changeId,
    tenantId: 'tnt_one',
    recordId: hexOf(row),
    actor: 'key_one',
    decision,
  } satisfies Change)
const OVERRIDE: Decision = { kind: 'override', service: 'support', owner: 'team-support', reason: 'so it is' }
const REPEATED = { id: 'chg_once', tenantId: 'tnt_one', actor: 'key_one', decision: OVERRIDE }

const idsOf = tenantIdsCache(new Uint8Array(32))
/** Jobs are tested elsewhere. */
const NO_SLICES = new Proxy({} as ChangesActorDeps['slices'], {
  get: () => {
    throw new Error('unexpected job')
  },
})

const realDeps = (): ChangesActorDeps => {
  const logId = broker.connection.info?.server_id
  return {
    publish: broker.publish,
    publishTogether: broker.publishTogether,
    publishEvents: eventsPublisher(broker, idsOf),
    subscribesToRecords: () => false,
    versionsBefore: (tenantId, ids, beforeMs) => versionsBefore(store.client, tenantId, ids, beforeMs),
    insert: (rows, token) => insertRows(store.client, ATTRIBUTIONS, rows, `${logId}.${token}`),
    close: (rows, token) => insertRows(store.client, CLOSED, rows, `${logId}.${token}`),
    subscribesToMerges: () => true,
    audit: auditOnce(broker.publish),
    slices: NO_SLICES,
    log: createLog('test', 'silent'),
  }
}

/** A process that applies changes. */
function start(deps: ChangesActorDeps = realDeps()) {
  const dying = new AbortController()
  return {
    die(): never {
      dying.abort()
      throw new Error('this process has died')
    },
    dead: runPlannedLog(changesActor(deps), broker.deps, AbortSignal.any([stopping.signal, dying.signal])),
  }
}

const untilDone = () => broker.untilDone(CHANGES_CHECKPOINT, CHANGES.name, CHANGES_OF_ALL)
const versionsOf = (row: AttributionRow) => versionsBefore(store.client, 'tnt_one', [hexOf(row)], Date.now() + 60_000)
/** Subject and content of each event, in order. */
async function announced(): Promise<[string, object][]> {
  const range = { stream: EVENTS.name, subject: 'events.>', from: 1, messagesMax: 10, bytesMax: 2 ** 20 }
  const entries = await readLog(broker.manager, range)
  return entries.map(({ subject, data }) => [subject, JSON.parse(Buffer.from(data).toString())])
}

test('a row is read from the read model as it was written', async () => {
  const row = await newRecord()

  expect(await landedRows(store.client, [row])).toEqual([row])
  expect((await versionsOf(row)).map((version) => version.row)).toEqual([row])
})

test('each published change is applied once, in order, and announced by an event', async () => {
  const row = await newRecord()
  start({ ...realDeps(), subscribesToRecords: () => true })
  await send(row, OVERRIDE)
  await send(row, { kind: 'dispute', reason: 'no' })
  await send(row, { kind: 'undo_override' })
  await send(row, { kind: 'undo_dispute' })
  await untilDone()

  const versions = await versionsOf(row)
  expect(versions.map(({ row: { outputState }, closed }) => [outputState, closed?.change])).toEqual([
    ['inferred', 'override'],
    ['overridden', 'dispute'],
    ['disputed', 'undo_override'],
    ['disputed', 'undo_dispute'],
    ['inferred', undefined],
  ])
  expect({ ...versions.at(-1)?.row, validFromMs: NOW_MS }).toEqual(row)
  expect((await announced()).map(([subject]) => subject)).toEqual(
    ['override.applied', 'disputed', 'materialized', 'materialized'].map(
      (type) => `events.tnt_one.attribution.${type}`,
    ),
  )
  const { records: sums, rollups } = await readBooks(store.client)
  expect(rollups).toEqual(sums)
})

test('a correction is announced once as a new attribution, even if the process dies after announcing it', async () => {
  const row = await newRecord()
  const deps = { ...realDeps(), subscribesToRecords: () => true }
  const dying = start({
    ...deps,
    async publishEvents(events) {
      await deps.publishEvents(events)
      dying.die()
    },
  })
  const publishCorrections = correctionPublisher(broker, 1)
  await publishCorrections([{ tenantId: 'tnt_one', id: row.id, verdict: CORRELATED, cause: 'a.0.1' }])
  await dying.dead
  start(deps)
  await untilDone()

  const events = await announced()
  expect(events.map(([subject]) => subject)).toEqual(['events.tnt_one.attribution.materialized'])
  expect(events[0]?.[1]).toMatchObject({
    data: { id: formatId('attr', row.id), service: 'search', owner: 'team-search' },
    interpretation: { stage_origin: 'stage_a', confidence_band: 'chargeback_ready' },
  })
})

test('a decision that was answered with 202 and then refused is audited once as refused', async () => {
  const row = await newRecord()
  const audited = async (): Promise<RepeatedEntry[]> =>
    (
      await readLog(broker.manager, {
        stream: AUDIT.name,
        subject: AUDIT_OF_ALL,
        from: 1,
        messagesMax: 10,
        bytesMax: 2 ** 20,
      })
    ).map(({ data }) => decodeEntry(data))
  const promise = (changeId: string, decided: Decision['kind']) =>
    changePublisher(broker.publish)({
      id: changeId,
      tenantId: 'tnt_one',
      recordId: hexOf(row),
      actor: 'key_one',
      decision: { kind: 'promised', decided, traceId: 'a'.repeat(32) },
    })
  await send(row, OVERRIDE, 'chg_first')
  await promise('chg_first', 'override')
  await send(row, { ...OVERRIDE, service: 'other' }, 'chg_second')
  await promise('chg_second', 'override')
  const deps = realDeps()
  const dying = start({
    ...deps,
    async audit(entry, id) {
      await deps.audit(entry, id)
      dying.die()
    },
  })
  await dying.dead
  start()
  await untilDone()

  expect(await audited()).toEqual([
    {
      tenantId: 'tnt_one',
      actor: 'key_one',
      action: 'attribution.override',
      target: formatId('attr', row.id),
      outcome: 'refused',
      errorCode: 'CONFLICT',
      traceId: 'a'.repeat(32),
      at: expect.any(Number),
      repeats: 1,
    },
  ])
  expect((await versionsOf(row)).map(({ row: { service } }) => service)).toEqual(['search', 'support'])
})

test.each([true, false])('a merge is published once, to a tenant who subscribes: %s', async (isSubscribed) => {
  const responseId = `resp-${isSubscribed}`
  const kept = await newRecord({ responseId })
  const absorbed = await newRecord({ responseId, intake: 'otlp', confidence: 5_000 })
  const deps = { ...realDeps(), subscribesToMerges: () => isSubscribed }
  const dying = start({
    ...deps,
    async publishEvents(events) {
      await deps.publishEvents(events)
      dying.die()
    },
  })
  const [fromMs, toMs] = [kept.eventTimeMs - 1_000, kept.eventTimeMs + 1_000]
  const members = [hexOf(kept), hexOf(absorbed)]
  await comparisonPublisher(broker)([{ id: responseId, tenantId: 'tnt_one', members, fromMs, toMs }])
  if (isSubscribed) await dying.dead
  start(deps)
  await untilDone()

  const merged = {
    id: formatId('attr', kept.id),
    invocation_id: formatId('inv', kept.id),
    merged_id: formatId('attr', absorbed.id),
    merged_invocation_id: formatId('inv', absorbed.id),
    matched_by: 'response_id',
  }
  const data = expect.objectContaining({ data: merged })
  expect(await announced()).toEqual(isSubscribed ? [['events.tnt_one.attribution.merged', data]] : [])
  expect((await versionsOf(absorbed)).map(({ closed }) => closed?.change)).toEqual(['merge'])
})

const EFFECTS = ['insert', 'close', 'publishEvents'] as const
test.each(EFFECTS.flatMap((effect) => [['before', effect] as const, ['after', effect] as const]))(
  'if a process dies %s its %s, another applies the changes once',
  async (when, effect) => {
    const rows = [await newRecord(), await newRecord()]
    for (const row of rows) await send(row, OVERRIDE)
    const deps = realDeps()
    const dying = start({
      ...deps,
      async [effect](...args: never[]) {
        if (when === 'after') await (deps[effect] as (...all: never[]) => Promise<void>)(...args)
        dying.die()
      },
    })
    await dying.dead

    start()
    await untilDone()

    for (const row of rows) {
      const [before, after, ...more] = await versionsOf(row)
      expect(more).toEqual([])
      expect(before).toMatchObject({ row, closed: { change: 'override', atMs: after?.row.validFromMs } })
      expect(after).toMatchObject({ row: { service: 'support' }, closed: undefined })
    }
    expect(await announced()).toHaveLength(2)
    const { records: sums, rollups } = await readBooks(store.client)
    expect(rollups).toEqual(sums)
  },
)

test('a change repeated long afterwards has no further effect', async () => {
  const row = await newRecord()
  start()
  await send(row, OVERRIDE, 'chg_once')
  await untilDone()
  await send(row, { kind: 'undo_override' })
  await untilDone()

  await broker.publish('changes.tnt_one', encodeChange({ ...REPEATED, recordId: hexOf(row) }), 'another id', 2_000)
  await untilDone()

  const [last] = (await versionsOf(row)).slice(-1)
  expect(last).toMatchObject({ row: { outputState: 'inferred' }, closed: undefined })
})

test('an invalid change is quarantined, and the next one is applied', async () => {
  const row = await newRecord()
  start()

  await broker.publish('changes.tnt_one', Buffer.from('{"id":"chg_x"}'), 'poison', 2_000)
  await send(row, OVERRIDE)
  await untilDone()

  expect((await broker.manager.streams.info(QUARANTINE.name)).state.messages).toBe(1)
  expect(await versionsOf(row)).toHaveLength(2)
})
