import fc from 'fast-check'
import { beforeAll, describe, expect, test } from 'vitest'
import type { Invocation } from '../../../../internal/invocations/invocation.js'
import { SERVICE_TIERS } from '../../../../internal/text/call-words.js'
import { formatQuantity, parseQuantity, plus, zero } from '../../../../internal/units/quantity.js'
import { costOfParts } from '../../../../internal/valuation/cost/cost-of-parts.js'
import { explainCost } from '../../../../internal/valuation/cost/explain-cost.js'
import { loadPriceBook, type PriceBook, priceBook } from '../../../../internal/valuation/cost/price-book.js'
import { priceInvocation } from '../../../../internal/valuation/cost/price-invocation.js'
import { RATE_PARTS } from '../../../../internal/valuation/cost/rate-sheet.js'
import {
  type TenantModelName,
  type TenantPriceOverride,
  type TenantPrices,
  tenantPrices,
} from '../../../../internal/valuation/cost/tenant-prices.js'
import type { TokenParts } from '../../../../internal/valuation/cost/token-parts.js'
import { call } from '../../../support/attribution-events.js'
import { bookOf, priceRow } from '../../../support/price-books.js'
import { readVectors } from '../../../support/vectors/read-vectors.js'

let book: PriceBook
beforeAll(() => {
  book = loadPriceBook()
})

const cost = (stated: Partial<Invocation>, tenant?: TenantPrices): string => {
  const { basis, costUsd, details } = priceInvocation(call(stated), book, tenant)
  return [basis, formatQuantity(costUsd), ...(details.reason === undefined ? [] : [details.reason])].join(' ')
}
const price = (stated: Partial<Invocation>) => priceInvocation(call(stated), book).details.price
const tenant = (overrides: TenantPriceOverride[], names: TenantModelName[] = []): TenantPrices => {
  const result = tenantPrices(overrides, names)
  if (result.kind === 'invalid') throw new Error(result.problem)
  return result.prices
}

test('a cost above the maximum quantity of a record is rejected', () => {
  const parts = { ...Object.fromEntries(RATE_PARTS.map((part) => [part, 0])), input: 10 } as TokenParts
  const stepsOf = (input: bigint) => ({ input }) as Parameters<typeof costOfParts>[1]

  expect(costOfParts(parts, stepsOf(10n ** 37n - 1n))).toBe(10n ** 38n - 10n)
  expect(() => costOfParts(parts, stepsOf(10n ** 37n))).toThrow(RangeError)
})

describe('a cost above the maximum per call', () => {
  const most = Number.MAX_SAFE_INTEGER
  const dear = (input: string) =>
    tenant([{ provider: 'acme', model: 'acme-1', from: '2026-01-01', rates: { input, output: '999999999' } }])
  const call = { provider: 'acme', requestedModel: 'acme-1', inputTokens: 1_000_000, outputTokens: 0 }

  test('is unpriced with the reason beyond_range', () => {
    expect(cost({ ...call, inputTokens: most, outputTokens: most }, dear('999999999'))).toBe('unpriced 0 beyond_range')
    expect(cost({ ...call, outputTokens: most, estimatedCostUsd: '1' }, dear('1'))).toBe(
      'client_estimate 1 beyond_range',
    )
  })

  test('starts at 1e12 USD', () => {
    const tokens = { ...call, inputTokens: 1_000_000_000_000_000 }

    expect(cost(tokens, dear('999.999999999999'))).toBe('tenant_price 999999999999.999')
    expect(cost(tokens, dear('1000'))).toBe('unpriced 0 beyond_range')
  })
})

test.each(['constructor', '__proto__', 'toString', 'hasOwnProperty'])(
  'the model name %s has no special meaning',
  (word) => {
    const of = (stated: Partial<Invocation>) => [cost(stated), price(stated)?.multipliers]

    expect(of({ region: word })).toEqual(of({ region: 'nowhere' }))
    expect(of({ provider: word })).toEqual(of({ provider: 'nobody' }))
    expect(of({ requestedModel: word })).toEqual(of({ requestedModel: 'nothing' }))
  },
)

