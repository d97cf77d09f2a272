import { describe, expect, test } from 'vitest'
import type { Invocation } from '../../../../internal/invocations/invocation.js'
import { formatQuantity } from '../../../../internal/units/quantity.js'
import { priceBook } from '../../../../internal/valuation/cost/price-book.js'
import { priceInvocation } from '../../../../internal/valuation/cost/price-invocation.js'
import { call } from '../../../support/attribution-events.js'
import { bookOf, priceRow } from '../../../support/price-books.js'
import { book, cost, price, tenant } from '../../../support/priced-calls.js'

/** Which rates, factors and fees `priceInvocation` applies to a call. */

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
