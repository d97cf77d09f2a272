import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { ReplayedRecord, ServiceClient } from '../../../../internal/local/replay/client.js'
import {
  type Progress,
  percentile,
  type ReplaySettings,
  replayTrace,
  timeLeftMs,
} from '../../../../internal/local/replay/replay.js'
import { FIXED_EVENT_IDS, type TraceRow, uuidV5 } from '../../../../internal/local/replay/trace.js'
import { formatQuantity } from '../../../../internal/units/quantity.js'

type Sent = Readonly<Record<string, unknown>>

/** A service in memory: what it was sent it shows as records, the newest first, in pages. */
class MemoryService implements ServiceClient {
  readonly sent: Sent[] = []
  readonly records: ReplayedRecord[] = []
  inFlightMost = 0
  private inFlight = 0

  async send(event: Sent): Promise<string> {
    this.inFlight++
    this.inFlightMost = Math.max(this.inFlightMost, this.inFlight)
    await new Promise(setImmediate)
    this.inFlight--
    const number = this.sent.push(event)
    this.records.unshift(record({ invocation_id: `inv_${number}`, event_time: String(event['ingestion_timestamp']) }))
    return `inv_${number}`
  }

  async find(attributionId: string): Promise<ReplayedRecord | undefined> {
    return this.records.find(({ id }) => id === attributionId)
  }

  async page(limit: number, cursor: string | undefined) {
    const from = Number(cursor ?? 0)
    const hasMore = this.records.length > from + limit
    return {
      data: this.records.slice(from, from + limit),
      page: { has_more: hasMore, ...(hasMore ? { next_cursor: String(from + limit) } : {}) },
    }
  }

  close(): Promise<void> {
    return Promise.resolve()
  }
}

const record = (stated: Partial<ReplayedRecord> & { readonly invocation_id: string }): ReplayedRecord => ({
  id: stated.invocation_id.replace('inv_', 'attr_'),
  event_time: '2026-11-03T12:00:00.000Z',
  service: 'search',
  cost_usd: '0.000000000000000001',
  energy_wh: '0.1',
  carbon_gco2e: '0.2',
  output_state: 'deterministically_resolved',
  cost_basis: 'price_book',
  ...stated,
})

const rowsAt = (...arrivals: readonly number[]): TraceRow[] =>
  arrivals.map((arrivedAtMs, i) => ({ rowId: `row-${i}`, arrivedAtMs, kind: 'conv', inputTokens: i, outputTokens: 1 }))

const SETTINGS: ReplaySettings = {
  speed: 1_000_000,
  eventIdNamespace: FIXED_EVENT_IDS,
  eventOf: ({ inputTokens }) => ({ input_tokens: inputTokens }),
  onProgress: () => undefined,
}