describe('the cost of a call', () => {
  test('is exactly 0.0000775 USD for 3 input and 7 output tokens of gpt-4o', () => {
    expect(cost({ inputTokens: 3, outputTokens: 7 })).toBe('price_book 0.0000775')
  })

  test('is the client estimate if there is one, with the book price for comparison', () => {
    const result = priceInvocation(call({ estimatedCostUsd: '0.0100' }), book)

    expect(result.basis).toBe('client_estimate')
    expect(formatQuantity(result.costUsd)).toBe('0.01')
    expect(result.details.price?.rates).toEqual({ input: '2.5', output: '10', cache_read: '1.25' })
  })

  test('is the client estimate for a model without a book price, with the reason', () => {
    expect(cost({ requestedModel: 'in-house', estimatedCostUsd: '0.5' })).toBe('client_estimate 0.5 unknown_model')
  })

  test('is zero for a hit in the local cache, even with an estimate', () => {
    expect(cost({ servedFromCache: true, estimatedCostUsd: '0.5' })).toBe('local_cache 0')
    expect(cost({ servedFromCache: false })).toBe('price_book 0.005')
  })

  test('is zero where nobody is billed, with the book price for comparison', () => {
    const result = priceInvocation(call({ isCostNotional: true, estimatedCostUsd: '900' }), book)

    expect([result.basis, formatQuantity(result.costUsd)]).toEqual(['notional', '0'])
    expect(result.details.price?.rates).toMatchObject({ input: '2.5' })
    expect(cost({ isCostNotional: true, requestedModel: 'in-house' })).toBe('notional 0 unknown_model')
    expect(cost({ isCostNotional: false })).toBe('price_book 0.005')
  })

  test('is the tenant price while it is in force, not the book price', () => {
    const prices = tenant([
      {
        provider: 'azure-openai',
        model: 'GPT-4o',
        from: '2026-07-01',
        to: '2026-12-01T00:00:00Z',
        rates: { input: '1', output: '2' },
      },
    ])
    const azure = { provider: 'azure', requestedModel: 'gpt-4o' }

    expect(cost(azure, prices)).toBe('tenant_price 0.0015')
    expect(cost({ ...azure, eventTimeMs: Date.UTC(2026, 11, 1) - 1 }, prices)).toBe('tenant_price 0.0015')
    expect(cost({ ...azure, eventTimeMs: Date.UTC(2026, 11, 1) }, prices)).toBe('price_book 0.005')
    expect(cost({ ...azure, eventTimeMs: Date.UTC(2026, 5, 30) }, prices)).toBe('price_book 0.005')
    expect(cost({ ...azure, serviceTier: 'batch' }, prices)).toBe('unpriced 0 no_batch_rate')
  })

  test('is the tenant price for the region, else the one with the latest start', () => {
    const rates = (input: string) => ({ input, output: '0' })
    const prices = tenant([
      { provider: 'openai', model: 'gpt-4o', region: 'eu', from: '2026-01-01', rates: rates('7') },
      { provider: 'openai', model: 'gpt-4o', from: '2026-01-01', rates: rates('5') },
      { provider: 'openai', model: 'gpt-4o', from: '2026-06-01', rates: rates('6') },
    ])

    expect(cost({}, prices)).toBe('tenant_price 0.006')
    expect(cost({ eventTimeMs: Date.UTC(2026, 2) }, prices)).toBe('tenant_price 0.005')
    expect(cost({ region: 'EU' }, prices)).toBe('tenant_price 0.007')
  })

  test('can be a tenant price of a provider that the book does not know', () => {
    const prices = tenant([
      { provider: 'Acme Cloud', model: 'acme-1', from: '2026-01-01', rates: { input: '1', output: '1' } },
    ])

    expect(cost({ provider: 'acme_cloud', requestedModel: 'acme-1' }, prices)).toBe('tenant_price 0.00125')
  })

  test.each([
    ['bedrock', 'arn:aws:bedrock:eu-west-1:111122223333:application-inference-profile/a1B2', 'eu-west-1'],
    ['vertex_ai', 'projects/p/locations/europe-west4/endpoints/123', undefined],
  ])('a tenant can price what only its own account can resolve: %s %s', (provider, model, region) => {
    const prices = tenant([
      { provider, model, region, from: '2026-01-01', rates: { input: '1', output: '1' } },
      { provider, model: `${model}4`, from: '2026-01-01', rates: { input: '9', output: '9' } },
    ])

    expect(cost({ provider, requestedModel: model })).toBe('unpriced 0 opaque_profile')
    expect(cost({ provider, requestedModel: model }, prices)).toBe('tenant_price 0.00125')
    expect(cost({ provider: 'litellm', requestedModel: `${provider}/${model}` }, prices)).toBe('tenant_price 0.00125')
    expect(cost({ provider, requestedModel: `${model}5` }, prices)).toBe('unpriced 0 opaque_profile')
  })

  test("is that of the model behind a tenant's model name", () => {
    const prices = tenant(
      [],
      [{ provider: 'azure', model: 'Prod-Chat', servedBy: { provider: 'azure', model: 'gpt-4o' } }],
    )
    const event = call({ provider: 'azure.ai.openai', requestedModel: 'prod-chat' })

    expect(priceInvocation(event, book, prices).details.price).toMatchObject({
      model: 'gpt-4o',
      match: ['tenant_override', 'exact', 'region_unstated'],
    })
    expect(priceInvocation(event, book).details.reason).toBe('unknown_model')
  })

  test('depends on the served model if that has a price', () => {
    expect(price({ requestedModel: 'alias', servedModel: 'gpt-4o-mini' })).toMatchObject({
      model: 'gpt-4o-mini',
      model_from: 'served',
    })
  })

  test('is that of the requested model where the served one has no price, and the card says so', () => {
    const stated = { servedModel: 'something-else' }

    expect(cost(stated)).toBe('price_book 0.005')
    expect(price(stated)).toMatchObject({
      model: 'gpt-4o',
      model_from: 'requested',
      flags: ['served_model_unlisted'],
      confidence: 0.7,
    })
    const { details } = priceInvocation(call(stated), book)
    expect(explainCost(details, call(stated)).assumptions).toEqual([
      'The served model has no price. That of the requested model was used.',
    ])
    expect(cost({ servedModel: 'something-else', requestedModel: 'another' })).toBe('unpriced 0 unknown_model')
  })

  test('is known apart for two requested models of one served model', () => {
    const served = { provider: 'bedrock', servedModel: 'claude-sonnet-4-6' }

    expect(cost({ ...served, requestedModel: 'anthropic.claude-sonnet-4-6' })).toBe('price_book 0.007425')
    expect(cost({ ...served, requestedModel: 'global.anthropic.claude-sonnet-4-6' })).toBe('price_book 0.00675')
  })

  test('is zero, and known, for a free variant at OpenRouter', () => {
    const free = { provider: 'openrouter', requestedModel: 'meta-llama/llama-4-maverick:free' }

    expect(cost({ ...free, cachedInputTokens: 10, reasoningTokens: 7, audioInputTokens: 3 })).toBe('price_book 0')
    expect(price({ ...free, cachedInputTokens: 10 })).toMatchObject({
      model: free.requestedModel,
      match: ['exact', 'free_variant'],
      confidence: 0.95,
    })
    expect(price({ ...free, cachedInputTokens: 10 })).not.toHaveProperty('flags')
    expect(cost({ ...free, provider: 'together_ai' })).toBe('unpriced 0 unknown_model')
    expect(cost({ ...free, webSearchCalls: 1 })).toBe('unpriced 0 no_tool_fee')
  })
})

