import { beforeAll, expect, test } from 'vitest'
import { type Ask, askAs, refusalOf } from '../support/ask.js'
import { listedAll } from '../support/attributed.js'
import { newTenantOfProduct } from '../support/product.js'

/**
 * Dollars that were stated for calls which nobody is billed for: beside the sums of a report, where somebody asks for
 * them.
 */

const PERIOD = 'from=2026-10-01&to=2026-11-01'
const callOf = (service: string, stated: Record<string, unknown>) => ({
  attributed_service: service,
  ingestion_timestamp: '2026-10-05T10:00:00Z',
  ...stated,
})

let ask: Ask
beforeAll(async () => {
  const service = await newTenantOfProduct()
  ask = askAs(service.baseUrl, { 'x-api-key': service.credentials.api_key })
  await listedAll(ask, [
    callOf('search', { estimated_cost_usd: '0.25' }),
    callOf('search', { estimated_cost_usd: '0.000000000000000001', is_cost_notional: true }),
    callOf('search', { estimated_cost_usd: '2', is_cost_notional: true, ingestion_timestamp: '2026-10-06T10:00:00Z' }),
    callOf('chat', { estimated_cost_usd: '1.5', is_cost_notional: true }),
    // Nobody stated what it would have cost.
    callOf('chat', { is_cost_notional: true }),
    callOf('batch', { estimated_cost_usd: '3' }),
  ])
})

const usage = async (query: string) => {
  const { status, json } = await ask('GET', `/v1/reports/usage?${PERIOD}&${query}`)
  expect(status).toBe(200)
  return json
}

test('they are exact, per row and in all, and part of no other figure', async () => {
  const { data, report } = await usage('group_by=service&sort=service&include_notional=true')

  expect(data).toMatchObject([
    { service: 'batch', cost_usd: '3', notional_cost_usd: '0' },
    { service: 'chat', cost_usd: '0', notional_cost_usd: '1.5' },
    { service: 'search', cost_usd: '0.25', notional_cost_usd: '2.000000000000000001' },
  ])
  expect(report).toMatchObject({ total_cost_usd: '3.25', total_notional_cost_usd: '3.500000000000000001' })
})

test.each([
  '',
  'group_by=service',
  'interval=day',
  // These are answered by the store alone.
  'group_by=service,provider',
  'group_by=service&interval=day&limit=2',
  'group_by=service&compare=previous',
  'group_by=service&allocate=true',
  'group_by=service&filter[cost_basis][eq]=notional',
])('?%s: their sum is that of the rows, and nothing else differs from a report without them', async (query) => {
  const without = await usage(query)
  const { data, report, ...rest } = await usage(`${query}&include_notional=true`)

  const { total_notional_cost_usd: total, ...scope } = report
  expect(total).toBe('3.500000000000000001')
  const own = data.map(({ notional_cost_usd: _, ...row }: Record<string, unknown>) => row)
  expect({ ...rest, data: own }).toEqual({ ...without, report: undefined, ...pageOf(rest) })
  expect({ ...scope, as_of: '' }).toEqual({ ...without.report, as_of: '' })
  expect(JSON.stringify(without)).not.toContain('notional_cost')
})

/** Cursors name the question. */
const pageOf = (answer: Record<string, unknown>) => ({ page: answer['page'] })

test('a later page has them, too; other values and the report of adoption refuse the parameter', async () => {
  const query = 'group_by=service&interval=day&limit=1&include_notional=true'
  const amounts: string[] = []
  for (let cursor = ''; ; ) {
    const { data, page, report } = await usage(`${query}${cursor}`)
    amounts.push(data[0].notional_cost_usd)
    expect(report.total_notional_cost_usd).toBe('3.500000000000000001')
    if (!page.has_more) break
    cursor = `&cursor=${encodeURIComponent(page.next_cursor)}`
  }

  expect(amounts.sort()).toEqual(['0', '0.000000000000000001', '1.5', '2'])
  expect(refusalOf(await ask('GET', '/v1/reports/usage?include_notional=yes'))).toEqual([400, 'INVALID_FILTER'])
  expect((await ask('GET', '/v1/reports/adoption?include_notional=true')).status).toBe(400)
})
