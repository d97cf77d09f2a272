import type { KV } from '@nats-io/kv'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { bucketRecords } from '../../../internal/broker/records.js'
import { tenantIdsCache } from '../../../internal/ids/ids.js'
import { HOUR_MS, TRAILING_HOURS } from '../../../internal/sentinel/anomaly.js'
import { HOURS_MAX, type SpendProgress, type SpendReads, watchSpend } from '../../../internal/sentinel/watch-spend.js'
import type { HourlySpend } from '../../../internal/store/queries/reports/hourly-spend.js'
import { parseQuantity, type Quantity } from '../../../internal/units/quantity.js'
import { ANNOUNCEMENTS, SPEND_LOOKS } from '../../../streams/buckets.js'
import { type Buckets, launchBuckets } from '../../support/buckets.js'

let buckets: Buckets
let announcements: KV
let checks: KV
beforeAll(async () => {
  buckets = await launchBuckets()
  announcements = await buckets.open(ANNOUNCEMENTS)
  checks = await buckets.open(SPEND_LOOKS)
})
afterAll(() => buckets.close())

let tenantId = 'tnt_0'
/** The events stored in EVENTS: start and spend of each hour. */
let emitted: [string, string][]
/** Until when each of these was observed. */
let observedUntil: string[]
let ids: string[]
/** Full hours that were checked. */
let checked: string[]
/** Hours that were checked while they were running, or still open for late calls. */
let checkedEarly: string[]
beforeEach(() => {
  tenantId = `tnt_${Number(tenantId.slice(4)) + 1}`
  emitted = []
  observedUntil = []
  ids = []
  checked = []
  checkedEarly = []
})

const usd = (text: string): Quantity<'USD'> => parseQuantity<'USD'>(text) as Quantity<'USD'>
const text = (ms: number): string => new Date(ms).toISOString().slice(0, 16)
/** For so long an hour is open for late calls. */
const LATE_MS = 5 * 60 * 1000
const SCOPE = { service: 'search', owner: 'team-a', provider: 'openai' }

/** Two dollars per hour in the rollups, and more in some hours. */
const spendOf = (hourMs: number, high: Readonly<Record<string, string>>): HourlySpend => {
  const hours = Array.from({ length: TRAILING_HOURS + 1 }, (_, i) => hourMs - i * HOUR_MS)
  const firstMs = hours.at(-1) ?? 0
  return { ...SCOPE, firstMs, spent: new Map(hours.map((ms) => [ms, usd(high[text(ms)] ?? '2')])) }
}

interface Spent {
  /** Spend in the rollups, by hour. */
  readonly high?: Readonly<Record<string, string>>
  /** Spend in the records, by hour; default: that of the rollups. */
  readonly exact?: Readonly<Record<string, string>>
  /** The store is unavailable for this hour and later ones. */
  readonly unavailableFrom?: string
  /** The store always fails for this hour. */
  readonly unreadable?: string
}

async function check(
  at: string,
  { high = {}, exact = high, unavailableFrom = '~', unreadable }: Spent = {},
): Promise<void> {
  const reads: SpendReads = {
    async hourly(_, hourMs) {
      if (text(hourMs) >= unavailableFrom || text(hourMs) === unreadable) throw new Error('unavailable')
      const isOver = hourMs + HOUR_MS + LATE_MS <= Date.parse(at)
      ;(isOver ? checked : checkedEarly).push(text(hourMs))
      return [spendOf(hourMs, high)]
    },
    async exact(_, hourMs, scope) {
      expect(scope).toEqual(SCOPE)
      return exact[text(hourMs)] ?? '2'
    },
  }
  await watchSpend(
    tenantId,
    reads,
    bucketRecords<SpendProgress>(checks, async () => undefined),
    {
      bucket: announcements,
      idsOf: tenantIdsCache(new Uint8Array(32)),
      async store(_, stored, id) {
        const { data } = JSON.parse(stored)
        ids.push(id)
        observedUntil.push(data.observed_until)
        expect([data.observed_usd, data.expected_usd]).toEqual([data.observed, data.expected])
        emitted.push([data.window.from.slice(0, 16), data.observed])
      },
      lastSequence: async () => 0,
      isStored: async () => false,
      clock: () => Date.parse(at),
    },
  )
}

test('an anomalous hour emits one event, with the spend summed from the records', async () => {
  const high = { '2026-11-21T08:00': '90' }
  await check('2026-11-21T09:05:00Z', { high, exact: { '2026-11-21T08:00': '80.5' } })
  await check('2026-11-21T09:06:00Z', { high })

  expect(emitted).toEqual([['2026-11-21T08:00', '80.5']])
})

