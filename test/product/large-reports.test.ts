import { beforeAll, expect, test } from 'vitest'
import { type Ask, askAs } from '../support/ask.js'
import { newTenantOfProduct } from '../support/product.js'
import { storeOf } from '../support/service-store.js'

/**
 * One day of 500 people who use 40 services and 4 models in 300,000 calls: more groups than calls of most companies in
 * a day.
 */

const CALLS = 300_000
const DAY = 'from=2026-11-01&to=2026-11-02'
/** 10^-18 USD: call n costs n of them. */
const TOTAL = (BigInt(CALLS) * BigInt(CALLS + 1)) / 2n

let ask: Ask

beforeAll(async () => {
  const service = await newTenantOfProduct()
  ask = askAs(service.baseUrl, { 'x-api-key': service.credentials.api_key })
  const store = storeOf(service)
  await store.command({
    query: `INSERT INTO attributions (tenant_id, id, event_time, valid_from, provider, served_model, service, owner,
            cost_usd, confidence,
              confidence_band, stage_origin, output_state, export_eligibility, cost_basis, input_tokens, identity_hash)
            WITH number % 40 AS s, cityHash64(number) % 500 + 1 AS person
            SELECT {tenant:String}, sipHash128(number), toDateTime64('2026-11-01 00:00:00', 3, 'UTC') + number % 86400,
              toDateTime64('2026-11-02 00:00:00', 3, 'UTC'),
              'openai', concat('model-', toString(number % 4)), concat('service-', toString(s)),
                concat('team-', toString(s % 7)),
              toDecimal128('0.000000000000000001', 18) * (number + 1), 0.9, 'chargeback_ready', 'stage_a',
                'deterministically_resolved', 'eligible', 'price_book', 10,
              sipHash128(if(s = 0, person % 3 + 1000, person))
            FROM numbers(${CALLS})`,
    query_params: { tenant: service.credentials.tenant_id },
  })
  await store.close()
})

/** Walks through all pages. */
async function rowsOf(query: string): Promise<Record<string, string>[]> {
  const rows: Record<string, string>[] = []
  for (let cursor = ''; ; ) {
    const { status, json } = await ask('GET', `/v1/reports/usage?${DAY}&limit=200&${query}${cursor}`)
    expect([status, json]).toEqual([200, expect.not.objectContaining({ suppressed: expect.anything() })])
    rows.push(...json.data)
    if (!json.page.has_more) return rows
    cursor = `&cursor=${json.page.next_cursor}`
  }
}

const steps = (usd: string): bigint => {
  const [whole = '0', fraction = ''] = usd.split('.')
  return BigInt(whole + fraction.padEnd(18, '0'))
}
const sumOf = (rows: readonly Record<string, string>[]): bigint =>
  rows.reduce((sum, { cost_usd = '' }) => sum + steps(cost_usd), 0n)

test.each([
  ['without any parameter', '', 1],
  ['by service', 'group_by=service', 39],
  ['by service, owner and model', 'group_by=service,owner,served_model', 39],
  ['by hour and service', 'group_by=service&interval=hour', 24 * 39],
])(
  'a report of 300,000 calls %s is answered, and its rows add up to the total to the last digit',
  async (_, query, count) => {
    const rows = await rowsOf(query)

    expect(sumOf(rows)).toBe(TOTAL)
    expect(rows.length).toBeGreaterThanOrEqual(count)
    // Of three people is one service only.
    expect(new Set(rows.filter((row) => row['folded']).map((row) => row['groups'])).size).toBeLessThanOrEqual(2)
    expect(rows.filter(({ people }) => people === null)).toEqual([])
  },
)

test('one service of many people is reported by itself, not as the whole tenant', async () => {
  const all = await rowsOf('group_by=service')
  const one = await rowsOf('filter[service][eq]=service-7')

  expect(one).toHaveLength(1)
  expect(one[0]?.['cost_usd']).toBe(all.find((row) => row['service'] === 'service-7')?.['cost_usd'])
  expect(sumOf(one)).toBeLessThan(TOTAL)
})
