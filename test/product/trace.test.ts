import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { connectService, type ReplayedRecord, type ServiceClient } from '../../internal/local/replay/client.js'
import { percentile, type ReplaySummary, replayTrace } from '../../internal/local/replay/replay.js'
import { FIXED_EVENT_IDS } from '../../internal/local/replay/trace.js'
import { formatQuantity } from '../../internal/units/quantity.js'
import { newTenantOfProduct } from '../support/product.js'
import type { Instance } from '../support/service.js'
import { allRecords, billOf, hundredMillionths, TRACE, twoModelEvent } from '../support/trace.js'

describe('the whole real trace, through HTTP', () => {
  let service: Instance
  let client: ServiceClient
  let summary: ReplaySummary
  let records: ReplayedRecord[]

  const replay = () =>
    replayTrace(TRACE, client, {
      speed: 2_000,
      eventIdNamespace: FIXED_EVENT_IDS,
      eventOf: twoModelEvent,
      onProgress: () => undefined,
    })

  beforeAll(async () => {
    service = await newTenantOfProduct()
    client = connectService(service.baseUrl, service.credentials.api_key, 64)
    summary = await replay()
    records = await allRecords(client)
    const ms = (share: number) => Math.round(percentile(summary.visibleAfterMs, share))
    console.log(`202 to visible: p50 ${ms(0.5)} ms, p99 ${ms(0.99)} ms`)
  })

  afterAll(async () => {
    await client.close()
  })

  test('every event comes out as one record, and none twice', () => {
    expect(records.length).toBe(28_185)
    expect(new Set(records.map(({ id }) => id)).size).toBe(28_185)
    expect(summary.attributed).toBe(28_185)
  })

  test('the token costs add up to the bill, exactly', () => {
    const total = records.reduce((sum, { cost_usd }) => sum + hundredMillionths(cost_usd), 0n)

    expect(billOf(TRACE)).toBe(53_41637450n)
    expect(total).toBe(53_41637450n)
    expect(formatQuantity(summary.costUsd)).toBe('53.4163745')
  })

  test('pages come newest first, without a gap in their order', () => {
    const keys = records.map(({ event_time, id }) => `${event_time} ${id}`)

    expect(keys).toEqual([...keys].sort().reverse())
  })

  test('what states a service is resolved by facts; what states nothing is kept in the default pool', () => {
    const unresolved = records.filter(({ output_state }) => output_state === 'unresolved')

    expect(unresolved.length).toBe(TRACE.filter(({ rowId }) => Number(rowId.slice(5)) % 4 === 3).length)
    expect(new Set(unresolved.map(({ service: name }) => name))).toEqual(new Set(['unallocated']))
  })

  test('the same events sent again are taken and change nothing', async () => {
    const again = await replay()
    const after = await allRecords(client)

    expect(again.attributed).toBe(28_185)
    expect(after).toEqual(records)
  })
})
