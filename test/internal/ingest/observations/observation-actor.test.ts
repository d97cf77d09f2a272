import { beforeAll, expect, test } from 'vitest'
import { publishOrThrow } from '../../../../internal/broker/publisher.js'
import { purgeOnce } from '../../../../internal/broker/purge.js'
import {
  type ObservationsActorDeps,
  observationsActor,
} from '../../../../internal/ingest/observations/observation-actor.js'
import { encodeObservation, encodeObservations } from '../../../../internal/ingest/observations/observation-codec.js'
import { observationSources } from '../../../../internal/store/queries/reports/observations.js'
import { insertRows } from '../../../../internal/store/sink.js'
import { OBSERVATIONS_TABLE } from '../../../../internal/store/tables/observations.js'
import {
  OBSERVATIONS,
  OBSERVATIONS_CHECKPOINT,
  OBSERVATIONS_OF_ALL,
  observationsSubject,
} from '../../../../streams/observations.js'
import { type Database, openDatabase } from '../../../support/database.js'
import { idOf } from '../../../support/invocations.js'
import { type LogBroker, launchLogBroker, startPlannedLog } from '../../../support/planned-logs.js'

const LOG_ID = 1_700_000_000
const BYTES_MAX = 1024 ** 2

let store: Database
let broker: LogBroker

beforeAll(async () => {
  store = await openDatabase()
  broker = await launchLogBroker({ observationsBytesMax: BYTES_MAX })
})

const storeDeps = (logId = LOG_ID): ObservationsActorDeps => ({
  publish: broker.publish,
  publishTogether: broker.publishTogether,
  insert: (rows, token) => insertRows(store.client, OBSERVATIONS_TABLE, rows, `${logId}.${token}`),
  sourcesOf: (eventIds) => observationSources(store.client, eventIds),
  logId,
  log: broker.deps.log,
})

/** The actor, as one process runs it. */
const start = (deps: Partial<ObservationsActorDeps> = {}, logId = LOG_ID) =>
  startPlannedLog(observationsActor({ ...storeDeps(logId), ...deps }), broker.deps)

const untilDone = (): Promise<void> => broker.untilDone(OBSERVATIONS_CHECKPOINT, OBSERVATIONS.name, OBSERVATIONS_OF_ALL)

const uuidOf = (number: number): string => `00000000-0000-4000-8000-${String(number).padStart(12, '0')}`

const entryOf = (tenantId: string, number: number, source = 'proxy'): string =>
  encodeObservation(
    { tenantId, principal: 'key_one', id: idOf(number), receivedAtMs: Date.now() },
    { event_id: uuidOf(number), type: 'heartbeat', occurred_at: '2026-11-03T12:00:00Z', source, data: { number } },
  )

let messages = 0
const publish = (tenantId: string, data: Uint8Array): Promise<void> =>
  publishOrThrow(broker.publish, observationsSubject(tenantId), data, `test.${++messages}`)
const send = (tenantId: string, numbers: readonly number[], source?: string): Promise<void> =>
  publish(tenantId, encodeObservations(numbers.map((number) => entryOf(tenantId, number, source))))

async function lines(query: string): Promise<unknown[]> {
  const result = await store.client.query({ query, format: 'JSONCompactEachRow' })
  return result.json()
}

async function countOf(tenantId: string): Promise<number> {
  const [[count] = []] = (await lines(`SELECT count() FROM observations WHERE tenant_id = '${tenantId}'`)) as [string][]
  return Number(count)
}

test('observations of every tenant are stored with all their fields', async () => {
  await send('tnt_one', [1, 2])
  await send('tnt_two', [1])

  const actor = start()
  await untilDone()
  await actor.stop()

  expect(await countOf('tnt_one')).toBe(2)
  expect(await countOf('tnt_two')).toBe(1)
  const columns = 'tenant_id, event_id, lower(hex(id)), type, source, toString(occurred_at), principal, trace_id, data'
  expect(await lines(`SELECT ${columns} FROM observations WHERE tenant_id = 'tnt_two'`)).toEqual([
    [
      'tnt_two',
      uuidOf(1),
      Buffer.from(idOf(1)).toString('hex'),
      'heartbeat',
      'proxy',
      '2026-11-03 12:00:00.000',
      'key_one',
      '',
      '{"number":1}',
    ],
  ])
})

