import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { nextArrival } from '../../../internal/broker/arrivals.js'
import type { Progress } from '../../../internal/broker/checkpoint.js'
import { readFence } from '../../../internal/broker/fence.js'
import { lastSequenceOf, readLog } from '../../../internal/broker/log.js'
import type { PlannedLogDeps } from '../../../internal/broker/planned-log.js'
import { createPublisher, publishOrThrow } from '../../../internal/broker/publisher.js'
import { type EventLogDeps, eventLogActor } from '../../../internal/event-log/event-log-actor.js'
import { eventLogRoutes } from '../../../internal/event-log/event-log-routes.js'
import type { EventType } from '../../../internal/events/event-contract.js'
import { ExactNumber } from '../../../internal/events/exact-json.js'
import { eventPublisher } from '../../../internal/events/publish-event.js'
import { createCursorCodec } from '../../../internal/http/resource/pages.js'
import { tenantIdsCache } from '../../../internal/ids/ids.js'
import { keepEventsFor } from '../../../internal/store/migrations/event-log-days.js'
import { eventPlaces, listEvents } from '../../../internal/store/queries/event-log.js'
import { insertRows } from '../../../internal/store/sink.js'
import { EVENT_LOG } from '../../../internal/store/tables/event-log.js'
import { createLog } from '../../../internal/telemetry/log.js'
import { CHECKPOINTS } from '../../../streams/buckets.js'
import { EVENT_LOG_CHECKPOINT, EVENTS, eventsSubject } from '../../../streams/events.js'
import { type Ask, askAs, refusalOf } from '../../support/ask.js'
import { launchBroker } from '../../support/broker.js'
import { type Database, openDatabase } from '../../support/database.js'
import { type MutationGateway, SECRET, startMutationGateway } from '../../support/mutation-gateway.js'
import { startPlannedLog } from '../../support/planned-logs.js'

const LOG_ID = 1_700_000_000
const PATH = '/api/v1/events/log'
const idsOf = tenantIdsCache(SECRET)

let store: Database
let gateway: MutationGateway
let deps: PlannedLogDeps
let nowMs = Date.now()
beforeAll(async () => {
  store = await openDatabase()
  const { url } = await launchBroker()
  gateway = await startMutationGateway(url, () =>
    eventLogRoutes({
      listEvents: (question, signal) => listEvents(store.client, question, signal),
      keptDays: 90,
      cursors: createCursorCodec(SECRET),
      clock: () => nowMs,
    }),
  )
  const { manager } = gateway.broker
  deps = {
    checkpoints: await gateway.broker.bucket(CHECKPOINTS),
    readLog: (range) => readLog(manager, range),
    nextArrival: (subject) => nextArrival(gateway.broker.connection, subject),
    isOwner: () => true,
    readFence: () => readFence(manager),
    clock: Date.now,
    log: createLog('test', 'silent'),
  }
})
afterAll(async () => {
  await gateway?.stop()
})

const publishing = () => createPublisher(gateway.broker.connection).publish
const rotated = (tenantId: string, cause: string, type: EventType = 'apikey.rotated') =>
  eventPublisher(publishing(), idsOf)({ tenantId, type, cause, data: { old_key_id: cause, new_key_id: cause } })

/** The reader, as one process runs it. */
function start(stated: Partial<EventLogDeps> = {}) {
  const insert: EventLogDeps['insert'] = (rows, token) =>
    insertRows(store.client, EVENT_LOG, rows, `${LOG_ID}.${token}`)
  const actor = eventLogActor({
    insert,
    placesOf: (eventIds) => eventPlaces(store.client, eventIds),
    logId: LOG_ID,
    log: deps.log,
    ...stated,
  })
  return { insert, ...startPlannedLog({ ...actor, paceMs: 20 }, deps) }
}

async function untilDone(): Promise<void> {
  const last = await lastSequenceOf(gateway.broker.manager, EVENTS.name)
  for await (const entry of await deps.checkpoints.watch({ key: EVENT_LOG_CHECKPOINT })) {
    if (entry.operation !== 'PUT') continue
    const { done, plan } = entry.json<Progress>()
    if (done >= last && plan === undefined) return
  }
}

/** Writes down what was emitted so far. */
async function read(): Promise<void> {
  const reader = start()
  await untilDone()
  await reader.stop()
}

