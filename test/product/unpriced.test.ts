import { beforeAll, expect, test } from 'vitest'
import { type Ask, askAs, refusalOf } from '../support/ask.js'
import { listedAll } from '../support/attributed.js'
import { newTenantOfProduct } from '../support/product.js'

let ask: Ask
const FEW = 'from=2026-10-01&to=2026-10-02'
const ONE_PRICED = 'from=2026-10-08&to=2026-10-09'
const MANY = 'from=2026-10-05&to=2026-10-06'

/** Calls of so many people, each once. */
const callsOf = (people: number, day: string, stated: Record<string, unknown>) =>
  Array.from({ length: people }, (_, i) => ({
    attributed_service: 'search',
    attributed_identity: `person-${i}@example.com`,
    ingestion_timestamp: `${day}T10:00:00Z`,
    input_tokens: 100,
    output_tokens: 10,
    ...stated,
  }))

beforeAll(async () => {
  const service = await newTenantOfProduct()
  ask = askAs(service.baseUrl, { 'x-api-key': service.credentials.api_key })
  expect((await ask('POST', '/api/v1/directory/services', { name: 'search', owner: 'team' })).status).toBe(201)
  await listedAll(ask, [
    ...callsOf(6, '2026-10-05', { requested_model: 'tuned-1' }),
    ...callsOf(5, '2026-10-05', { requested_model: 'tuned-2', input_tokens: undefined }),
    ...callsOf(2, '2026-10-05', { requested_model: 'tuned-3' }),
    ...callsOf(7, '2026-10-05', { requested_model: 'gpt-4o' }),
    // A stated cost counts although its tokens contradict each other.
    ...callsOf(5, '2026-10-05', { cached_input_tokens: 101, estimated_cost_usd: '0.10' }),
    ...callsOf(6, '2026-10-08', { requested_model: 'tuned-4' }),
    ...callsOf(1, '2026-10-08', { requested_model: 'gpt-4o' }),
    ...callsOf(5, '2026-10-01', { requested_model: 'gpt-4o' }),
    ...callsOf(1, '2026-10-01', { requested_model: 'gpt-4o', cached_input_tokens: 101 }),
    ...callsOf(1, '2026-10-01', { requested_model: 'gpt-4o', cached_input_tokens: 101, estimated_cost_usd: '0.10' }),
  ])
})

const unpriced = async (query: string) => {
  const answer = await ask('GET', `/api/v1/prices/unpriced?${query}`)
  expect(answer.status).toBe(200)
  return answer.json
}

test('unpriced calls are listed by model with their tokens; a model of two people folds', async () => {
  const { data, page, report, suppressed } = await unpriced(MANY)

  expect(suppressed).toBeUndefined()
  expect(page).toEqual({ limit: 50, has_more: false })
  expect(report).toEqual({ from: '2026-10-05T00:00:00.000Z', to: '2026-10-06T00:00:00.000Z' })
  expect(data.map((row: Record<string, unknown>) => [row['served_model'], row['calls'], row['folded']])).toEqual([
    [null, 7, true],
    ['tuned-1', 6, false],
  ])
  expect(data[0]).toEqual({
    provider: 'openai',
    served_model: null,
    calls: 7,
    input_tokens: 200,
    output_tokens: 70,
    lower_bounds: ['input_tokens'],
    people: 5,
    folded: true,
    groups: 2,
  })
  expect(data[1]).toMatchObject({
    provider: 'openai',
    input_tokens: 600,
    output_tokens: 60,
    lower_bounds: [],
    people: 6,
  })
})

test('pages hold what one page holds', async () => {
  const first = await unpriced(`${MANY}&limit=1`)
  const second = await unpriced(`${MANY}&limit=1&cursor=${first.page.next_cursor}`)

  expect(first.page.has_more).toBe(true)
  expect(second.page.has_more).toBe(false)
  expect([...first.data, ...second.data]).toEqual((await unpriced(MANY)).data)
})

test('where one person has unpriced calls, the row is of all calls of the model and shows no tokens', async () => {
  const { data, suppressed } = await unpriced(FEW)

  expect(suppressed).toMatchObject({ reason: 'cohort_too_small', applied: [] })
  expect(data).toEqual([
    expect.objectContaining({ scope: 'parent', calls: 1, input_tokens: null, output_tokens: null, people: null }),
  ])
})

test('a model without a price is listed with its tokens, also where one person made all other calls', async () => {
  const { data, suppressed } = await unpriced(ONE_PRICED)

  expect(suppressed).toBeUndefined()
  expect(data).toMatchObject([
    { served_model: 'tuned-4', calls: 6, input_tokens: 600, output_tokens: 60, folded: false },
  ])
})

test('a stated cost counts although tokens contradict, and the sum is a lower bound for the other call', async () => {
  const { json } = await ask('GET', `/v1/reports/usage?${FEW}`)

  // Five calls of gpt-4o at 0.00035 USD each, and a stated cost.
  expect(json.data).toMatchObject([{ calls: 7, cost_usd: '0.10175', unpriced_calls: 1 }])
  expect(json.data[0].lower_bounds).toContain('cost_usd')
})

test('only the period and pages are parameters', async () => {
  expect(refusalOf(await ask('GET', '/api/v1/prices/unpriced?filter[owner][eq]=x'))).toEqual([400, 'INVALID_FILTER'])
  expect(refusalOf(await ask('GET', '/api/v1/prices/unpriced?from=2026-10-02&to=2026-10-01'))).toEqual([
    400,
    'INVALID_FILTER',
  ])
})
