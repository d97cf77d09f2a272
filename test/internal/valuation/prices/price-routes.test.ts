import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { watchRecords } from '../../../../internal/broker/watched-records.js'
import { createCursorCodec } from '../../../../internal/http/resource/pages.js'
import { formatId, tenantIdsCache } from '../../../../internal/ids/ids.js'
import type { StoredOverride } from '../../../../internal/valuation/prices/override.js'
import { priceRoutes } from '../../../../internal/valuation/prices/price-routes.js'
import { PRICE_OVERRIDES } from '../../../../streams/buckets.js'
import { type Ask, type Asked, askAs } from '../../../support/ask.js'
import { launchBroker } from '../../../support/broker.js'
import { type MutationGateway, SECRET, startMutationGateway } from '../../../support/mutation-gateway.js'

let gateway: MutationGateway
let ask: Ask
let isOver = false

beforeAll(async () => {
  const { url } = await launchBroker()
  gateway = await startMutationGateway(url, async (mutate, broker) =>
    priceRoutes({
      mutate,
      prices: await watchRecords<StoredOverride>(
        await broker.bucket(PRICE_OVERRIDES),
        (cause) => isOver || fail(cause),
      ),
      idsOf: tenantIdsCache(SECRET),
      cursors: createCursorCodec(new Uint8Array(32)),
      clock: Date.now,
    }),
  )
  ask = askAs(gateway.url, { 'x-api-key': 'admin:config' })
})
afterAll(async () => {
  isOver = true
  await gateway.stop()
})

const fail = (cause: unknown): never => {
  throw cause
}

const PATH = '/api/v1/prices'
const RATES = { input_tokens: '2', output_tokens: '8' }
const price = (stated: Record<string, unknown> = {}) => ({
  provider: 'openai',
  model: 'gpt-4o',
  valid_from: '2026-11-01T00:00:00Z',
  usd_per_million: RATES,
  ...stated,
})
const codeOf = ({ status, json }: Asked) => `${status} ${json?.error_code}`

test('a price is shown as it was set, until it is deleted', async () => {
  const table = {
    ...RATES,
    cache_read_tokens: '0.000000000001',
    batch: { input_tokens: '1', output_tokens: '4', reasoning_tokens: null },
    flex: null,
    flex_discount: { input_tokens: '0.5', output_tokens: '2', image_output_tokens: '3' },
    thresholds: [{ above_input_tokens: 200_000, input_tokens: '4' }],
  }
  const fees = { web_search: '0.008', code_execution: null }
  const units = { pages: '0.002', images: null }
  const stated = { valid_to: null, usd_per_million: table, usd_per_call: fees, usd_per_unit: units }
  const made = await ask('POST', PATH, price(stated))

  expect(made).toMatchObject({ status: 201 })
  expect(made.json).toEqual({
    id: expect.stringMatching(/^prc_[0-9a-z]{26}$/),
    provider: 'openai',
    model: 'gpt-4o',
    region: null,
    valid_from: '2026-11-01T00:00:00.000Z',
    valid_to: null,
    usd_per_million: {
      ...RATES,
      cache_read_tokens: '0.000000000001',
      batch: { input_tokens: '1', output_tokens: '4' },
      flex_discount: { input_tokens: '0.5', output_tokens: '2', image_output_tokens: '3' },
      thresholds: [{ above_input_tokens: 200_000, input_tokens: '4' }],
    },
    usd_per_call: { web_search: '0.008' },
    usd_per_unit: { pages: '0.002' },
    created_at: expect.any(String),
  })
  const path = `${PATH}/${made.json.id}`
  expect(made.headers.get('location')).toBe(path)
  expect((await ask('GET', path)).json).toEqual(made.json)
  expect((await ask('GET', PATH)).json.data).toEqual([made.json])

  expect(await ask('DELETE', path)).toMatchObject({ status: 204 })
  expect(codeOf(await ask('GET', path))).toBe('404 NOT_FOUND')
  expect(codeOf(await ask('DELETE', path))).toBe('404 NOT_FOUND')
})

test('a tenant cannot have two prices with the same provider, model, region and valid_from', async () => {
  const answers = await Promise.all(
    [
      price({ model: 'o3' }),
      price({ model: 'O3', provider: 'OpenAI' }),
      price({
        model: 'o3',
        valid_from: '2026-11-01T00:00:00.000+00:00',
        usd_per_million: { ...RATES, input_tokens: '9' },
      }),
    ].map((body) => ask('POST', PATH, body)),
  )
  const others = await Promise.all(
    [
      price({ model: 'o3', region: 'eu' }),
      price({ model: 'o3', valid_from: '2026-12-01T00:00:00Z' }),
      price({ model: 'o3', provider: 'azure' }),
    ].map((body) => ask('POST', PATH, body)),
  )

  expect(answers.map(codeOf).sort()).toEqual(['201 undefined', '409 CONFLICT', '409 CONFLICT'])
  expect(others.map(({ status }) => status)).toEqual([201, 201, 201])
})

describe('an invalid price', () => {
  test.each<[string, Record<string, unknown>]>([
    ['/usd_per_million/output_tokens', { usd_per_million: { input_tokens: '2' } }],
    ['/usd_per_million/input_tokens', { usd_per_million: { ...RATES, input_tokens: 2 } }],
    ['/usd_per_million/input_tokens', { usd_per_million: { ...RATES, input_tokens: '1e3' } }],
    ['/usd_per_million/input_tokens', { usd_per_million: { ...RATES, input_tokens: '-1' } }],
    ['/usd_per_million/input_tokens', { usd_per_million: { ...RATES, input_tokens: '1.0000000000001' } }],
    ['/usd_per_million/batch/output_tokens', { usd_per_million: { ...RATES, batch: { input_tokens: '1' } } }],
    [
      '/usd_per_million/thresholds/1/above_input_tokens',
      { usd_per_million: { ...RATES, thresholds: [{ above_input_tokens: 5 }, { above_input_tokens: 5 }] } },
    ],
    ['/usd_per_unit/minutes', { usd_per_unit: { minutes: '1' } }],
    ['/usd_per_unit/pages', { usd_per_unit: { pages: 1 } }],
    ['/usd_per_million/input', { usd_per_million: { ...RATES, input: '2' } }],
    ['/valid_to', { valid_to: '2026-11-01T00:00:00Z' }],
    ['/valid_from', { valid_from: '2026-11-31T00:00:00Z' }],
    ['/model', { model: '' }],
  ])('is refused for %s', async (pointer, stated) => {
    const refused = await ask('POST', PATH, price({ model: 'wrong', ...stated }))

    expect(codeOf(refused)).toBe('422 VALIDATION_FAILED')
    expect(refused.json.errors).toMatchObject([{ pointer }])
  })
})

test.each(['GET', 'DELETE'])(
  '%s replies 403 for a price id of another tenant and 404 for an unknown id',
  async (method) => {
    expect(codeOf(await ask(method, `${PATH}/${formatId('prc', new Uint8Array(16))}`))).toBe('403 TENANT_MISMATCH')
    expect(codeOf(await ask(method, `${PATH}/nothing`))).toBe('404 NOT_FOUND')
  },
)

test('the audit log records the price that was added and deleted', async () => {
  const { json } = await ask('POST', PATH, price({ model: 'audited' }))
  await ask('DELETE', `${PATH}/${json.id}`)

  expect(gateway.audited.filter(({ target }) => target === json.id)).toMatchObject([
    { action: 'price.create', outcome: 'succeeded', changes: { after: json } },
    { action: 'price.delete', outcome: 'succeeded', changes: { before: json } },
  ])
})
