import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createCursorCodec } from '../../../internal/http/resource/pages.js'
import { formatId, tenantIdsCache } from '../../../internal/ids/ids.js'
import { listWebhookAttempts } from '../../../internal/store/queries/webhook-attempts.js'
import { insertRows } from '../../../internal/store/sink.js'
import { type AttemptRow, WEBHOOK_ATTEMPTS } from '../../../internal/store/tables/webhook-attempts.js'
import { ATTEMPT_OUTCOMES } from '../../../internal/webhooks/attempt-outcomes.js'
import { deliveryRoutes } from '../../../internal/webhooks/delivery-routes.js'
import type { StoredWebhook } from '../../../internal/webhooks/endpoint.js'
import { type Ask, askAs, refusalOf } from '../../support/ask.js'
import { launchBroker } from '../../support/broker.js'
import { type Database, openDatabase } from '../../support/database.js'
import { NOW_MS } from '../../support/invocations.js'
import { type MutationGateway, SECRET, startMutationGateway } from '../../support/mutation-gateway.js'

const idsOf = tenantIdsCache(SECRET)
const idOf = (prefix: 'whk' | 'evt' | 'dlv', number: number, tenantId = 'tnt_one'): string =>
  formatId(prefix, Buffer.concat([idsOf(tenantId).tag, Buffer.alloc(12, number)]))
const ENDPOINT = idOf('whk', 1)
const REMOVED = idOf('whk', 2)
const SILENT = idOf('whk', 3)
const TYPES = ['apikey.rotated', 'export.completed', 'budget.threshold.crossed']

/** One attempt per minute; three per event, each with another outcome. */
const rowOf = (i: number, stated: Partial<AttemptRow> = {}): AttemptRow => ({
  tenantId: 'tnt_one',
  endpointId: ENDPOINT,
  deliveryId: idOf('dlv', Math.floor(i / 3)),
  eventId: idOf('evt', Math.floor(i / 3)),
  eventType: TYPES[Math.floor(i / 3) % TYPES.length] ?? '',
  eventSequence: Math.floor(i / 3) + 1,
  attempt: (i % 3) + 1,
  attemptedAtMs: NOW_MS + i * 60_000,
  latencyMs: i,
  responseStatus: i % 3 === 0 ? 200 : 503,
  outcome: ATTEMPT_OUTCOMES[i % 3] ?? '',
  reason: i % 3 === 0 ? '' : 'status',
  nextAttemptAtMs: 0,
  isReplayed: false,
  sourceLog: 1,
  sourceSequence: Math.floor(i / 10) + 1,
  sourceIndex: i % 10,
  ...stated,
})
const ROWS = Array.from({ length: 60 }, (_, i) => rowOf(i))
const OTHERS = ROWS.flatMap((_, i) => [
  rowOf(i, { endpointId: REMOVED }),
  rowOf(i, { tenantId: 'tnt_two', endpointId: idOf('whk', 1, 'tnt_two') }),
])

let store: Database
let gateway: MutationGateway
let manager: Ask
beforeAll(async () => {
  store = await openDatabase()
  await insertRows(store.client, WEBHOOK_ATTEMPTS, [...ROWS.slice(30), ...OTHERS], 'late')
  await insertRows(store.client, WEBHOOK_ATTEMPTS, ROWS.slice(0, 30), 'early')
  const { url } = await launchBroker()
  gateway = await startMutationGateway(url, () =>
    deliveryRoutes({
      webhooks: {
        get: (id) => ([ENDPOINT, SILENT].includes(id) ? ({ id, tenant_id: 'tnt_one' } as StoredWebhook) : undefined),
      },
      listAttempts: (question, signal) => listWebhookAttempts(store.client, question, signal),
      idsOf,
      cursors: createCursorCodec(SECRET),
      clock: Date.now,
    }),
  )
  manager = askAs(gateway.url, { 'x-api-key': 'webhooks:manage' })
})
afterAll(async () => {
  await gateway?.stop()
})

const at = (i: number): string => new Date(NOW_MS + i * 60_000).toISOString()
const asked = (filters: Record<string, string>) =>
  manager('GET', `/api/v1/webhooks/${ENDPOINT}/deliveries?${new URLSearchParams(filters)}`)

/** Follows the cursors through all pages. @returns the rows' positions, in order */
async function listed(filters: Record<string, string>): Promise<number[]> {
  const found: number[] = []
  for (let cursor: string | undefined, pages = 0; pages < 20; pages++) {
    const { status, json } = await asked({ ...filters, limit: '7', ...(cursor !== undefined && { cursor }) })
    expect(status).toBe(200)
    found.push(...json.data.map(({ latency_ms: number }: { latency_ms: number }) => number))
    cursor = json.page.next_cursor
    if (!json.page.has_more) return found
  }
  throw new Error('the pages do not end')
}

