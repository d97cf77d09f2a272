import { beforeAll, describe, expect, test } from 'vitest'
import { COST_BASES } from '../../internal/records/bases.js'
import { EXPORT_ELIGIBILITIES } from '../../internal/records/interpretation.js'
import { loadPriceBookFile } from '../../internal/valuation/cost/price-book.js'
import { type Ask, askAs } from '../support/ask.js'
import { attributedAll, type ShownRecord } from '../support/attributed.js'
import { faultsOf } from '../support/by-hand.js'
import {
  type Cards,
  card,
  describeAllMet,
  isOverridden,
  MISTRAL,
  openCards,
  SERVED,
  TOKENS,
  until,
} from '../support/evidence-cards.js'
import { untilKnown } from '../support/instance.js'
import { drawn } from '../support/run/rings.js'
import type { Instance } from '../support/service.js'

/** Evidence cards: what a call costs, and whether it may be charged back. */

let service: Instance
let ask: Ask
let strict: Ask
let recordOf: Cards['recordOf']
let shownAgain: Cards['shownAgain']
const VARIED = drawn(150)
/** Every record that was met. */
const met: ShownRecord[] = []

beforeAll(async () => {
  ;({ service, ask, strict, recordOf, shownAgain } = await openCards(met))
})

describe('cost', () => {
  test.concurrent.each([
    ['client_estimate', '0.0123', { estimated_cost_usd: '0.0123' }],
    ['client_estimate', '0.5', { estimated_cost_usd: '0.5', requested_model: 'in-house' }],
    ['tenant_price', '0.00233333325', MISTRAL],
    ['price_book', '0.0055', { provider: 'openai', requested_model: 'gpt-4o' }],
    ['local_cache', '0', { served_from_cache: true, estimated_cost_usd: '1' }],
    ['notional', '0', { is_cost_notional: true, estimated_cost_usd: '0.0123' }],
    ['unpriced', '0', { requested_model: 'in-house' }],
    ['unpriced', '0', { output_tokens: undefined }],
  ])('%s %s', async (cost_basis, cost_usd, stated) => {
    expect(await recordOf({ ...SERVED, ...stated })).toMatchObject({ cost_basis, cost_usd })
  })

  test('a client estimate is shown with the price-book cost and their difference', async () => {
    const { explanation } = await recordOf({ ...SERVED, estimated_cost_usd: '0.005' })
    expect(explanation.cost).toMatchObject({
      total_usd: '0.005',
      price_usd: '0.0055',
      estimate_difference_usd: '-0.0005',
    })
  })

  test('a call billed to nobody costs nothing, is not charged back, and shows stated cost and price', async () => {
    const notional = await recordOf({ ...SERVED, is_cost_notional: true, estimated_cost_usd: '0.0123' })
    const { cost, summary } = notional.explanation

    expect(notional).toMatchObject(card('service_resolved', 0.9, 'notional'))
    expect(cost).toMatchObject({ total_usd: '0', stated_usd: '0.0123', price_usd: '0.0055' })
    expect(summary).toContain('because nobody is billed for it')
  })

  test('a stated cost far from the price, or above a call’s ceiling, counts but waits for an override', async () => {
    const implausible = { cost_basis: 'client_estimate', ...card('service_resolved', 0.9, 'implausible_cost') }
    expect(await recordOf({ ...SERVED, estimated_cost_usd: '0.11' })).toMatchObject(card('service_resolved', 0.9))
    const tooHigh = await recordOf({ ...SERVED, estimated_cost_usd: '0.1101' })
    expect(tooHigh).toMatchObject({
      cost_usd: '0.1101',
      ...implausible,
      explanation: { cost: { stated_usd: '0.1101', price_usd: '0.0055', details: { stated_cost: 'implausible' } } },
    })
    expect(await recordOf({ ...SERVED, estimated_cost_usd: '0.000274' })).toMatchObject(implausible)
    const inHouse = { ...SERVED, requested_model: 'in-house' }
    expect(await recordOf({ ...inHouse, estimated_cost_usd: '1000' })).toMatchObject(card('service_resolved', 0.9))
    expect(await recordOf({ ...inHouse, estimated_cost_usd: '1000.01' })).toMatchObject(implausible)

    const reason = 'A flat fee of the reseller.'
    await ask('POST', `/v1/attribution/${tooHigh.id}/override`, { service: 'checkout', owner: 'team-shop', reason })
    expect(await shownAgain(tooHigh.id, isOverridden)).toMatchObject({
      cost_usd: '0.1101',
      ...card('manual_override', 0.95),
    })
    await ask('DELETE', `/v1/attribution/${tooHigh.id}/override`)
    expect(await shownAgain(tooHigh.id, (record) => !isOverridden(record))).toMatchObject(implausible)
  })

  test('counts that their sender estimated are priced, and never charged back', async () => {
    const { explanation, ...estimated } = await recordOf({ ...SERVED, usage_basis: 'estimated' })
    expect(estimated).toMatchObject({
      cost_usd: '0.0055',
      usage_basis: 'estimated',
      ...card('service_resolved', 0.9, 'advisory'),
    })
    expect(explanation.summary).toContain('is not charged back, because its sender estimated the counts')
  })

  test('counts that can be read in two ways are priced both ways, and wait for a convention', async () => {
    const two = { ...SERVED, alternative_input_tokens: 1_600, alternative_output_tokens: 250 }
    const { explanation, ...ambiguous } = await recordOf(two)
    expect(ambiguous).toMatchObject({
      cost_usd: '0.0055',
      usage_basis: 'ambiguous',
      ...card('service_resolved', 0.9, 'ambiguous_usage'),
    })
    expect(explanation.cost.readings).toEqual([
      { input_tokens: 1_200, output_tokens: 250, cost_usd: '0.0055' },
      { input_tokens: 1_600, output_tokens: 250, cost_usd: '0.0065' },
    ])
    expect(explanation.summary).toContain('or as 1600 input and 250 output tokens for 0.0065 USD')

    const near = { usage_basis: 'reported', ...card('service_resolved', 0.9), explanation: { cost: { readings: [] } } }
    expect(await recordOf({ ...two, alternative_input_tokens: 1_210 })).toMatchObject(near)
    expect(await recordOf({ ...two, estimated_cost_usd: '0.0055' })).toMatchObject(near)

    const decided = { service: 'checkout', owner: 'team-shop', reason: 'It is theirs.' }
    await ask('POST', `/v1/attribution/${ambiguous.id}/override`, decided)
    expect(await shownAgain(ambiguous.id, isOverridden)).toMatchObject(card('manual_override', 0.95, 'ambiguous_usage'))
  })

  test('cached tokens without a known rate are an upper bound, charged back only if the tenant says so', async () => {
    const price = { provider: 'mistral', model: 'magistral-next', valid_from: '2026-01-01T00:00:00Z' }
    const usd_per_million = { input_tokens: '2', output_tokens: '8' }
    expect((await ask('POST', '/api/v1/prices', { ...price, usd_per_million })).status).toBe(201)
    const uncached = { ...MISTRAL, ...SERVED, requested_model: 'magistral-next' }
    await until(ask, uncached, ({ cost_basis }) => cost_basis === 'tenant_price')
    expect(await recordOf(uncached)).toMatchObject({ cost_bound: null, ...card('service_resolved', 0.9) })
    const call = { ...uncached, cached_input_tokens: 900 }
    const { explanation, ...upper } = await recordOf(call)

    expect(upper).toMatchObject({
      cost_usd: '0.0044',
      cost_bound: 'upper',
      ...card('service_resolved', 0.9, 'cost_upper_bound'),
    })
    expect(explanation.cost.assumptions).toEqual([
      'No rate for cache reads is known. Cached tokens at the input rate: an upper bound.',
    ])
    expect(explanation.summary).toContain('It is not charged back, because its cost is an upper bound')
    const { json } = await ask('GET', '/v1/attribution?filter[export_eligibility][eq]=cost_upper_bound')
    expect(json.data).toMatchObject([{ id: upper['id'], cost_bound: 'upper' }])
    expect(await recordOf({ ...call, estimated_cost_usd: '0.003' })).toMatchObject({
      cost_bound: null,
      ...card('service_resolved', 0.9),
    })

    const decided = { service: 'checkout', owner: 'team-shop', reason: 'It is theirs.' }
    await ask('POST', `/v1/attribution/${upper['id']}/override`, decided)
    expect(await shownAgain(upper['id'], isOverridden)).toMatchObject(card('manual_override', 0.95, 'cost_upper_bound'))
    const set = await ask('PATCH', '/api/v1/settings', { charge_upper_bounds: true })
    expect(set.json).toMatchObject({ charge_upper_bounds: true })
    await until(ask, call, ({ interpretation }) => interpretation.export_eligibility === 'eligible')
    const charged = await recordOf(call)
    expect(charged).toMatchObject({ cost_bound: 'upper', ...card('service_resolved', 0.9) })
    expect(charged.explanation.summary).toContain('it may be charged back; its cost is an upper bound')
    await ask('PATCH', '/api/v1/settings', { charge_upper_bounds: false })
    await until(ask, call, ({ interpretation }) => interpretation.export_eligibility === 'cost_upper_bound')
  })

  test('a tenant sets how far a stated cost may be from the price', async () => {
    const call = { ...TOKENS, ...SERVED, estimated_cost_usd: '0.5' }
    expect(await recordOf(call)).toMatchObject(card('service_resolved', 0.9, 'implausible_cost'))

    const { json } = await ask('PATCH', '/api/v1/settings', { stated_cost_factor: 200 })
    expect(json).toMatchObject({ stated_cost_factor: 200, stated_cost_ceiling_usd: '1000' })
    await until(ask, call, ({ interpretation }) => interpretation.export_eligibility === 'eligible')
    await ask('PATCH', '/api/v1/settings', { stated_cost_factor: 20 })
    await until(ask, call, ({ interpretation }) => interpretation.export_eligibility === 'implausible_cost')
  })

  test('a stated cost of zero needs a price of zero: a negotiated one says that calls are free', async () => {
    const call = { ...TOKENS, ...SERVED, estimated_cost_usd: '0' }
    const doubted = await recordOf(call)
    expect(doubted).toMatchObject({ cost_usd: '0', ...card('service_resolved', 0.9, 'implausible_cost') })
    expect(doubted.explanation.summary).toContain('states, 0 USD, cannot be right beside its price of 0.0055 USD.')
    expect(await recordOf({ ...call, served_from_cache: true })).toMatchObject({
      cost_basis: 'local_cache',
      ...card('service_resolved', 0.9),
    })

    const price = { provider: 'openai', model: 'gpt-4o', region: 'free-tier', valid_from: '2026-01-01T00:00:00Z' }
    const free = { input_tokens: '0', output_tokens: '0' }
    expect((await ask('POST', '/api/v1/prices', { ...price, usd_per_million: free })).status).toBe(201)
    await until(ask, { ...call, region: 'free-tier' }, ({ cost_basis, interpretation }) => {
      return cost_basis === 'client_estimate' && interpretation.export_eligibility === 'eligible'
    })
  })

  test('a cost stated by a credential without trust is shown beside the price, which counts', async () => {
    const scopes = ['read:attribution']
    const made = await ask('POST', '/api/v1/api-keys', { name: 'Gateway', scopes, trusts_cost: false })
    expect(made.json).toMatchObject({ trusts_cost: false })
    await untilKnown(service.baseUrl, made.json.secret)
    const asUntrusted = askAs(service.baseUrl, { 'x-api-key': made.json.secret })

    expect(await recordOf({ ...SERVED, estimated_cost_usd: '0.01' }, asUntrusted)).toMatchObject({
      cost_basis: 'price_book',
      cost_usd: '0.0055',
      ...card('service_resolved', 0.9),
      explanation: { cost: { total_usd: '0.0055', stated_usd: '0.01', details: { stated_cost: 'untrusted' } } },
    })
    const inHouse = { ...SERVED, requested_model: 'in-house', estimated_cost_usd: '0.01' }
    expect(await recordOf(inHouse, asUntrusted)).toMatchObject({ cost_basis: 'unpriced', cost_usd: '0' })
  })

  test('tokens that contradict each other have no price; a stated cost still counts', async () => {
    const inconsistent = { ...SERVED, cached_input_tokens: 1201 }
    expect(await recordOf(inconsistent)).toMatchObject({
      cost_basis: 'unpriced',
      cost_usd: '0',
      ...card('service_resolved', 0.9, 'unpriced'),
      explanation: { cost: { details: { reason: 'inconsistent_tokens' } } },
    })
    expect(await recordOf({ ...inconsistent, estimated_cost_usd: '0.02' })).toMatchObject({
      cost_basis: 'client_estimate',
      cost_usd: '0.02',
      ...card('service_resolved', 0.9),
    })
  })

  test('an unpriced record gives the reason and is not eligible', async () => {
    const record = await recordOf({ ...SERVED, requested_model: 'in-house' })
    expect(record).toMatchObject({
      cost_bound: 'lower',
      interpretation: { export_eligibility: 'unpriced', confidence: 0.9 },
      explanation: { cost: { details: { reason: 'unknown_model' } } },
    })
  })
})

