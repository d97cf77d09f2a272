import { describe, expect, test } from 'vitest'
import type { Invocation } from '../../../../internal/invocations/invocation.js'
import { formatQuantity } from '../../../../internal/units/quantity.js'
import { costOfParts } from '../../../../internal/valuation/cost/cost-of-parts.js'
import { explainCost } from '../../../../internal/valuation/cost/explain-cost.js'
import { priceInvocation } from '../../../../internal/valuation/cost/price-invocation.js'
import { RATE_PARTS } from '../../../../internal/valuation/cost/rate-sheet.js'
import type { TokenParts } from '../../../../internal/valuation/cost/token-parts.js'
import { call } from '../../../support/attribution-events.js'
import { book, cost, price, tenant } from '../../../support/priced-calls.js'

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
