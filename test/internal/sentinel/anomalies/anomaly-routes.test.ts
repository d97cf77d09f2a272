import { afterAll, beforeAll, expect, test } from 'vitest'
import { createCursorCodec } from '../../../../internal/http/resource/pages.js'
import { anomalyRoutes } from '../../../../internal/sentinel/anomalies/anomaly-routes.js'
import { listEvents } from '../../../../internal/store/queries/event-log.js'
import { insertRows } from '../../../../internal/store/sink.js'
import { EVENT_LOG, type EventRow } from '../../../../internal/store/tables/event-log.js'
import { type Ask, askAs, refusalOf } from '../../../support/ask.js'
import { launchBroker } from '../../../support/broker.js'
import { type Database, openDatabase } from '../../../support/database.js'
import { type MutationGateway, SECRET, startMutationGateway } from '../../../support/mutation-gateway.js'

const PATH = '/api/v1/anomalies'
const HOUR_MS = 3_600_000
const NOW_MS = Math.floor(Date.now() / HOUR_MS) * HOUR_MS
const at = (hour: number): string => new Date(NOW_MS - 24 * HOUR_MS + hour * HOUR_MS).toISOString()

/** The anomaly of an hour, detected at its end. */
const rowOf = (hour: number, tenantId = 'tnt_one', service = 'search', more: object = {}): EventRow => ({
  tenantId,
  type: 'anomaly.detected',
  eventId: `evt_${tenantId}_${hour}`,
  createdAtMs: Date.parse(at(hour + 1)),
  envelope: JSON.stringify({
    id: `evt_${tenantId}_${hour}`,
    type: 'anomaly.detected',
    created_at: at(hour + 1),
    sequence: hour,
    tenant_id: tenantId,
    data: {
      scope: { service, owner: `"o'${hour}`, provider: 'openai' },
      observed: '80.123456789012345678',
      expected: '2',
      window: { from: at(hour), to: at(hour + 1) },
      score: 7.5,
      ...more,
    },
  }),
  sourceLog: 1,
  sourceSequence: hour + 1,
})

let store: Database
let gateway: MutationGateway
let ask: Ask
beforeAll(async () => {
  store = await openDatabase()
  const rows = [
    rowOf(0),
    rowOf(1, 'tnt_one', 'chat', { observed_until: at(1.5) }),
    rowOf(2),
    rowOf(3, 'tnt_two'),
    { ...rowOf(4), type: 'apikey.rotated' },
  ]
  await insertRows(store.client, EVENT_LOG, rows, 'rows')
  gateway = await startMutationGateway((await launchBroker()).url, () =>
    anomalyRoutes({
      listEvents: (question, signal) => listEvents(store.client, question, signal),
      keptDays: 90,
      cursors: createCursorCodec(SECRET),
      clock: Date.now,
    }),
  )
  ask = askAs(gateway.url, { 'x-api-key': 'read:reporting' })
})
afterAll(async () => {
  await gateway?.stop()
})

const idsOf = async (query = '') =>
  (await ask('GET', `${PATH}?${query}`)).json.data.map(({ id }: { id: string }) => id.split('_').at(-1))

test('anomalies of the tenant are listed newest first, with exact amounts', async () => {
  const { json } = await ask('GET', PATH)

  expect(json.data.map(({ id }: { id: string }) => id)).toEqual(['evt_tnt_one_2', 'evt_tnt_one_1', 'evt_tnt_one_0'])
  expect(json.data[1]).toEqual({
    id: 'evt_tnt_one_1',
    detected_at: at(2),
    scope: { service: 'chat', owner: `"o'1`, provider: 'openai' },
    observed_usd: '80.123456789012345678',
    expected_usd: '2',
    window: { from: at(1), to: at(2) },
    observed_until: at(1.5),
    score: 7.5,
  })
})

test('anomalies are filtered by scope and time', async () => {
  expect(await idsOf('service=search')).toEqual(['2', '0'])
  expect(await idsOf(new URLSearchParams({ owner: `"o'1`, provider: 'openai' }).toString())).toEqual(['1'])
  expect(await idsOf('service=Search')).toEqual([])
  expect(await idsOf(`from=${at(2)}&to=${at(3)}`)).toEqual(['1'])
  for (const query of ['service=', 'from=today', 'to=x', 'scope=x', 'from=', 'to=', 'time_zone=']) {
    expect(refusalOf(await ask('GET', `${PATH}?${query}`))).toEqual([400, 'INVALID_FILTER'])
  }
})

test('anomalies have pages, whose cursor holds for the tenant and the filters only', async () => {
  const first = (await ask('GET', `${PATH}?limit=2`)).json
  const cursor = first.page.next_cursor

  expect(await idsOf(`limit=2&cursor=${cursor}`)).toEqual(['0'])
  expect(refusalOf(await ask('GET', `${PATH}?service=chat&cursor=${cursor}`))).toEqual([400, 'INVALID_CURSOR'])
  const other = askAs(gateway.url, { 'x-api-key': 'tnt_two:read:reporting' })
  expect(refusalOf(await other('GET', `${PATH}?cursor=${cursor}`))).toEqual([403, 'TENANT_MISMATCH'])
})