const as = (tenantId: string, scopes: string): Ask => askAs(gateway.url, { 'x-api-key': `${tenantId}:${scopes}` })
const ALL = 'read:attribution,read:reporting,export:create,admin:config'
const listed = async (tenantId: string, query = '', scopes = ALL) => {
  const { status, json } = await as(tenantId, scopes)('GET', `${PATH}?${query}`)
  expect(status).toBe(200)
  return json.data
}
const causesOf = async (tenantId: string, query?: string): Promise<string[]> =>
  (await listed(tenantId, query)).map(({ data }: { data: { old_key_id: string } }) => data.old_key_id)

describe('the reader of EVENTS', () => {
  test('lists an event as receivers get it, amounts to the last digit', async () => {
    const spent = '7.123456789012345678'
    await eventPublisher(
      publishing(),
      idsOf,
    )({
      tenantId: 'tnt_exact',
      type: 'budget.threshold.crossed',
      cause: 'one',
      data: {
        budget_id: 'bdg_one',
        threshold: 75,
        period_to_date_usd: new ExactNumber(spent),
        ceiling_usd: new ExactNumber('9'),
      },
    })
    await read()

    const answer = await fetch(`${gateway.url}${PATH}`, { headers: { 'x-api-key': `tnt_exact:${ALL}` } })
    const text = await answer.text()
    const json = JSON.parse(text)

    expect(json.data).toMatchObject([{ id: expect.stringMatching(/^evt_/), type: 'budget.threshold.crossed' }])
    expect(json.data[0].sequence).toBe(await lastSequenceOf(gateway.broker.manager, EVENTS.name))
    expect(json.data[0].created_at).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{9}Z$/)
    expect(text).toContain(`"period_to_date_usd":${spent},`)
  })

  test('lists each event once when the process dies before its insert, or after it, or both', async () => {
    for (const cause of ['a', 'b']) await rotated('tnt_killed', cause)

    const first = start({ insert: async () => first.die() })
    await first.dead
    const second = start({
      async insert(rows, token) {
        await second.insert(rows, token)
        second.die()
      },
    })
    await second.dead
    await read()

    expect(await causesOf('tnt_killed')).toEqual(['b', 'a'])
  })

  test('lists an event once that was published again, within a batch and later', async () => {
    const subject = eventsSubject('tnt_again', 'apikey.rotated')
    await rotated('tnt_again', 'a')
    const message = await gateway.broker.manager.direct.getMessage(EVENTS.name, { last_by_subj: subject })
    // A repeat that the broker no longer recognizes has the same body and id in another message.
    const repeat = async () => {
      await gateway.broker.manager.streams.update(EVENTS.name, { duplicate_window: 100_000_000 })
      await expect
        .poll(async () => {
          await publishOrThrow(
            publishing(),
            subject,
            message?.data ?? new Uint8Array(),
            message?.header.get('Nats-Msg-Id') ?? '',
          )
          return (await gateway.broker.manager.direct.getMessage(EVENTS.name, { last_by_subj: subject }))?.seq
        })
        .toBeGreaterThan(message?.seq ?? 0)
    }
    await repeat()
    await read()
    await repeat()
    await read()

    expect(await causesOf('tnt_again')).toEqual(['a'])
  })

  test('leaves out attribution.materialized and messages that are no events', async () => {
    await rotated('tnt_left', 'm', 'attribution.materialized')
    await publishOrThrow(publishing(), eventsSubject('tnt_left', 'apikey.rotated'), Buffer.from('{}'), 'x')
    await rotated('tnt_left', 'a')
    await read()

    expect(await causesOf('tnt_left')).toEqual(['a'])
  })
})

