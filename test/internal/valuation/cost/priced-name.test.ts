import fc from 'fast-check'
import { expect, test } from 'vitest'
import { loadPriceBook } from '../../../../internal/valuation/cost/price-book.js'
import { type CallNames, pricedName } from '../../../../internal/valuation/cost/priced-name.js'
import { type TenantPrices, tenantPrices } from '../../../../internal/valuation/cost/tenant-prices.js'

const book = loadPriceBook()
const ARN = 'arn:aws:bedrock:eu-central-1:111122223333:application-inference-profile/a1b2c3'

const tenant = (...[overrides, names]: Parameters<typeof tenantPrices>): TenantPrices => {
  const result = tenantPrices(overrides, names)
  if (result.kind === 'invalid') throw new Error(result.problem)
  return result.prices
}

function priced(call: Omit<CallNames, 'region'>, prices?: TenantPrices) {
  const { modelFrom, ofTenant, ofBook, flags } = pricedName({ region: undefined, ...call }, book, prices)
  const negotiated = ofTenant[0]?.entry.model
  return [modelFrom, negotiated ?? (ofBook.kind === 'entry' ? ofBook.entry.model : ofBook.reason), ...flags]
}

test('what is agreed for a gateway is for its calls alone, and goes before what is agreed for the provider', () => {
  const rate = (input: string) => ({ rates: { input, output: '9' }, from: '2026-01-01' })
  const model = 'claude-sonnet-4-5'
  const ofGateway = { provider: 'litellm', model, ...rate('1') }
  const ofProvider = { provider: 'anthropic', model, ...rate('2.4') }
  const input = (provider: string, ...overrides: Parameters<typeof tenant>[0]) =>
    pricedName({ provider, requestedModel: model, servedModel: undefined, region: undefined }, book, tenant(overrides))
      .ofTenant[0]?.entry.periods[0]?.sheet.input

  expect(input('anthropic', ofGateway)).toBeUndefined()
  expect(input('anthropic', ofGateway, ofProvider)).toBe('2.4')
  expect(input('litellm', ofGateway, ofProvider)).toBe('1')
  expect(input('litellm', ofProvider)).toBe('2.4')
  const names = [{ provider: 'litellm', model: 'gpt-4o', servedBy: { provider: 'azure', model: 'gpt-4o-mini' } }]
  expect(priced({ provider: 'openai', requestedModel: 'gpt-4o', servedModel: undefined }, tenant([], names))).toEqual([
    ...['requested', 'gpt-4o'],
  ])
})

test('a blank region is none', () => {
  const found = book.find('vertex_ai', 'claude-sonnet-4-5@20250929', ' ')
  expect(found.kind === 'entry' && found.region).toBeUndefined()
})

test.each([
  ['eu.anthropic.claude-opus-4-5-20251101-v1:0', 'claude-opus-4-5-20251101'],
  ['global.anthropic.claude-sonnet-4-6', 'anthropic.claude-sonnet-4-6'],
  ['bedrock/converse/jp.anthropic.claude-opus-5', 'claude-opus-5'],
])('a profile that the served name lost decides the price: %s, served %s', (requestedModel, servedModel) => {
  const profile = requestedModel.split('/').at(-1)

  expect(priced({ provider: 'aws.bedrock', requestedModel, servedModel })).toEqual([
    ...['requested', profile, 'profile_of_request'],
  ])
})

test('a profile of another model than the served one, or one that the served name has, decides nothing', () => {
  const bedrock = { provider: 'bedrock', requestedModel: 'global.anthropic.claude-opus-5' }

  expect(priced({ ...bedrock, servedModel: 'claude-sonnet-4-6' })).toEqual(['served', 'anthropic.claude-sonnet-4-6'])
  expect(priced({ ...bedrock, servedModel: 'eu.anthropic.claude-opus-5' })).toEqual([
    ...['served', 'eu.anthropic.claude-opus-5'],
  ])
})