describe('eligibility', () => {
  test('a call of another region is residency_restricted', async () => {
    const record = await recordOf({ attributed_service: 'checkout', region: 'us-east-1' }, strict)
    expect(record).toMatchObject(card('service_resolved', 0.9, 'residency_restricted'))
  })

  test('a call without a name is below the floor, and a disputed one stays out of chargeback', async () => {
    expect((await recordOf({}, strict)).interpretation.export_eligibility).toBe('below_floor')
    const record = await recordOf(SERVED)
    await ask('POST', `/v1/attribution/${record.id}/dispute`, { reason: 'This is not our job.' })
    const disputed = await shownAgain(record.id, ({ output_state }) => output_state === 'disputed')
    expect(disputed).toMatchObject(card('service_resolved', 0.9, 'disputed'))
  })
})

test(`${VARIED} varied calls match a calculation by hand, to the last digit`, async () => {
  const book = loadPriceBookFile()
  const rows = book.models.filter(
    ({ region, input, output }) => region === undefined && input !== undefined && output !== undefined,
  )
  const calls = Array.from({ length: VARIED }, (_, i) => {
    const row = rows[(i * 997) % rows.length]
    const input = (i * 7919) % 400_000
    const cached = i % 3 === 0 ? Math.floor(input / 3) : undefined
    const written = i % 4 === 0 ? Math.floor(input / 5) : undefined
    const output = 1 + ((i * 104_729) % 9_000)
    return {
      ...SERVED,
      provider: row?.provider,
      requested_model: row?.model,
      input_tokens: input,
      output_tokens: output,
      cached_input_tokens: cached,
      cache_write_tokens: written,
      cache_write_ttl_seconds: i % 8 === 0 ? 3_600 : undefined,
      reasoning_tokens: i % 5 === 0 ? Math.floor(output / 2) : undefined,
      latency_ms: i % 2 === 0 ? (i * 613) % 60_000 : undefined,
      region: ['eu', 'us', 'eu-north-1', undefined][i % 4],
      service_tier: (['batch', 'priority', 'flex'] as const)[i % 13],
      estimated_cost_usd: i % 10 === 0 ? `0.0${i}1` : undefined,
      ingestion_timestamp: new Date(Date.UTC(2026, i % 10, 1 + (i % 28), i % 24)).toISOString(),
      attribution_confidence: i % 6 === 0 ? 0.57 : undefined,
    }
  })
  const records = await attributedAll(ask, calls)
  met.push(...records)

  expect(records.filter(({ cost_basis }) => cost_basis === 'price_book').length).toBeGreaterThan(drawn(90))
  expect(records.filter(({ energy_basis }) => energy_basis === 'modelled').length).toBeGreaterThan(drawn(40))
  expect(records.flatMap(faultsOf)).toEqual([])
})

describeAllMet(met, [
  ['cost basis', COST_BASES, ({ cost_basis }) => cost_basis],
  ['export eligibility', EXPORT_ELIGIBILITIES, ({ interpretation }) => interpretation.export_eligibility],
])
