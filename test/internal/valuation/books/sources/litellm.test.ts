import fc from 'fast-check'
import { expect, test } from 'vitest'
import { readLitellm } from '../../../../../internal/valuation/books/sources/litellm.js'
import type { SourceBook } from '../../../../../internal/valuation/books/sources/source-book.js'

const PROVIDERS = new Set([
  'openai',
  'anthropic',
  'azure',
  'bedrock',
  'vertex_ai',
  'fireworks_ai',
  'dashscope',
  'cohere',
  'mistral',
])

const read = (file: object): SourceBook => {
  const parsed = readLitellm(JSON.stringify(file), PROVIDERS)
  if (parsed.kind === 'invalid') throw new Error(parsed.problem)
  return parsed.book
}
const priceOf = (book: SourceBook, provider: string, model: string, region?: string) =>
  book.find(provider, model, region)?.row.periods[0]?.price
const chat = (litellm_provider: string, stated: object = {}) => ({
  litellm_provider,
  mode: 'chat',
  input_cost_per_token: 1e-6,
  output_cost_per_token: 4e-6,
  ...stated,
})

test('rates, service tiers and thresholds are read from the names of the members', () => {
  const book = read({
    'gpt-9': chat('openai', {
      input_cost_per_token_batches: 5e-7,
      output_cost_per_token_batches: 2e-6,
      cache_read_input_token_cost: 1.3e-7,
      cache_creation_input_token_cost: 0,
      cache_creation_input_token_cost_above_1hr: 2e-6,
      cache_creation_input_token_cost_above_1hr_above_200k_tokens: 4e-6,
      input_cost_per_token_above_200k_tokens: 2e-6,
      input_cost_per_token_above_200k_tokens_priority: 3.6e-6,
      input_cost_per_audio_token: 3.2e-5,
      input_cost_per_token_ultrafast: 9,
      search_context_cost_per_query: { search_context_size_low: 0.01, search_context_size_high: 0.01 },
    }),
  })

  expect(priceOf(book, 'openai', 'gpt-9')).toEqual({
    input: '1',
    output: '4',
    batch: { input: '0.5', output: '2' },
    cache_read: '0.13',
    cache_write_1h: '2',
    audio_input: '32',
    tiers: [{ above: 200000, input: '2', cache_write_1h: '4', priority: { input: '3.6' } }],
    fees: { web_search: '0.01' },
  })
})

test('a key is the name that our book has: its provider in front, a scope or a region apart', () => {
  const book = read({
    'azure/eu/gpt-9': chat('azure'),
    'azure/global/gpt-8': chat('azure'),
    'bedrock/us-east-1/x.y-v1:0': chat('bedrock_converse'),
    'bedrock_mantle/x.z': chat('bedrock_mantle'),
    'us.anthropic.claude-x': chat('bedrock_converse'),
    'vertex_ai/claude-x': chat('vertex_ai-anthropic_models'),
    'fireworks_ai/accounts/fireworks/models/q': chat('fireworks_ai'),
    'bedrock/us-east-1/1-month-commitment/x.y': chat('bedrock'),
    'azure/hd/1024-x-1792/dall-e-3': chat('azure'),
    'together-ai-4.1b-8b': chat('openai'),
    'novita/q': chat('novita'),
    'gpt-\u0007': chat('openai'),
    'openai/gpt-9': chat('openai'),
    'gpt-9': chat('openai'),
  })

  expect(book.rows.map(({ provider, model, region }) => [provider, model, region])).toEqual([
    ['azure', 'gpt-9', 'eu'],
    ['azure', 'gpt-8', undefined],
    ['bedrock', 'x.y-v1:0', 'us-east-1'],
    ['bedrock', 'x.z', undefined],
    ['bedrock', 'us.anthropic.claude-x', undefined],
    ['vertex_ai', 'claude-x', undefined],
    ['fireworks_ai', 'accounts/fireworks/models/q', undefined],
    ['openai', 'gpt-9', undefined],
  ])
  expect(book.skipped).toEqual({ no_token_name: 3, no_model_name: 1, unknown_provider: 1, duplicate: 1 })
})

test('bands, other units and factors are read; a fee by depth, a price by the hour and a free model are not', () => {
  const book = read({
    'dashscope/q': {
      litellm_provider: 'dashscope',
      tiered_pricing: [
        { input_cost_per_token: 1e-6, output_cost_per_token: 2e-6, range: [0, 32000] },
        { input_cost_per_token: 2e-6, output_cost_per_token: 4e-6, range: [32000, 128000.0] },
      ],
    },
    'rerank-x': { litellm_provider: 'cohere', mode: 'rerank', input_cost_per_query: 0.002, input_cost_per_token: 0 },
    'mistral/ocr-x': { litellm_provider: 'mistral', mode: 'ocr', ocr_cost_per_page: 4e-3 },
    'claude-x': chat('anthropic', { provider_specific_entry: { us: 1.1, fast: 2.0 } }),
    'sonar-x': chat('openai', {
      search_context_cost_per_query: { search_context_size_low: 0.005, search_context_size_high: 0.012 },
    }),
    night: chat('openai', { off_peak_pricing: { hours_utc: '00:00-08:00' } }),
    gift: chat('openai', { input_cost_per_token: 0, output_cost_per_token: 0 }),
    odd: chat('openai', { input_cost_per_token: 'free' }),
  })

  expect(priceOf(book, 'dashscope', 'q')).toEqual({
    input: '1',
    output: '2',
    bands: [
      { over: 0, up_to: 32000, input: '1', output: '2' },
      { over: 32000, up_to: 128000, input: '2', output: '4' },
    ],
  })
  expect(priceOf(book, 'cohere', 'rerank-x')?.units).toEqual({ search_units: '0.002' })
  expect(priceOf(book, 'mistral', 'ocr-x')).toEqual({ units: { pages: '0.004' } })
  expect(book.find('anthropic', 'claude-x', undefined)?.row.multipliers).toEqual({ us: '1.1', fast: '2' })
  expect(priceOf(book, 'openai', 'sonar-x')?.fees).toBeUndefined()
  expect(book.skipped).toEqual({ by_time_of_day: 1, free: 1, invalid: 1 })
})

test('any price per token comes back as the same decimal per million tokens', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 999_999_999 }), fc.integer({ min: -18, max: -8 }), (digits, power) => {
      const text = `{"m":{"litellm_provider":"openai","input_cost_per_token":${digits}e${power},"output_cost_per_token":1}}`
      const parsed = readLitellm(text, PROVIDERS)
      const rate = parsed.kind === 'source' ? priceOf(parsed.book, 'openai', 'm')?.input : undefined
      const [whole = '', decimals = ''] = (rate ?? '').split('.')

      expect(BigInt(whole + decimals.padEnd(12, '0'))).toBe(BigInt(digits) * 10n ** BigInt(power + 18))
    }),
  )
})

test('a file that is no map is refused', () => {
  for (const text of ['[]', '{"a":', '3']) expect(readLitellm(text, PROVIDERS)).toMatchObject({ kind: 'invalid' })
})