describe('a call is unpriced', () => {
  test.each<[string, Partial<Invocation>]>([
    ['no_tokens', { inputTokens: undefined }],
    ['no_tokens', { outputTokens: undefined }],
    ['inconsistent_tokens', { cachedInputTokens: 1001 }],
    ['inconsistent_tokens', { reasoningTokens: 251 }],
    ['unknown_provider', { provider: 'acme' }],
    ['unknown_provider', { provider: 'litellm', requestedModel: 'llama-4-maverick' }],
    ['unknown_model', { requestedModel: 'claude-sonnet-4-5' }],
    ['unknown_model', { requestedModel: 'gpt-6.1-nova' }],
    ['unknown_model', { provider: 'anthropic', requestedModel: 'claude-sonnet-7-5' }],
    ['zero_priced', { provider: 'gemini', requestedModel: 'gemma-3-27b-it' }],
    ['quarantined_price', { provider: 'sambanova', requestedModel: 'Qwen2-Audio-7B-Instruct' }],
    ['incomplete_price', { provider: 'azure_ai', requestedModel: 'model_router' }],
    ['no_batch_rate', { provider: 'cohere', requestedModel: 'command-r', serviceTier: 'batch' }],
    ['no_flex_rate', { requestedModel: 'gpt-4-0613', serviceTier: 'flex' }],
    ['no_priority_rate', { requestedModel: 'gpt-5-nano', serviceTier: 'priority' }],
  ])('%s', (reason, stated) => {
    expect(cost(stated)).toBe(`unpriced 0 ${reason}`)
  })

  test('an embedding at a negotiated price needs no output count if its output is free', () => {
    const priced = (model: string, output: string) =>
      tenant([{ provider: 'openai', model, from: '2026-01-01', rates: { input: '0.01', output } }])
    const of = (model: string, output: string) =>
      cost({ requestedModel: model, outputTokens: undefined }, priced(model, output))

    expect(of('text-embedding-3-small', '0')).toBe('tenant_price 0.00001')
    expect(of('text-embedding-3-small', '0.01')).toBe('tenant_price 0.00001')
    expect(of('own-embedding', '0.000')).toBe('tenant_price 0.00001')
    expect(of('own-chat', '0.01')).toBe('unpriced 0 no_tokens')
  })

  test('an embedding needs no output count', () => {
    expect(cost({ requestedModel: 'text-embedding-3-small', outputTokens: undefined })).toBe('price_book 0.00002')
  })
})

