import { afterAll, beforeAll, expect, test } from 'vitest'
import { bucketRecords } from '../../../../internal/broker/records.js'
import type { NewEvent } from '../../../../internal/events/event.js'
import { type BacklogEpisode, backlogNotices } from '../../../../internal/ingest/admission/backlog-notices.js'
import { createLog } from '../../../../internal/telemetry/log.js'
import { BACKLOG_EPISODES } from '../../../../streams/buckets.js'
import { type Buckets, launchBuckets } from '../../../support/buckets.js'

const MINUTE_MS = 60_000
const START_MS = Date.UTC(2026, 0, 1)

let buckets: Buckets
beforeAll(async () => {
  buckets = await launchBuckets()
})
afterAll(() => buckets.close())

/** Gateways that share a broker and a clock. */
async function gateways(count: number) {
  const clock = { nowMs: START_MS }
  const published: NewEvent<'ingestion.backlog'>[] = []
  const broken = { isBroken: false }
  const noticeOf = async () =>
    backlogNotices({
      episodes: bucketRecords<BacklogEpisode>(await buckets.open(BACKLOG_EPISODES), async () => undefined),
      publishEvent: async (event) => {
        if (broken.isBroken) throw new Error('not stored')
        published.push(event as NewEvent<'ingestion.backlog'>)
      },
      clock: () => clock.nowMs,
      log: createLog('test', 'silent'),
    })
  const notices = await Promise.all(Array.from({ length: count }, noticeOf))
  const causes = (): string[] => [...new Set(published.map(({ tenantId, cause }) => `${tenantId} ${cause}`))]
  return { notices, published, causes, clock, broken }
}

const seenAt = (tenantId: string, level: string) => async (): Promise<number | undefined> => {
  const bucket = await buckets.open(BACKLOG_EPISODES)
  return (await bucket.get(`${tenantId}.${level}`))?.json<BacklogEpisode>().seen_ms
}
const isTold = async (tenantId: string): Promise<boolean | undefined> =>
  (await (await buckets.open(BACKLOG_EPISODES)).get(`${tenantId}.refused`))?.json<BacklogEpisode>().is_told

test('a tenant is notified once per episode, however many gateways refuse it, and again in the next one', async () => {
  const { notices, published, causes, clock } = await gateways(2)
  const refuseAll = () => notices.forEach((notice) => void notice('tnt_flood', 'refused'))

  refuseAll()
  await expect.poll(() => isTold('tnt_flood')).toBe(true)
  expect(causes()).toEqual(['tnt_flood refused 2026-01-01T00:00:00.000Z'])
  expect(published[0]?.data).toEqual({ level: 'refused', since: '2026-01-01T00:00:00.000Z' })
  // It goes on for longer than an episode takes to end.
  for (let i = 0; i < 4; i++) {
    clock.nowMs += 5 * MINUTE_MS
    refuseAll()
    await expect.poll(seenAt('tnt_flood', 'refused')).toBe(clock.nowMs)
  }
  expect(causes()).toHaveLength(1)

  clock.nowMs += 11 * MINUTE_MS
  refuseAll()

  await expect
    .poll(causes)
    .toEqual(['tnt_flood refused 2026-01-01T00:00:00.000Z', 'tnt_flood refused 2026-01-01T00:31:00.000Z'])
})

test('a warning and a refusal are two events, and each tenant has its own', async () => {
  const { notices, causes } = await gateways(1)
  const [notice] = notices

  notice?.('tnt_one', 'warning')
  notice?.('tnt_one', 'refused')
  notice?.('tnt_two', 'warning')

  await expect
    .poll(() =>
      causes()
        .map((cause) => cause.slice(0, 15))
        .sort(),
    )
    .toEqual(['tnt_one refused', 'tnt_one warning', 'tnt_two warning'])
})

test('an event that the broker did not store is published at the next occasion, with the first’s time', async () => {
  const { notices, causes, broken, clock } = await gateways(2)
  broken.isBroken = true
  notices[0]?.('tnt_late', 'refused')
  await expect.poll(seenAt('tnt_late', 'refused')).toBe(START_MS)

  broken.isBroken = false
  clock.nowMs += MINUTE_MS
  notices[1]?.('tnt_late', 'refused')

  await expect.poll(causes).toEqual(['tnt_late refused 2026-01-01T00:00:00.000Z'])
})