test('an hour whose rollup is inflated by replaced records emits no anomaly', async () => {
  const high = { '2026-11-21T08:00': '90' }
  await check('2026-11-21T09:05:00Z', { high, exact: { '2026-11-21T08:00': '2' } })
  expect(emitted).toEqual([])

  await check('2026-11-21T09:06:00Z', { high })
  expect(emitted).toEqual([['2026-11-21T08:00', '90']])
})

test('the first run for a tenant checks the last full hour', async () => {
  await check('2026-11-21T09:04:59Z')
  await check('2026-11-21T09:05:00Z')

  expect(checked).toEqual(['2026-11-21T07:00', '2026-11-21T07:00', '2026-11-21T08:00'])
})

test('hours missed by an outage are checked afterwards, together with the last hour checked', async () => {
  await check('2026-11-21T09:30:00Z')
  checked = []
  await check('2026-11-21T12:30:00Z', { high: { '2026-11-21T09:00': '90', '2026-11-21T08:00': '70' } })

  expect(checked).toEqual(['2026-11-21T08:00', '2026-11-21T09:00', '2026-11-21T10:00', '2026-11-21T11:00'])
  expect(emitted).toEqual([
    ['2026-11-21T08:00', '70'],
    ['2026-11-21T09:00', '90'],
  ])
})

test('an interrupted spend check resumes where it stopped', async () => {
  await check('2026-11-21T09:30:00Z')
  await expect(check('2026-11-21T12:30:00Z', { unavailableFrom: '2026-11-21T10:00' })).rejects.toThrow('unavailable')
  checked = []
  await check('2026-11-21T12:30:00Z')

  expect(checked).toEqual(['2026-11-21T09:00', '2026-11-21T10:00', '2026-11-21T11:00'])
})

test('the last hour is checked although an earlier one cannot be read', async () => {
  await check('2026-11-21T09:30:00Z')
  const high = { '2026-11-21T11:00': '90' }
  await expect(check('2026-11-21T12:30:00Z', { high, unreadable: '2026-11-21T09:00' })).rejects.toThrow('unavailable')
  expect(emitted).toEqual([['2026-11-21T11:00', '90']])

  checked = []
  await check('2026-11-21T12:40:00Z', { high })
  expect(checked).toEqual(['2026-11-21T08:00', '2026-11-21T09:00', '2026-11-21T10:00', '2026-11-21T11:00'])
  expect(emitted).toHaveLength(1)
})

test('a spend check catches up with at most one day', async () => {
  await check('2026-11-11T09:30:00Z')
  checked = []
  await check('2026-11-21T09:30:00Z')

  expect(checked).toHaveLength(HOURS_MAX)
  expect([checked[0], checked.at(-1)]).toEqual(['2026-11-20T09:00', '2026-11-21T08:00'])
})

test('a sentinel whose clock lags does not move the progress back', async () => {
  await check('2026-11-21T09:30:00Z')
  await check('2026-11-21T08:30:00Z')
  checked = []
  await check('2026-11-21T09:30:00Z')

  expect(checked).toEqual(['2026-11-21T08:00'])
})

test('a running hour emits its anomaly once, as soon as its spend is anomalous for a whole hour', async () => {
  const at = (spent: string) => ({ high: { '2026-11-21T09:00': spent } })
  await check('2026-11-21T09:10:00Z', at('6'))
  expect(emitted).toEqual([])

  await check('2026-11-21T09:20:00Z', at('40'))
  await check('2026-11-21T09:50:00Z', at('90'))
  await check('2026-11-21T10:02:00Z', at('95'))
  await check('2026-11-21T10:06:00Z', at('95'))

  expect(emitted).toEqual([['2026-11-21T09:00', '40']])
  expect(observedUntil).toEqual(['2026-11-21T09:20:00.000Z'])
})

test('an anomaly has the same event id, whether its hour was running or complete', async () => {
  const high = { '2026-11-21T09:00': '90' }
  await check('2026-11-21T09:20:00Z', { high })
  for await (const key of await announcements.keys()) await announcements.purge(key)
  await check('2026-11-21T10:06:00Z', { high })

  expect(observedUntil).toEqual(['2026-11-21T09:20:00.000Z', '2026-11-21T10:00:00.000Z'])
  expect(new Set(ids).size).toBe(1)
})

test('an hour that spends at its start what others spend in all is no anomaly', async () => {
  const usual = Array.from({ length: TRAILING_HOURS + 1 }, (_, i) => [
    text(Date.parse('2026-11-21T09:00:00Z') - i * HOUR_MS),
    '90',
  ])
  await check('2026-11-21T09:01:00Z', { high: Object.fromEntries(usual) })

  expect(emitted).toEqual([])
  expect(checkedEarly).toEqual(['2026-11-21T08:00', '2026-11-21T09:00'])
})