describe('rates in force', () => {
  const o3 = (eventTimeMs: number) =>
    cost({ requestedModel: 'o3', inputTokens: 1_000_000, outputTokens: 0, eventTimeMs })

  test('the event time selects the price period, to the millisecond', () => {
    expect(o3(Date.UTC(2025, 5, 10) - 1)).toBe('price_book 10')
    expect(o3(Date.UTC(2025, 5, 10))).toBe('price_book 2')
  })

  test('an event before the first price period uses that period and is flagged', () => {
    expect(price({ requestedModel: 'o3', eventTimeMs: Date.UTC(2024, 0) })).toMatchObject({
      flags: ['before_first_period'],
      confidence: 0.7,
    })
  })

  test('a scheduled price applies only from its start, and stays flagged', () => {
    const flash = { provider: 'gemini', requestedModel: 'gemini-3.7-flash' }

    expect(price({ ...flash, eventTimeMs: Date.UTC(2027, 0) - 1 })?.rates.input).toBe('0.75')
    expect(price({ ...flash, eventTimeMs: Date.UTC(2027, 0) })).toMatchObject({
      rates: { input: '1.5' },
      flags: ['scheduled_price'],
    })
  })

  test('what a reseller charges today is not the price of earlier calls', () => {
    const input = (eventTimeMs: number) =>
      price({ provider: 'openrouter', requestedModel: 'xiaomi/mimo-v2.5-pro', eventTimeMs })?.rates.input

    expect(input(Date.UTC(2026, 8, 1))).toBe('1')
    expect(input(Date.UTC(2026, 10, 28))).toBe('0.435')
  })

  test('a cache write of Gemini on OpenRouter costs the input and its storage', () => {
    const written = { provider: 'openrouter', requestedModel: 'google/gemini-2.5-flash', outputTokens: 0 }
    expect(cost({ ...written, inputTokens: 3_000_000, cacheWriteTokens: 3_000_000 })).toBe('price_book 1.149999999999')
  })

  test('peak hours on weekdays have their own price', () => {
    const input = (eventTimeMs: number) =>
      price({ provider: 'deepseek', requestedModel: 'deepseek-v4-pro', eventTimeMs })?.rates.input

    expect(input(Date.UTC(2026, 10, 3, 1))).toBe('1.32')
    expect(input(Date.UTC(2026, 10, 3, 4))).toBe('0.66')
    expect(input(Date.UTC(2026, 10, 7, 1))).toBe('0.66')
  })

  test.each([
    ['gemini', 'gemini-2.5-pro', 200_000, false],
    ['gemini', 'gemini-2.5-pro', 200_001, true],
    ['xai', 'grok-4.6', 199_999, false],
    ['xai', 'grok-4.6', 200_000, true],
    ['openai', 'gpt-5.6-terra', 272_000, false],
    ['openai', 'gpt-5.6-terra', 272_001, true],
  ])('%s %s with %i tokens in: beyond the threshold %s', (provider, requestedModel, inputTokens, isBeyond) => {
    expect(price({ provider, requestedModel, inputTokens })?.threshold !== undefined).toBe(isBeyond)
  })

  test('cached tokens count towards the threshold', () => {
    const half = {
      provider: 'gemini',
      requestedModel: 'gemini-2.5-pro',
      inputTokens: 200_001,
      cachedInputTokens: 200_000,
    }

    expect(price(half)?.threshold).toEqual({ rule: 'above', input_tokens: 200_000 })
  })

  test('the residency multiplier applies only to events with that residency', () => {
    const terra = { requestedModel: 'gpt-5.6-terra' }

    expect(cost({ ...terra, region: 'EU' })).toBe('price_book 0.0055')
    expect(cost({ ...terra, region: 'eu-west-1' })).toBe('price_book 0.005')
    expect(cost(terra)).toBe('price_book 0.005')
    expect(price({ ...terra, region: 'eu' })?.multipliers).toEqual([{ name: 'residency_eu', factor: '1.1' }])
  })

  test('fast calls have the factor of the speed, or of a withdrawn mode none; where none is listed, the card says so', () => {
    const opus = (requestedModel: string, speed: Invocation['speed'], region?: string) =>
      price({ provider: 'anthropic', requestedModel, speed, region })

    expect(cost({ provider: 'anthropic', requestedModel: 'claude-opus-5' })).toBe('price_book 0.01125')
    expect(cost({ provider: 'anthropic', requestedModel: 'claude-opus-5', speed: 'fast' })).toBe('price_book 0.0225')
    expect(opus('claude-opus-5', 'fast')?.multipliers).toEqual([{ name: 'speed_fast', factor: '2' }])
    expect(opus('claude-opus-4-8', 'fast', 'us')?.multipliers).toEqual([
      { name: 'residency_us', factor: '1.1' },
      { name: 'speed_fast', factor: '2' },
    ])
    expect(opus('claude-opus-5', 'standard')).toEqual(opus('claude-opus-5', undefined))
    expect(cost({ provider: 'anthropic', requestedModel: 'claude-opus-4-7', speed: 'fast' })).toBe('price_book 0.01125')
    expect(opus('claude-opus-4-7', 'fast')).not.toHaveProperty('flags')
    expect(opus('claude-sonnet-5', 'fast')).toMatchObject({ flags: ['fast_rate_unlisted'], confidence: 0.6 })
  })

  test('a regional endpoint of Vertex AI costs more than the global one for newer Claude models', () => {
    const claude = { provider: 'vertex_ai', requestedModel: 'claude-opus-5' }

    expect(cost(claude)).toBe('price_book 0.01125')
    expect(cost({ ...claude, region: 'global' })).toBe('price_book 0.01125')
    expect(cost({ ...claude, region: 'us-east5' })).toBe('price_book 0.012375')
    expect(price({ ...claude, region: 'eu' })?.multipliers).toEqual([{ name: 'residency_regional', factor: '1.1' }])
    const resource = 'projects/p/locations/europe-west1/publishers/anthropic/models/claude-opus-5'
    expect(cost({ provider: 'gcp.vertex_ai', requestedModel: resource })).toBe('price_book 0.012375')
    expect(price({ provider: 'vertex_ai', requestedModel: 'gemini-2.5-pro', region: 'us-east5' })).not.toHaveProperty(
      'multipliers',
    )
  })

  test('Claude on Bedrock costs more in its region and through a geographic profile than through the global one', () => {
    const through = (profile: string) =>
      cost({ provider: 'bedrock', requestedModel: `${profile}anthropic.claude-sonnet-4-6`, region: 'eu-central-1' })

    expect(through('')).toBe('price_book 0.007425')
    expect(through('eu.')).toBe('price_book 0.007425')
    expect(through('global.')).toBe('price_book 0.00675')
  })

  test('cache writes without a lifetime are billed as short and flagged; one-hour writes have their own rate', () => {
    const claude = {
      provider: 'anthropic',
      requestedModel: 'claude-opus-5',
      inputTokens: 1_000_000,
      outputTokens: 0,
      cacheWriteTokens: 1_000_000,
    }
    const rates = price(claude)?.rates

    expect(cost(claude)).toBe(`price_book ${rates?.cache_write}`)
    expect(price(claude)?.flags).toContain('cache_write_ttl_missing')
    expect(cost({ ...claude, cacheWriteTtlSeconds: 3600 })).toBe(`price_book ${rates?.cache_write_1h}`)
    expect(price({ ...claude, cacheWriteTtlSeconds: 300 })?.flags ?? []).not.toContain('cache_write_ttl_missing')
  })

  test('five-minute and one-hour cache writes of one call have their own rates, and nothing is assumed', () => {
    const claude = {
      provider: 'anthropic',
      requestedModel: 'claude-opus-5',
      inputTokens: 3_000_000,
      outputTokens: 0,
      cacheWrite5mTokens: 1_000_000,
      cacheWrite1hTokens: 2_000_000,
    }

    expect(price(claude)?.rates).toMatchObject({ cache_write: '6.25', cache_write_1h: '10' })
    expect(cost(claude)).toBe('price_book 26.25')
    expect(price(claude)?.flags).toBeUndefined()
    expect(cost({ ...claude, cacheWriteTokens: 2_999_999 })).toBe('unpriced 0 inconsistent_tokens')
  })

  test('image tokens have the rate of images; without one they are billed as text and flagged', () => {
    const realtime = { requestedModel: 'gpt-realtime', inputTokens: 1_000_000, outputTokens: 0 }

    expect(cost({ ...realtime, imageInputTokens: 1_000_000 })).toBe('price_book 5')
    expect(price({ ...realtime, audioInputTokens: 0 })?.flags).toEqual(['image_split_missing'])
    expect(cost({ inputTokens: 1_000_000, outputTokens: 0, imageInputTokens: 1_000_000 })).toBe('price_book 2.5')
    expect(price({ imageInputTokens: 10 })?.flags).toEqual(['image_rate_missing'])
  })

  test('billed calls of tools cost their fee, and a tool without a fee makes the call unpriced', () => {
    const free = { inputTokens: 0, outputTokens: 0 }

    expect(cost({ ...free, webSearchCalls: 3, fileSearchCalls: 2 })).toBe('price_book 0.035')
    expect(price({ ...free, webSearchCalls: 3 })?.fees).toEqual({ web_search: '0.01' })
    expect(price({ ...free, webSearchCalls: 0 })?.fees).toBeUndefined()
    expect(cost({ ...free, webSearchCalls: 1, codeExecutionCalls: 1 })).toBe('unpriced 0 no_tool_fee')
    expect(cost({ ...free, codeExecutionCalls: 1, estimatedCostUsd: '0.03' })).toBe('client_estimate 0.03 no_tool_fee')
    expect(price({ webSearchCalls: 1, serviceTier: 'batch' })?.flags).toEqual(['tool_fee_of_standard_tier'])
  })

  test('a negotiated price has its own fees, else those of the book', () => {
    const rates = { input: '1', output: '1', fees: { web_search: '0.007', code_execution: '0.02' } }
    const prices = tenant([{ provider: 'openai', model: 'gpt-4o', from: '2026-01-01', rates }])
    const free = { inputTokens: 0, outputTokens: 0 }
    const flags = (stated: Partial<Invocation>) => priceInvocation(call(stated), book, prices).details.price?.flags

    expect(cost({ ...free, webSearchCalls: 1, codeExecutionCalls: 2 }, prices)).toBe('tenant_price 0.047')
    expect(flags({ webSearchCalls: 1 })).toBeUndefined()
    expect(cost({ ...free, fileSearchCalls: 1 }, prices)).toBe('tenant_price 0.0025')
    expect(flags({ fileSearchCalls: 1 })).toEqual(['tool_fee_of_book'])
  })

  test('a call has the rates of the tier that served it, and says which were assumed in their place', () => {
    const at = (serviceTier: Invocation['serviceTier']) => price({ serviceTier })

    expect(at('default')).toEqual(at(undefined))
    expect(at('scale')).toMatchObject({
      service_tier: 'scale',
      rates_of_tier: 'standard',
      rates: { input: '2.5' },
      flags: ['service_tier_assumed'],
      confidence: 0.6,
    })
    expect(at('priority_on_demand')).toMatchObject({ rates_of_tier: 'priority', rates: { input: '4.25' } })
    expect(at('priority')).not.toHaveProperty('rates_of_tier')
    expect(cost({ serviceTier: 'flex_discount' })).toBe('unpriced 0 no_flex_rate')
  })

  test('beyond a cliff a one-hour write costs by the rule of its provider', () => {
    const long = { provider: 'anthropic', inputTokens: 300_000, outputTokens: 0, cacheWriteTokens: 300_000 }
    const sonnet = { ...long, requestedModel: 'claude-sonnet-4-20250514' }

    expect(cost({ ...sonnet, cacheWriteTtlSeconds: 300 })).toBe('price_book 2.25')
    expect(cost({ ...sonnet, cacheWriteTtlSeconds: 3600 })).toBe('price_book 3.6')
    expect(price({ ...sonnet, cacheWriteTtlSeconds: 3600 })?.flags).toEqual(['rate_by_provider_rule'])
  })

  test('cached tokens of a tier without a cache rate are billed as its input and flagged', () => {
    const row = priceRow('model', '2', '8', { cache_read: '0.2', batch: { input: '1', output: '4' } })
    const batch = call({ requestedModel: 'model', serviceTier: 'batch', cachedInputTokens: 1000, outputTokens: 0 })
    const { costUsd, details } = priceInvocation(batch, priceBook(bookOf([row])))

    expect(formatQuantity(costUsd)).toBe('0.001')
    expect(details.price).toMatchObject({ flags: ['cache_read_rate_missing'], confidence: 0.7 })
  })

  test('a row on which price books disagree shows both prices', () => {
    expect(price({ provider: 'xai', requestedModel: 'grok-code-fast-1' })).toMatchObject({
      flags: ['price_books_disagree'],
      confidence: 0.6,
      other_books: { litellm: { input: '1' } },
    })
  })
})