describe('the delivery log of an endpoint', () => {
  test.each<readonly [string, Record<string, string>, (row: AttemptRow) => boolean]>([
    ['no filter', {}, () => true],
    ['an event', { event_id: idOf('evt', 4) }, ({ eventId }) => eventId === idOf('evt', 4)],
    ['an event that was never sent to it', { event_id: idOf('evt', 200) }, () => false],
    ['a type', { event_type: 'export.completed' }, ({ eventType }) => eventType === 'export.completed'],
    ['a type that was never sent to it', { event_type: 'anomaly.detected' }, () => false],
    ...ATTEMPT_OUTCOMES.map(
      (wanted) => [wanted, { outcome: wanted }, ({ outcome }: AttemptRow) => outcome === wanted] as const,
    ),
    ['a start time, inclusive', { from: at(20) }, ({ latencyMs }) => latencyMs >= 20],
    ['an end time, exclusive', { to: at(20) }, ({ latencyMs }) => latencyMs < 20],
    ['a period', { from: at(10), to: at(25) }, ({ latencyMs }) => latencyMs >= 10 && latencyMs < 25],
    ['a period without attempts', { from: at(25), to: at(10) }, () => false],
    [
      'all of them at once',
      { event_id: idOf('evt', 4), event_type: TYPES[1] ?? '', outcome: 'retried', from: at(0), to: at(60) },
      ({ eventId, outcome }) => eventId === idOf('evt', 4) && outcome === 'retried',
    ],
  ])('filtered by %s has every matching attempt once, newest first', async (_, filters, isWanted) => {
    const expected = ROWS.filter(isWanted)
      .map(({ latencyMs }) => latencyMs)
      .reverse()

    expect(await listed(filters)).toEqual(expected)
  })

  test.each([
    ['event_id', 'evt_made-up'],
    ['event_id', ENDPOINT],
    ['event_type', 'budget.exploded'],
    ['outcome', 'lost'],
    ['outcome', ''],
    ['from', 'yesterday'],
    ['to', '2026-11-31'],
    ['limit', '0'],
  ])('refuses %s=%s and names the parameter', async (name, value) => {
    const refused = await asked({ [name]: value })

    expect([refused.status, refused.json.error_code]).toEqual([400, 'INVALID_FILTER'])
    expect(refused.json.errors).toEqual([{ pointer: `/${name}`, detail: expect.any(String) }])
  })

  test('refuses unknown and repeated parameters, and a cursor of other filters', async () => {
    const path = `/api/v1/webhooks/${ENDPOINT}/deliveries`
    const cursor = (await asked({ outcome: 'retried', limit: '2' })).json.page.next_cursor

    const unknown = await asked({ status: '200' })
    const twice = await manager('GET', `${path}?outcome=retried&outcome=acknowledged`)
    const foreign = await asked({ outcome: 'acknowledged', limit: '2', cursor })

    expect([unknown.status, unknown.json.error_code]).toEqual([400, 'INVALID_FILTER'])
    expect([twice.status, twice.json.errors[0].pointer]).toEqual([400, '/outcome'])
    expect([foreign.status, foreign.json.error_code]).toEqual([400, 'INVALID_CURSOR'])
  })

  test('is kept after the endpoint is deleted, and visible only to its tenant', async () => {
    const path = `/api/v1/webhooks/${REMOVED}/deliveries`

    const first = await manager('GET', `${path}?limit=7`)
    const second = await manager('GET', `${path}?limit=7&cursor=${first.json.page.next_cursor}`)
    const filtered = await manager('GET', `${path}?event_id=${idOf('evt', 200)}`)

    expect([...first.json.data, ...second.json.data].map((one) => one.latency_ms)).toEqual(
      Array.from({ length: 14 }, (_, i) => 59 - i),
    )
    expect([filtered.status, filtered.json.data]).toEqual([200, []])
    expect(refusalOf(await manager('GET', `/api/v1/webhooks/${idOf('whk', 1, 'tnt_two')}/deliveries`))).toEqual([
      403,
      'TENANT_MISMATCH',
    ])
  })

  test('is empty for an endpoint without deliveries, and not found for one that never existed', async () => {
    const empty = await manager('GET', `/api/v1/webhooks/${SILENT}/deliveries`)
    const none = await manager('GET', `/api/v1/webhooks/${idOf('whk', 9)}/deliveries`)

    expect([empty.status, empty.json.data]).toEqual([200, []])
    expect(refusalOf(none)).toEqual([404, 'NOT_FOUND'])
  })
})
