import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { connectService, type ReplayedRecord, type ServiceClient } from '../../internal/local/replay/client.js'
import { percentile, type ReplaySummary, replayTrace } from '../../internal/local/replay/replay.js'
import { FIXED_EVENT_IDS, uuidV5 } from '../../internal/local/replay/trace.js'
import { formatQuantity } from '../../internal/units/quantity.js'
import { newTenantOfProduct } from '../support/product.js'
import type { Instance } from '../support/service.js'
import { allRecords, billOf, hundredMillionths, sendAll, TRACE, twoModelEvent } from '../support/trace.js'

describe('the whole real trace, through HTTP', () => {
  let service: Instance
  let client: ServiceClient
  let summary: ReplaySummary
  let records: ReplayedRecord[]

  beforeAll(async () => {
    service = await newTenantOfProduct()
    client = connectService(service.baseUrl, service.credentials.api_key, 64)
    summary = await replayTrace(TRACE, client, {
      speed: 400,
      eventIdNamespace: FIXED_EVENT_IDS,
      eventOf: twoModelEvent,
      onProgress: () => undefined,
    })
    records = await allRecords(client)
    const ms = (share: number) => Math.round(percentile(summary.visibleAfterMs, share))
    console.log(`202 to visible: p50 ${ms(0.5)} ms, p99 ${ms(0.99)} ms`)
  })

  afterAll(async () => {
    await client.close()
  })

  test('every event of the trace has exactly one record', () => {
    expect(records.length).toBe(28_185)
    expect(new Set(records.map(({ id }) => id)).size).toBe(28_185)
    expect(summary.attributed).toBe(28_185)
  })

  test('the token costs of the trace add up to the bill exactly', () => {
    const total = records.reduce((sum, { cost_usd }) => sum + hundredMillionths(cost_usd), 0n)

    expect(billOf(TRACE)).toBe(53_41637450n)
    expect(total).toBe(53_41637450n)
    expect(formatQuantity(summary.costUsd)).toBe('53.4163745')
  })

  test('pages of the trace are sorted newest first throughout', () => {
    const keys = records.map(({ event_time, id }) => `${event_time} ${id}`)

    expect(keys).toEqual([...keys].sort().reverse())
  })

  test('events that state a service are resolved by facts; events without labels go to the default pool', () => {
    const unresolved = records.filter(({ output_state }) => output_state === 'unresolved')

    expect(unresolved.length).toBe(TRACE.filter(({ rowId }) => Number(rowId.slice(5)) % 4 === 3).length)
    expect(new Set(unresolved.map(({ service: name }) => name))).toEqual(new Set(['unallocated']))
  })

  test('sending the same events again, in bulk and at another time, is accepted and changes nothing', async () => {
    const sentAt = new Date().toISOString()
    const again = TRACE.map((row) => ({
      event_id: uuidV5(FIXED_EVENT_IDS, row.rowId),
      ingestion_timestamp: sentAt,
      ...twoModelEvent(row),
    }))

    expect(await sendAll(service, again)).toEqual(records)
  })
})