describe('cost details', () => {
  test('are one shared frozen object and text for events that differ only in their numbers', () => {
    const first = priceInvocation(call({ inputTokens: 5, eventId: 'a' }), book)
    const second = priceInvocation(call({ inputTokens: 50_000, eventId: 'b' }), book)

    expect(second.details).toBe(first.details)
    expect(second.detailsJson).toBe(first.detailsJson)
    expect(JSON.parse(first.detailsJson)).toEqual(first.details)
    expect(Object.isFrozen(first.details.price?.rates)).toBe(true)
  })

  test('of two price books are cached separately', () => {
    const empty = { ...book, asOf: '2030-01-01', find: () => ({ kind: 'none', reason: 'unknown_model' }) as const }

    expect(priceInvocation(call(), empty).basis).toBe('unpriced')
    expect(priceInvocation(call(), book).basis).toBe('price_book')
  })
})

interface CostVector {
  readonly why: string
  readonly event: Partial<Invocation>
  readonly cost_usd: string
}

// Second implementation: Python's decimal module (test/support/vectors/cost-vectors.py).
test('more than a thousand costs equal those of a second implementation, to the last digit', () => {
  const vectors = readVectors<CostVector>('cost')
  const wrong = vectors.filter(({ event, cost_usd }) => cost(event) !== `price_book ${cost_usd}`)

  expect(vectors.length).toBeGreaterThan(1000)
  expect(wrong.map((vector) => ({ ...vector, got: cost(vector.event) }))).toEqual([])
})

