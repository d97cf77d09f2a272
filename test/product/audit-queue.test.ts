import { beforeAll, expect, test } from 'vitest'
import { type Ask, askAs, refusalOf } from '../support/ask.js'
import { listedAll, untilAttributed } from '../support/attributed.js'
import { newTenantOfProduct } from '../support/product.js'

let ask: Ask

/** Calls that nobody can name. */
const alike = (count: number, stated: object) =>
  Array.from({ length: count }, (_, i) => ({
    ingestion_timestamp: new Date(Date.now() - i * 60_000).toISOString(),
    input_tokens: 1_000 + i,
    output_tokens: 100,
    ...stated,
  }))

const BATCH = { ingestion_layer: 'proxy', tags: { job: 'nightly' } }
const CHAT = { ingestion_layer: 'gateway' }

beforeAll(async () => {
  const service = await newTenantOfProduct()
  ask = askAs(service.baseUrl, { 'x-api-key': service.credentials.api_key })
  await ask('PATCH', '/api/v1/settings', { stage_b_enabled: false })
  await untilAttributed(ask, {}, ({ service: name }: { service: string }) => name === 'unallocated')
  await listedAll(ask, [
    ...alike(4, { ...BATCH, estimated_cost_usd: '2.5' }),
    ...alike(3, { ...CHAT, estimated_cost_usd: '2' }),
    // The dearest of its kind, and one of another size.
    { ...alike(1, CHAT)[0], estimated_cost_usd: '3' },
    { ...alike(1, CHAT)[0], input_tokens: 500_000, estimated_cost_usd: '4' },
    // Too old, and known.
    { ...BATCH, ingestion_timestamp: new Date(Date.now() - 40 * 86_400_000).toISOString(), estimated_cost_usd: '90' },
    { ...BATCH, attributed_service: 'search', estimated_cost_usd: '80' },
  ])
})

const queue = async (query = '') => {
  const answer = await ask('GET', `/v1/attribution/audit-queue?${query}`)
  expect(answer.status).toBe(200)
  return answer.json
}
interface Row {
  readonly record: { readonly id: string; readonly cost_usd: string }
  readonly calls: number
  readonly cost_usd: string
  readonly audited_calls: number
}
const costs = ({ data }: { data: Row[] }) =>
  data.map(({ calls, cost_usd, record }) => [calls, cost_usd, record.cost_usd])

test('the queue has the dearest call of each kind that nobody could name, first the kind that costs most', async () => {
  expect(costs(await queue()).slice(0, 3)).toEqual([
    [4, '10', '2.5'],
    [4, '9', '3'],
    [1, '4', '4'],
  ])
})

test('of a period the queue has the calls of that period alone', async () => {
  const daysAgo = (days: number) => new Date(Date.now() - days * 86_400_000).toISOString()

  expect(costs(await queue(`from=${daysAgo(45)}&to=${daysAgo(35)}`))).toEqual([[1, '90', '90']])
})

test('the pages of the queue are the queue', async () => {
  const whole = costs(await queue())
  const seen: unknown[] = []
  for (let next = ''; ; ) {
    const part = await queue(`limit=1${next}`)
    seen.push(...costs(part))
    if (!part.page.has_more) break
    next = `&cursor=${part.page.next_cursor}`
  }

  expect(seen).toEqual(whole)
})

test('a kind that people have overridden a call of comes later, with its remaining calls', async () => {
  const [first] = (await queue()).data as Row[]
  const answer = { service: 'search', owner: 'team-search', reason: 'The nightly index.' }
  expect((await ask('POST', `/v1/attribution/${first?.record.id}/override`, answer)).status).toBeLessThan(300)

  await expect
    .poll(async () => costs(await queue()).slice(0, 3))
    .toEqual([
      [4, '9', '3'],
      [1, '4', '4'],
      [3, '7.5', '2.5'],
    ])
  expect((await queue()).data[2]).toMatchObject({ audited_calls: 1 })
})

test('the queue takes no filters', async () => {
  expect(refusalOf(await ask('GET', '/v1/attribution/audit-queue?service=x'))).toEqual([400, 'INVALID_FILTER'])
})