test('an event id counts once per tenant, by its first arrival, within a message, a batch and beyond', async () => {
  await send('tnt_three', [10, 11, 10], 'first')
  await send('tnt_three', [11], 'second')
  const actor = start()
  await untilDone()
  await send('tnt_three', [10, 12], 'third')
  await untilDone()
  await actor.stop()

  expect(
    await lines(`SELECT event_id, source FROM observations WHERE tenant_id = 'tnt_three' ORDER BY event_id`),
  ).toEqual([
    [uuidOf(10), 'first'],
    [uuidOf(11), 'first'],
    [uuidOf(12), 'third'],
  ])
})

test('a batch lands once when the process dies before its insert, or after it, or both', async () => {
  await send('tnt_four', [20, 21, 20])

  const first = start({ insert: async () => first.die() })
  await first.dead
  const second = start({
    async insert(rows, token) {
      await storeDeps().insert(rows, token)
      second.die()
    },
  })
  await second.dead
  const third = start()
  await untilDone()
  await third.stop()

  expect(await lines(`SELECT event_id FROM observations WHERE tenant_id = 'tnt_four' ORDER BY event_id`)).toEqual([
    [uuidOf(20)],
    [uuidOf(21)],
  ])
})

test('observations from another log are recognised; their sequences make no batch of this log a repeat', async () => {
  await send('tnt_five', [30])
  const before = start()
  await untilDone()
  await before.stop()
  // The broker has lost its data and begins anew at sequence 1.
  await broker.manager.streams.purge(OBSERVATIONS.name)
  await broker.deps.checkpoints.delete(OBSERVATIONS_CHECKPOINT)

  await send('tnt_five', [30, 31])
  const after = start({}, LOG_ID + 1)
  await untilDone()
  await after.stop()

  expect(await lines(`SELECT event_id FROM observations WHERE tenant_id = 'tnt_five' ORDER BY event_id`)).toEqual([
    [uuidOf(30)],
    [uuidOf(31)],
  ])
})

test('an unreadable message is quarantined, and the others are processed', async () => {
  const data = Buffer.from('{"not":"observations"}')
  await send('tnt_six', [40])
  await publish('tnt_six', data)
  await send('tnt_six', [41])

  const actor = start()
  await untilDone()
  await actor.stop()

  expect(await countOf('tnt_six')).toBe(2)
  const kept = await broker.manager.direct.getMessage('QUARANTINE', { last_by_subj: 'quarantine.observations' })
  expect(Buffer.from(kept?.data ?? [])).toEqual(data)
  expect([kept?.header.get('Attribution-Reason'), kept?.header.get('Attribution-Log')]).toEqual([
    'unreadable_message: TypeError',
    'observations.tnt_six',
  ])
})

test('a stream full of processed messages purges them; one full of unprocessed messages refuses new ones', async () => {
  const fill = async (tenantId: string): Promise<number> => {
    for (let sent = 0; ; sent++) {
      const data = encodeObservations([entryOf(tenantId, 1_000 + sent, 'x'.repeat(60_000))])
      const result = await broker.publish(observationsSubject(tenantId), data, `fill.${tenantId}.${sent}`, 2_000)
      if (result.kind !== 'stored') return sent
    }
  }
  const purge = () =>
    purgeOnce(
      { ...broker.deps, manager: broker.manager },
      [{ ...observationsActor(storeDeps()), bytesMax: BYTES_MAX, keepMs: undefined }],
      Date.now(),
    )

  const sent = await fill('tnt_seven')
  await purge()
  expect(await fill('tnt_eight')).toBe(0)
  const actor = start({}, LOG_ID + 1)
  await untilDone()
  await actor.stop()
  await purge()

  expect(await countOf('tnt_seven')).toBe(sent)
  expect(await fill('tnt_eight')).toBeGreaterThan(sent / 2)
})