// Second implementation: the npm package @pydantic/genai-prices (test/support/vectors/genai-prices-vectors.mjs).
test('costs agree with genai-prices to 12 digits wherever the two books agree', () => {
  const vectors = readVectors<{ readonly event: Partial<Invocation>; readonly cost_usd: number }>('genai-prices')
  const wrong = vectors.filter(({ event, cost_usd }) => {
    const own = Number(formatQuantity(priceInvocation(call(event), book).costUsd))
    return Math.abs(own - cost_usd) > 1e-12 * cost_usd
  })

  expect(vectors.length).toBeGreaterThan(200)
  expect(wrong).toEqual([])
})

describe('cost properties', () => {
  const models = fc.constantFrom(
    ['openai', 'gpt-4o'],
    ['openai', 'gpt-5.6-terra'],
    ['anthropic', 'claude-opus-5'],
    ['gemini', 'gemini-2.5-pro'],
    ['dashscope', 'qwen-plus-2025-07-28'],
    ['deepseek', 'deepseek-v4-flash'],
    ['xai', 'grok-4.6'],
  )
  const events = fc
    .record({
      model: models,
      parts: fc.tuple(...Array.from({ length: 8 }, () => fc.nat({ max: 400_000 }))),
      calls: fc.tuple(...Array.from({ length: 3 }, () => fc.constantFrom(undefined, 0, 1, 17))),
      serviceTier: fc.constantFrom(undefined, ...SERVICE_TIERS),
      region: fc.constantFrom(undefined, 'eu', 'us'),
      speed: fc.constantFrom(undefined, 'standard' as const, 'fast' as const),
      ttl: fc.constantFrom(undefined, 300, 3600),
      eventTimeMs: fc.integer({ min: Date.UTC(2025, 0), max: Date.UTC(2027, 5) }),
    })
    .map(
      ({
        model: [provider = '', requestedModel = ''],
        parts: [uncached = 0, read = 0, write = 0, output = 0, thoughts = 0, hour = 0, imagesIn = 0, imagesOut = 0],
        calls: [webSearchCalls, fileSearchCalls, codeExecutionCalls],
        ttl,
        ...rest
      }) =>
        call({
          provider,
          requestedModel,
          inputTokens: uncached + read + write + hour,
          cachedInputTokens: read,
          cacheWriteTokens: write + hour,
          cacheWriteTtlSeconds: ttl,
          cacheWrite1hTokens: hour,
          outputTokens: output + thoughts + imagesOut,
          reasoningTokens: thoughts,
          imageInputTokens: Math.min(imagesIn, uncached + read),
          imageOutputTokens: imagesOut,
          webSearchCalls,
          fileSearchCalls,
          codeExecutionCalls,
          ...rest,
        } as Partial<Invocation>),
    )

  test('the explanation recomputes the stored cost from the stored details and the event', () => {
    fc.assert(
      fc.property(events, (event) => {
        const { costUsd, detailsJson } = priceInvocation(event, book)
        return explainCost(JSON.parse(detailsJson), event).totalUsd === costUsd
      }),
    )
  })

  test('the lines times the multipliers, plus the fees, add up to the cost', () => {
    const steps = (text: string) => parseQuantity<'USD'>(text) ?? zero<'USD'>()
    let compared = 0
    fc.assert(
      fc.property(events, (event) => {
        const { costUsd, details } = priceInvocation(event, book)
        const { lines, fees } = explainCost(details, event)
        if (details.price === undefined) return lines.length === 0 && fees.length === 0
        compared += fees.length
        const factors = (details.price.multipliers ?? []).map(({ factor }) => factor)
        const scale = 10n ** 6n
        const factor = factors.reduce((product, each) => (product * (steps(each) / 10n ** 12n)) / scale, scale)
        const ofLines = lines.reduce((total, { amountUsd }) => total + steps(amountUsd), 0n)
        const ofFees = fees.reduce((total, { amountUsd }) => total + steps(amountUsd), 0n)
        return ofLines * factor === (costUsd - ofFees) * scale
      }),
    )
    expect(compared).toBeGreaterThan(0)
  })

  test('pricing is deterministic', () => {
    fc.assert(
      fc.property(events, (event) => {
        expect(priceInvocation(event, book)).toEqual(priceInvocation(event, loadPriceBookOnce()))
      }),
    )
  })

  test('two halves of the output cost as much as the whole', () => {
    fc.assert(
      fc.property(
        fc.nat({ max: 100_000 }),
        fc.nat({ max: 100_000 }),
        fc.nat({ max: 1000 }),
        (left, right, inputTokens) => {
          const of = (outputTokens: number, input: number) =>
            priceInvocation(call({ outputTokens, inputTokens: input }), book).costUsd
          return plus(of(left, inputTokens), of(right, 0)) === of(left + right, inputTokens)
        },
      ),
    )
  })
})

let second: PriceBook | undefined
function loadPriceBookOnce(): PriceBook {
  second ??= loadPriceBook()
  return second
}