test('a location or a variant that the served name lost decides the price, too', () => {
  const resource = 'projects/p/locations/europe-west1/publishers/anthropic/models/claude-opus-5'
  const vertex = { provider: 'vertex_ai', requestedModel: resource, servedModel: 'claude-opus-5' }
  const free = { provider: 'openrouter', requestedModel: 'z-ai/glm-5:free' }

  expect(priced(vertex)).toEqual(['requested', 'claude-opus-5', 'profile_of_request'])
  expect(pricedName({ ...vertex, region: undefined }, book, undefined).ofBook).toMatchObject({ region: 'europe-west1' })
  expect(priced({ ...free, servedModel: 'z-ai/glm-5' })).toEqual(['requested', 'z-ai/glm-5:free', 'profile_of_request'])
  expect(priced({ ...free, servedModel: 'anthropic/claude-sonnet-4.5' })).toEqual([
    ...['served', 'anthropic/claude-sonnet-4.5'],
  ])
})

test("a tenant's own profile is what the tenant says it is, whatever name the answer has", () => {
  const call = { provider: 'bedrock', requestedModel: ARN, servedModel: 'claude-sonnet-4-6' }
  const servedBy = { provider: 'bedrock', model: 'eu.anthropic.claude-sonnet-4-6' }
  const mapped = tenant([], [{ provider: 'bedrock', model: ARN, servedBy }])
  const rates = { input: '1', output: '2' }
  const negotiated = tenant([{ provider: 'bedrock', model: ARN, from: '2026-01-01', rates }])

  expect(priced(call)).toEqual(['served', 'anthropic.claude-sonnet-4-6'])
  expect(priced(call, mapped)).toEqual(['requested', 'eu.anthropic.claude-sonnet-4-6', 'profile_of_request'])
  expect(priced(call, negotiated)).toEqual(['requested', ARN, 'profile_of_request'])
})

test.each([
  [{ provider: 'openai', requestedModel: 'gpt-4o', servedModel: 'gpt-4o-internal-7' }, 'gpt-4o'],
  [{ provider: 'bedrock', requestedModel: 'anthropic.claude-opus-5', servedModel: ARN }, 'anthropic.claude-opus-5'],
  [{ provider: 'gateway', requestedModel: 'xai/grok-4.6', servedModel: 'g-46-prod' }, 'grok-4.6'],
])('where no table knows the served name, the requested one has the price: %o', (call, model) => {
  expect(priced(call)).toEqual(['requested', model, 'served_model_unlisted'])
})

test('a served model that is known to have no price has none', () => {
  expect(priced({ provider: 'gemini', requestedModel: 'gemini-2.5-pro', servedModel: 'gemma-3-27b-it' })).toEqual([
    ...['served', 'zero_priced'],
  ])
  expect(priced({ provider: 'openai', requestedModel: 'mine', servedModel: 'yours' })).toEqual([
    ...['served', 'unknown_model'],
  ])
})

test('behind a gateway the served model is of the provider that the requested one names', () => {
  const call = { provider: 'gateway', requestedModel: 'anthropic/claude-haiku-4.5', servedModel: 'claude-haiku-4-5' }
  const bedrock = { provider: 'litellm', requestedModel: 'bedrock/eu.anthropic.claude-opus-5' }

  expect(priced(call)).toEqual(['served', 'claude-haiku-4-5'])
  expect(pricedName({ region: undefined, ...call }, book, undefined).how).toEqual(['gateway_prefix'])
  expect(priced({ ...bedrock, servedModel: 'claude-opus-5' })).toEqual([
    ...['requested', 'eu.anthropic.claude-opus-5', 'profile_of_request'],
  ])
})

test('the price is that of one of the two names, and of the served one without an assumption', () => {
  const models = fc.constantFrom(
    ...['gpt-4o', 'claude-opus-5', 'eu.anthropic.claude-opus-5', 'global.anthropic.claude-opus-5', ARN],
    ...['anthropic/claude-opus-5', 'z-ai/glm-5:free', 'nothing', ''],
  )
  const providers = fc.constantFrom('openai', 'anthropic', 'bedrock', 'openrouter', 'gateway', 'nobody')
  fc.assert(
    fc.property(providers, models, models, (provider, requestedModel, servedModel) => {
      const both = pricedName({ provider, requestedModel, servedModel, region: undefined }, book, undefined)
      const alone = pricedName({ provider, requestedModel, servedModel: undefined, region: undefined }, book, undefined)

      if (both.modelFrom === 'requested') {
        expect(both.flags).toHaveLength(1)
        expect(both.ofBook).toEqual(alone.ofBook)
      } else expect(both.flags).toEqual([])
      if (alone.ofBook.kind === 'entry' && both.ofBook.kind === 'none') expect(both.ofBook.reason).toBe('zero_priced')
    }),
  )
})