describe('a replay', () => {
  test('a replay sends every row once, with the event id from its namespace', async () => {
    const service = new MemoryService()

    const { sent, attributed } = await replayTrace(rowsAt(0, 10, 20), service, SETTINGS)

    expect({ sent, attributed }).toEqual({ sent: 3, attributed: 3 })
    expect(service.sent.map(({ event_id, input_tokens }) => [event_id, input_tokens])).toEqual(
      [0, 1, 2].map((i) => [uuidV5(FIXED_EVENT_IDS, `row-${i}`), i]),
    )
  })

  test('a replay keeps the order and the gaps of the recorded times at any speed', async () => {
    const service = new MemoryService()

    await replayTrace(rowsAt(1_000, 1_007, 1_007, 5_000, 91_000), service, SETTINGS)

    const times = service.sent.map(({ ingestion_timestamp }) => Date.parse(String(ingestion_timestamp)))
    expect(times.map((time) => time - (times[0] ?? 0))).toEqual([0, 7, 7, 4_000, 90_000])
  })

  test('a replay reports its progress event by event', async () => {
    const progress: number[] = []

    await replayTrace(rowsAt(0, 0, 0), new MemoryService(), {
      ...SETTINGS,
      onProgress: (taken) => progress.push(taken),
    })

    expect(progress).toEqual([1, 2, 3])
  })

  test('a replay that keeps up takes as long as its trace; one that lags takes as long as the service', () => {
    const progress: Progress = { startedAt: 0, endsAt: 60_000, lagMs: 20, taken: 900, total: 1_000 }

    expect(timeLeftMs(progress, 6_000)).toBe(54_000)
    expect(timeLeftMs({ ...progress, taken: 0 }, 0)).toBe(60_000)
    expect(timeLeftMs({ ...progress, lagMs: 5_000, taken: 100 }, 50_000)).toBe(450_000)
    expect(timeLeftMs({ ...progress, lagMs: 30_000 }, 90_000)).toBe(10_000)
    expect(timeLeftMs({ ...progress, taken: 1_000 }, 61_000)).toBe(0)
  })

  test('a replay says how long the rest of its events will take', async () => {
    const left: number[] = []

    await replayTrace(rowsAt(0, 100_000, 200_000), new MemoryService(), {
      ...SETTINGS,
      speed: 1_000,
      onProgress: (_, leftMs) => left.push(leftMs),
    })

    expect(left).toHaveLength(3)
    expect(left[0]).toBeGreaterThan(left[1] as number)
    expect(left[0]).toBeLessThanOrEqual(200)
    expect(left[2]).toBeLessThanOrEqual(1)
  })

  test('a replay waits for a service that is slower than the trace, and drops no event', async () => {
    const service = new MemoryService()

    await replayTrace(rowsAt(...Array.from({ length: 1_000 }, () => 0)), service, SETTINGS)

    expect(service.sent).toHaveLength(1_000)
    expect(service.inFlightMost).toBe(256)
  })

  test('a replay totals exactly the records of its own events, over all pages', async () => {
    const service = new MemoryService()
    service.records.push(
      record({ invocation_id: 'inv_of_another', cost_usd: '5', event_time: new Date().toISOString() }),
    )

    const { costUsd, energyWh, carbonGco2e, unpriced } = await replayTrace(
      rowsAt(...Array.from({ length: 450 }, (_, i) => i)),
      service,
      SETTINGS,
    )

    expect([costUsd, energyWh, carbonGco2e].map(formatQuantity)).toEqual(['0.00000000000000045', '45', '90'])
    expect(unpriced).toBe(0)
  })

  test('a replay counts the records without a price', async () => {
    const service = new MemoryService()
    const push = service.records.unshift.bind(service.records)
    service.records.unshift = (...records) =>
      push(...records.map((each) => ({ ...each, cost_basis: 'unpriced', cost_usd: '0' })))

    expect(await replayTrace(rowsAt(0, 1), service, SETTINGS)).toMatchObject({
      attributed: 2,
      unpriced: 2,
      costUsd: 0n,
    })
  })

  test('a replay polls until a record is visible, and measures this for some hundred events at most', async () => {
    const service = new MemoryService()
    let looks = 0
    const find = service.find.bind(service)
    service.find = async (id) => (looks++ === 0 ? undefined : find(id))

    const few = await replayTrace(rowsAt(0, 1), service, SETTINGS)
    const many = await replayTrace(rowsAt(...Array.from({ length: 1_000 }, (_, i) => i)), new MemoryService(), SETTINGS)

    expect(few.visibleAfterMs).toHaveLength(2)
    expect(many.visibleAfterMs).toHaveLength(100)
    expect(many.visibleAfterMs).toEqual(many.visibleAfterMs.toSorted((one, other) => one - other))
  })

  test('a replay fails with the first rejected event', async () => {
    const service = new MemoryService()
    service.send = async () => {
      throw new Error('refused')
    }

    await expect(replayTrace(rowsAt(0, 1, 2), service, SETTINGS)).rejects.toThrow('refused')
  })

  test('a replay fails with the first rejected read', async () => {
    const service = new MemoryService()
    service.find = async () => {
      throw new Error('not readable')
    }

    await expect(replayTrace(rowsAt(0, 1, 2), service, SETTINGS)).rejects.toThrow('not readable')
  })

  test('a replay of a trace without rows fails', async () => {
    await expect(replayTrace([], new MemoryService(), SETTINGS)).rejects.toThrow('the trace has no rows')
  })
})

describe('a percentile', () => {
  test('a percentile is the nearest rank', () => {
    const sorted = [10, 20, 30, 40]

    expect([0, 0.25, 0.251, 0.5, 0.99, 1].map((share) => percentile(sorted, share))).toEqual([10, 10, 20, 20, 40, 40])
    expect(percentile([], 0.5)).toBe(0)
  })

  test('a percentile has the right rank when its share has no exact double', () => {
    const sorted = Array.from({ length: 20 }, (_, i) => i + 1)

    expect(percentile(sorted, 0.55)).toBe(11)
  })

  test('a percentile has at least its share of the values at or below it, and fewer below it', () => {
    const values = fc.array(fc.nat({ max: 100 }), { minLength: 1, maxLength: 200, size: 'max' })
    fc.assert(
      fc.property(values, fc.integer({ min: 1, max: 100 }), (unsorted, percent) => {
        const sorted = unsorted.toSorted((one, other) => one - other)

        const value = percentile(sorted, percent / 100)

        expect(sorted.filter((each) => each <= value).length * 100).toBeGreaterThanOrEqual(sorted.length * percent)
        expect(sorted.filter((each) => each < value).length * 100).toBeLessThan(sorted.length * percent)
      }),
    )
  })
})