describe('the log of events', () => {
  test('has pages, newest first, of the own tenant only', async () => {
    const causes = Array.from({ length: 7 }, (_, i) => `c${i}`)
    for (const cause of causes) await rotated('tnt_paged', cause)
    await rotated('tnt_other', 'o')
    await read()

    const found: string[] = []
    const ask = as('tnt_paged', ALL)
    for (let cursor = ''; ; ) {
      const { json } = await ask('GET', `${PATH}?limit=3${cursor}`)
      found.push(...json.data.map(({ data }: { data: { old_key_id: string } }) => data.old_key_id))
      if (!json.page.has_more) break
      cursor = `&cursor=${json.page.next_cursor}`
    }

    expect(found).toEqual(causes.toReversed())
  })

  test('refuses an altered cursor, one of another tenant, and one of another filter', async () => {
    for (const cause of ['a', 'b']) await rotated('tnt_cursor', cause)
    await read()
    const ask = as('tnt_cursor', ALL)
    const { next_cursor: cursor } = (await ask('GET', `${PATH}?limit=1`)).json.page
    const altered = `${cursor.slice(0, -1)}${cursor.endsWith('A') ? 'B' : 'A'}`

    expect(refusalOf(await ask('GET', `${PATH}?cursor=${altered}`))).toEqual([400, 'INVALID_CURSOR'])
    expect(refusalOf(await ask('GET', `${PATH}?type=apikey.rotated&cursor=${cursor}`))).toEqual([400, 'INVALID_CURSOR'])
    expect(refusalOf(await as('tnt_paged', ALL)('GET', `${PATH}?cursor=${cursor}`))).toEqual([403, 'TENANT_MISMATCH'])
  })

  test('is filtered by type and time', async () => {
    await rotated('tnt_filter', 'a')
    await rotated('tnt_filter', 'e', 'export.failed')
    await read()
    const [{ created_at: at }] = await listed('tnt_filter', 'type=apikey.rotated')
    const next = new Date(Date.parse(at) + 1).toISOString()

    expect(await causesOf('tnt_filter', 'type=export.failed')).toEqual(['e'])
    expect(await causesOf('tnt_filter', `type=apikey.rotated&to=${next}`)).toEqual(['a'])
    expect(await causesOf('tnt_filter', `type=apikey.rotated&from=${next}`)).toEqual([])
    for (const query of ['type=attribution.materialized', 'type=x', 'from=yesterday', 'to=x', 'types=x']) {
      expect(refusalOf(await as('tnt_filter', ALL)('GET', `${PATH}?${query}`))).toEqual([400, 'INVALID_FILTER'])
    }
  })

  test('shows a caller the types whose scope it holds, and refuses to filter by others', async () => {
    const types = ['apikey.rotated', 'export.failed', 'coverage.degraded', 'anomaly.detected'] as const
    for (const type of types) await rotated('tnt_scoped', type, type)
    await read()
    const seen = async (scopes: string) =>
      (await listed('tnt_scoped', '', scopes)).map(({ type }: { type: string }) => type).toReversed()

    expect(await seen(ALL)).toEqual(types)
    expect(await seen('admin:config')).toEqual(['apikey.rotated'])
    expect(await seen('export:create')).toEqual(['export.failed'])
    expect(await seen('read:attribution')).toEqual(['coverage.degraded'])
    expect(await seen('read:reporting,webhooks:manage')).toEqual(['anomaly.detected'])
    expect(refusalOf(await as('tnt_scoped', 'webhooks:manage')('GET', PATH))).toEqual([403, 'INSUFFICIENT_SCOPE'])
    const refused = await as('tnt_scoped', 'read:reporting')('GET', `${PATH}?type=apikey.rotated`)
    expect(refusalOf(refused)).toEqual([403, 'INSUFFICIENT_SCOPE'])
  })

  test('ends where the retention ends', async () => {
    await rotated('tnt_old', 'a')
    await read()
    const DAYS = 24 * 60 * 60 * 1000
    try {
      nowMs = Date.now() + 89 * DAYS
      expect(await causesOf('tnt_old')).toEqual(['a'])
      nowMs = Date.now() + 91 * DAYS
      expect(await causesOf('tnt_old', 'from=2020-01-01T00:00:00Z')).toEqual([])
    } finally {
      nowMs = Date.now()
    }
  })

  test('is kept for the configured number of days', async () => {
    const ttl = async (): Promise<string> => {
      const query =
        "SELECT extract(engine_full, 'toIntervalDay\\\\((\\\\d+)\\\\)') FROM system.tables WHERE database = currentDatabase() AND name = 'event_log'"
      return (await (await store.client.query({ query, format: 'JSONCompactEachRow' })).json<[string]>())[0]?.[0] ?? ''
    }
    const before = await ttl()
    await keepEventsFor(store.client, 30)
    const shorter = await ttl()
    await keepEventsFor(store.client, 90)

    expect([before, shorter, await ttl()]).toEqual(['90', '30', '90'])
  })
})
