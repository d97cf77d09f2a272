import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { type StoredConnector, storedConnector } from '../../../../internal/access/connectors/connector.js'
import { expireHealth, reportHealth, watchHealth } from '../../../../internal/access/connectors/connector-health.js'
import { type WatchedRecords, watchRecords } from '../../../../internal/broker/watched-records.js'
import type { NewEvent } from '../../../../internal/events/event.js'
import { CONNECTORS } from '../../../../streams/buckets.js'
import { type Buckets, launchBuckets } from '../../../support/buckets.js'

let buckets: Buckets
let connectors: WatchedRecords<StoredConnector>
let published: NewEvent[]
let nowMs = Date.UTC(2026, 10, 21)

beforeAll(async () => {
  buckets = await launchBuckets()
  connectors = await watchRecords<StoredConnector>(await buckets.open(CONNECTORS), () => undefined)
})
afterAll(async () => {
  connectors.stop()
  await buckets.close()
})

const ID = 'con_one'
beforeEach(async () => {
  published = []
  nowMs += 60_000
  await connectors.delete(ID)
  const wanted = { name: 'One', scopes: [], sourceSystems: ['a'], residencyLane: null }
  const ids = { connector: ID, client: 'cli_one' }
  await connectors.createOnce(ID, storedConnector(ids, 'tnt_one', wanted, 'secret', new Date(nowMs).toISOString()))
})

const publish = async (event: NewEvent): Promise<void> => void published.push(event)
const report = (status: 'healthy' | 'degraded' | 'failing', publishEvent = publish) => {
  nowMs += 1_000
  return reportHealth(ID, { status }, { connectors, publishEvent, clock: () => nowMs })
}
const changes = () => published.map(({ data }) => ('from' in data ? `${data.from} ${data.to}` : ''))

test('each change of a connector’s health is published, and an unchanged status is not', async () => {
  for (const status of ['healthy', 'healthy', 'degraded', 'degraded', 'healthy'] as const) await report(status)

  expect(changes()).toEqual(['unknown healthy', 'healthy degraded', 'degraded healthy'])
  expect(published[0]).toMatchObject({
    tenantId: 'tnt_one',
    type: 'connector.health.changed',
    data: { connector_id: ID },
  })
  expect(new Set(published.map(({ cause }) => cause)).size).toBe(3)
})

test('every health report is stored, also one without a change', async () => {
  const first = await report('healthy')
  const again = await report('healthy')

  expect(again?.health).toEqual({ ...first?.health, reported_at: new Date(nowMs).toISOString() })
})

test('a health change that could not be published is published before the next one, as the same event', async () => {
  const causes: string[] = []
  const failing = async ({ cause }: NewEvent): Promise<void> => {
    causes.push(cause)
    throw new Error('the broker is unavailable')
  }
  await expect(report('failing', failing)).rejects.toThrow('unavailable')

  await report('healthy')

  expect(changes()).toEqual(['unknown failing', 'failing healthy'])
  expect(published[0]?.cause).toBe(causes[0])
})

test('simultaneous health reports are applied one by one, and no change is lost', async () => {
  const statuses = ['healthy', 'degraded', 'failing'] as const
  await Promise.all(Array.from({ length: 12 }, (_, i) => report(statuses[i % 3] ?? 'healthy')))

  // A gateway that finds a change that another has not published yet publishes it too: the same event, by its cause.
  const distinct = [...new Map(published.map((event) => [event.cause, event])).values()]
  const kept = connectors.get(ID)?.health
  expect(kept?.is_announced).toBe(true)
  expect(distinct.at(-1)).toMatchObject({ data: { from: kept?.was, to: kept?.status } })
  for (const [i, { data }] of distinct.entries()) {
    const before = distinct[i - 1]?.data
    expect('from' in data && data.from).toBe(before !== undefined && 'to' in before ? before.to : 'unknown')
  }
})

test('a health report of a deleted connector returns undefined', async () => {
  await connectors.delete(ID)

  expect(await report('healthy')).toBeUndefined()
  expect(published).toEqual([])
})

const DAY_MS = 24 * 3_600_000
const look = (publishEvent = publish) => watchHealth('tnt_one', { connectors, publishEvent, clock: () => nowMs })

test('a connector without a report for a day becomes unknown, which is published once', async () => {
  const before = await report('healthy')
  nowMs += DAY_MS - 1
  await look()
  expect(changes()).toEqual(['unknown healthy'])

  nowMs += 1
  await look()
  await look()

  expect(changes()).toEqual(['unknown healthy', 'healthy unknown'])
  expect(connectors.get(ID)?.health).toMatchObject({
    status: 'unknown',
    reason: 'not_reported',
    reported_at: before?.health.reported_at,
    since: new Date(nowMs).toISOString(),
  })
  await report('healthy')
  expect(changes().at(-1)).toBe('unknown healthy')
})

test('a connector that reports at the moment of the lapse keeps the reported status', async () => {
  await report('healthy')
  nowMs += DAY_MS
  await report('degraded')
  await expireHealth(ID, { connectors, publishEvent: publish, clock: () => nowMs })

  expect(changes()).toEqual(['unknown healthy', 'healthy degraded'])
})

test('a connector that never reported, or is disabled, does not lapse', async () => {
  nowMs += 2 * DAY_MS
  await look()
  await report('failing')
  await connectors.change(ID, (connector) => ({ ...connector, status: 'disabled' }))
  nowMs += 2 * DAY_MS
  await look()

  expect(changes()).toEqual(['unknown failing'])
})

test('a health change whose gateway crashed before publishing it is published by the sentinel', async () => {
  await expect(report('failing', () => Promise.reject(new Error('the broker is unavailable')))).rejects.toThrow(
    'unavailable',
  )
  await look()

  expect(changes()).toEqual(['unknown failing'])
})
