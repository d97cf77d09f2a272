import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { statedOfProviderUsage } from '../../../internal/usage/provider-usage.js'
import { readUsage } from '../../../internal/usage/read-usage.js'
import type { StatedUsage, UsageFields, UsageSender } from '../../../internal/usage/stated-usage.js'

const known = (fields: UsageFields) =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined))
const otlp = (name: string, provider: string, more: Partial<UsageSender> = {}): UsageSender => ({
  surface: 'otlp',
  name,
  provider,
  ...more,
})
const CACHE = { cacheRead: 2000, cacheWrite: 300 }

describe('recorded senders', () => {
  const SEEN: readonly (readonly [client: string, UsageSender, StatedUsage, UsageFields])[] = [
    [
      'AI SDK 5, Anthropic: the total omits the cache',
      otlp('ai', 'anthropic.messages'),
      { input: 649, output: 249, total: 898, cacheRead: 2000 },
      { input_tokens: 2649, output_tokens: 249, cached_input_tokens: 2000, assumptions: 'cache_apart_by_convention' },
    ],
    [
      'AI SDK 6, Anthropic',
      otlp('ai', 'anthropic.messages'),
      { input: 2961, output: 261, total: 3222, uncachedInput: 661, ...CACHE },
      { input_tokens: 2961, output_tokens: 261, cached_input_tokens: 2000, cache_write_tokens: 300 },
    ],
    [
      'AI SDK 5, Gemini: only the total has the thoughts',
      otlp('ai', 'google.generative-ai'),
      { input: 1152, output: 252, total: 1434, reasoning: 30, cacheRead: 256 },
      {
        input_tokens: 1152,
        output_tokens: 282,
        reasoning_tokens: 30,
        cached_input_tokens: 256,
        assumptions: 'reasoning_apart_by_total',
      },
    ],
    [
      'OpenLIT, Anthropic: its own total without the cache',
      otlp('openlit.instrumentation.anthropic', 'anthropic'),
      { input: 9621, output: 221, total: 9842, ...CACHE },
      {
        input_tokens: 11921,
        output_tokens: 221,
        cached_input_tokens: 2000,
        cache_write_tokens: 300,
        assumptions: 'cache_apart_by_convention',
      },
    ],
    [
      'OpenLIT, a stream without usage',
      otlp('openlit.instrumentation.openai', 'openai', { isStreamed: true }),
      { input: 13, output: 14, total: 27 },
      { input_tokens: 13, output_tokens: 14, usage_basis: 'estimated' },
    ],
    [
      'OpenLIT, a stream of Anthropic without the cache',
      otlp('openlit.instrumentation.anthropic', 'anthropic', { isStreamed: true }),
      { input: 623, output: 223, total: 846 },
      { input_tokens: 623, output_tokens: 223, usage_basis: 'partial' },
    ],
    [
      'OpenLLMetry, Bedrock Converse',
      otlp('opentelemetry.instrumentation.bedrock', 'aws.bedrock'),
      { input: 11101, output: 701, total: 11802, ...CACHE },
      {
        input_tokens: 13401,
        output_tokens: 701,
        cached_input_tokens: 2000,
        cache_write_tokens: 300,
        assumptions: 'cache_apart_by_convention',
      },
    ],
    [
      'OpenLLMetry, Gemini: thoughts in the total only',
      otlp('opentelemetry.instrumentation.google_generativeai', 'gcp.gen_ai'),
      { input: 1072, output: 172, total: 1274, cacheRead: 256 },
      {
        input_tokens: 1072,
        output_tokens: 202,
        reasoning_tokens: 30,
        cached_input_tokens: 256,
        assumptions: 'output_by_total',
      },
    ],
    [
      'OpenInference, Gemini with what a tool read',
      otlp('openinference.instrumentation.google_genai', 'google'),
      { input: 1041, output: 3093, total: 381679, reasoning: 2191, toolUseInput: 377545 },
      {
        input_tokens: 378586,
        output_tokens: 3093,
        reasoning_tokens: 2191,
        assumptions: 'tool_use_apart_by_convention',
      },
    ],
    [
      'LangSmith, Anthropic: writes by their lifetime only',
      otlp('langsmith', 'anthropic'),
      { input: 11684, output: 484, total: 12168, cacheRead: 2000, cacheWrite5m: 200, cacheWrite1h: 100 },
      {
        input_tokens: 11684,
        output_tokens: 484,
        cached_input_tokens: 2000,
        cache_write_tokens: 300,
        cache_write_5m_tokens: 200,
        cache_write_1h_tokens: 100,
      },
    ],
    [
      'LangChain by OpenLLMetry, a stream of Anthropic: no input',
      otlp('opentelemetry.instrumentation.langchain', 'anthropic'),
      { input: 0, output: 409, total: 409 },
      { output_tokens: 409, usage_basis: 'partial' },
    ],
    [
      "LiteLLM's Bedrock in 2025: reads within, writes apart",
      { surface: 'litellm', provider: 'bedrock' },
      { input: 5200, output: 100, total: 6100, cacheRead: 5000, cacheWrite: 800 },
      {
        input_tokens: 6000,
        output_tokens: 100,
        cached_input_tokens: 5000,
        cache_write_tokens: 800,
        assumptions: 'cache_reads_inside_by_total',
      },
    ],
    ['LiteLLM, a stream without usage', { surface: 'litellm', provider: 'openai' }, { input: 0, output: 0 }, {}],
  ]
  test.each(SEEN)('%s', (_, sender, stated, fields) => {
    expect(known(readUsage(stated, sender))).toEqual(fields)
  })
})

test.each(['not-anthropic-but-openai', 'amazonite', 'team-bedrock-proxy'])(
  '%s is no provider of its words',
  (provider) => {
    const sender: UsageSender = { surface: 'portkey', provider, model: 'gpt-4o' }
    const named = (id: string): number | undefined =>
      readUsage({ input: 100, output: 5, cacheRead: 50 }, { ...sender, provider: id }).input_tokens

    expect([named(provider), named('anthropic'), named('aws.bedrock')]).toEqual([100, 150, 150])
  },
)

describe('an unknown sender', () => {
  const sender = otlp('my-app', 'anthropic')

  test('is read by its total', () => {
    const stated = { input: 9000, output: 200, ...CACHE }
    expect(readUsage({ ...stated, total: 11500 }, sender)).toMatchObject({
      input_tokens: 11300,
      assumptions: 'cache_apart_by_total',
    })
  })

  test('shows both readings where nothing tells', () => {
    const stated = { input: 9000, output: 200, ...CACHE }
    for (const total of [undefined, 0, 9200]) {
      expect(readUsage({ ...stated, total }, sender)).toMatchObject({
        input_tokens: 9000,
        output_tokens: 200,
        alternative_input_tokens: 11300,
        alternative_output_tokens: 200,
      })
    }
  })

  test('is read plainly where its provider counts as OpenTelemetry does', () => {
    const read = readUsage({ input: 9000, output: 200, cacheRead: 2000, reasoning: 50 }, otlp('my-app', 'openai'))
    expect(known(read)).toEqual({
      input_tokens: 9000,
      output_tokens: 200,
      cached_input_tokens: 2000,
      reasoning_tokens: 50,
    })
  })

  test('counts a part apart that is more than its whole', () => {
    expect(readUsage({ input: 500, output: 9, ...CACHE }, sender)).toMatchObject({
      input_tokens: 2800,
      assumptions: 'cache_apart_by_size',
    })
  })

  test('shows that a total has more than its parts', () => {
    const read = readUsage({ input: 1000, output: 100, total: 1400 }, otlp('my-app', 'gcp.gemini'))
    expect(read).toMatchObject({ input_tokens: 1000, output_tokens: 100 })
    expect(read).toMatchObject({ alternative_input_tokens: 1000, alternative_output_tokens: 400 })
  })
})

/** What was billed. */
const billed = fc.record({
  uncached: fc.integer({ min: 1, max: 20_000 }),
  cacheRead: fc.integer({ min: 0, max: 20_000 }),
  written5m: fc.integer({ min: 0, max: 5_000 }),
  written1h: fc.integer({ min: 0, max: 5_000 }),
  answer: fc.integer({ min: 1, max: 5_000 }),
  reasoning: fc.integer({ min: 0, max: 5_000 }),
  toolUse: fc.integer({ min: 0, max: 5_000 }),
})

test('whatever the convention, a total of all makes the counters those that were billed, or shows both', () => {
  const senders = fc.constantFrom(
    otlp('my-app', 'anthropic'),
    otlp('my-app', 'gcp.gemini'),
    otlp('my-app', 'openai'),
    otlp('pydantic-ai', 'anthropic'),
    otlp('openinference.instrumentation.x', 'google'),
    { surface: 'litellm', provider: 'bedrock' } as const,
    { surface: 'native', provider: 'openai' } as const,
  )
  const places = fc.record({ cache: fc.boolean(), reasoning: fc.boolean(), toolUse: fc.boolean() })
  fc.assert(
    fc.property(billed, places, senders, (call, apart, sender) => {
      const written = call.written5m + call.written1h
      const input = call.uncached + call.cacheRead + written + call.toolUse
      const output = call.answer + call.reasoning
      const stated: StatedUsage = {
        input: input - (apart.cache ? call.cacheRead + written : 0) - (apart.toolUse ? call.toolUse : 0),
        output: output - (apart.reasoning ? call.reasoning : 0),
        total: input + output,
        cacheRead: call.cacheRead,
        cacheWrite5m: call.written5m,
        cacheWrite1h: call.written1h,
        reasoning: call.reasoning,
        toolUseInput: call.toolUse,
      }
      const read = readUsage(stated, sender)
      const isRight = read.input_tokens === input && read.output_tokens === output
      expect(isRight || read.alternative_input_tokens !== undefined || (read.assumptions ?? '') !== '').toBe(true)
      expect(read.cached_input_tokens ?? 0).toBe(call.cacheRead)
      expect(read.cache_write_tokens ?? 0).toBe(written)
      expect(read.cache_write_1h_tokens ?? 0).toBe(call.written1h)
    }),
  )
})

describe("a provider's own object", () => {
  const native = (provider: string): UsageSender => ({ surface: 'native', provider })

  test.each([
    [
      'OpenAI chat, cache writes',
      'openai',
      {
        prompt_tokens: 18014,
        prompt_tokens_details: { cached_tokens: 0, cache_write_tokens: 18011, audio_tokens: 0 },
        completion_tokens: 20,
        total_tokens: 18034,
      },
      { input_tokens: 18014, output_tokens: 20, cached_input_tokens: 0, cache_write_tokens: 18011 },
    ],
    [
      'OpenAI realtime, cached audio',
      'openai',
      {
        input_tokens: 1000,
        output_tokens: 100,
        total_tokens: 1100,
        input_token_details: {
          cached_tokens: 500,
          text_tokens: 300,
          audio_tokens: 700,
          cached_tokens_details: { text_tokens: 100, audio_tokens: 400 },
        },
        output_token_details: { audio_tokens: 100 },
      },
      {
        input_tokens: 1000,
        output_tokens: 100,
        cached_input_tokens: 500,
        audio_input_tokens: 700,
        audio_output_tokens: 100,
        cached_audio_input_tokens: 400,
      },
    ],
    [
      'Anthropic, cache by lifetime',
      'anthropic',
      {
        input_tokens: 870,
        cache_creation_input_tokens: 300,
        cache_read_input_tokens: 2000,
        cache_creation: { ephemeral_5m_input_tokens: 200, ephemeral_1h_input_tokens: 100 },
        output_tokens: 470,
        service_tier: 'standard',
        server_tool_use: { web_search_requests: 2 },
      },
      {
        input_tokens: 3170,
        output_tokens: 470,
        cached_input_tokens: 2000,
        cache_write_tokens: 300,
        cache_write_5m_tokens: 200,
        cache_write_1h_tokens: 100,
        web_search_calls: 2,
      },
    ],
    [
      'Anthropic, passes of one call',
      'anthropic',
      {
        input_tokens: 23000,
        output_tokens: 1000,
        cache_read_input_tokens: 0,
        iterations: [
          { type: 'compaction', input_tokens: 180000, output_tokens: 3500 },
          { type: 'message', input_tokens: 23000, output_tokens: 1000 },
        ],
      },
      { input_tokens: 203000, output_tokens: 4500 },
    ],
    [
      'Gemini, thoughts and a tool beside the rest',
      'gcp.gemini',
      {
        promptTokenCount: 1041,
        candidatesTokenCount: 902,
        thoughtsTokenCount: 2191,
        toolUsePromptTokenCount: 377545,
        cachedContentTokenCount: 256,
        totalTokenCount: 381679,
        promptTokensDetails: [{ modality: 'AUDIO', tokenCount: 40 }],
      },
      {
        input_tokens: 378586,
        output_tokens: 3093,
        reasoning_tokens: 2191,
        cached_input_tokens: 256,
        audio_input_tokens: 40,
      },
    ],
    [
      'Gemini, an interaction',
      'gcp.gemini',
      {
        total_tokens: 1316,
        total_input_tokens: 1000,
        input_tokens_by_modality: [
          { modality: 'text', tokens: 740 },
          { modality: 'image', tokens: 260 },
        ],
        total_cached_tokens: 400,
        cached_tokens_by_modality: [{ modality: 'image', tokens: 260 }],
        total_output_tokens: 90,
        total_tool_use_tokens: 26,
        total_thought_tokens: 200,
        grounding_tool_count: [{ type: 'google_search', count: 2 }],
      },
      {
        input_tokens: 1026,
        output_tokens: 290,
        reasoning_tokens: 200,
        cached_input_tokens: 400,
        image_input_tokens: 260,
        cached_image_input_tokens: 260,
        web_search_calls: 2,
      },
    ],
    [
      'Gemini, an interaction at Vertex AI',
      'gcp.vertex_ai',
      { totalInputTokens: 10, totalOutputTokens: 4, totalThoughtTokens: 2, totalCachedTokens: 3, totalTokens: 16 },
      { input_tokens: 10, output_tokens: 6, reasoning_tokens: 2, cached_input_tokens: 3 },
    ],
    [
      'Bedrock Converse',
      'aws.bedrock',
      {
        inputTokens: 200,
        outputTokens: 100,
        totalTokens: 6100,
        cacheReadInputTokens: 5000,
        cacheWriteInputTokens: 800,
      },
      { input_tokens: 6000, output_tokens: 100, cached_input_tokens: 5000, cache_write_tokens: 800 },
    ],
    [
      'DeepSeek',
      'deepseek',
      { prompt_tokens: 100, completion_tokens: 10, total_tokens: 110, prompt_cache_hit_tokens: 64 },
      { input_tokens: 100, output_tokens: 10, cached_input_tokens: 64 },
    ],
    [
      'xAI, reasoning beside the output',
      'xai',
      {
        prompt_tokens: 100,
        completion_tokens: 10,
        total_tokens: 160,
        completion_tokens_details: { reasoning_tokens: 50 },
      },
      { input_tokens: 100, output_tokens: 60, reasoning_tokens: 50 },
    ],
    [
      'Groq, the last part of a stream',
      'groq',
      { x_groq: { id: 'req_1', usage: { queue_time: 0.061, prompt_tokens: 18, completion_tokens: 439 } } },
      { input_tokens: 18, output_tokens: 439 },
    ],
    [
      'Cohere, what is billed',
      'cohere',
      { billed_units: { input_tokens: 5, output_tokens: 7 }, tokens: { input_tokens: 71, output_tokens: 9 } },
      { input_tokens: 5, output_tokens: 7 },
    ],
  ])('%s', (_, provider, usage, fields) => {
    expect(known(readUsage(statedOfProviderUsage(usage), native(provider)))).toEqual(fields)
  })
})

test('calls of one model are counted as each sender counts, whichever came before', () => {
  const model = 'claude-sonnet-4-5'
  const stated = { input: 649, output: 249, cacheRead: 2000 }
  const apart = otlp('ai', 'anthropic.messages', { model })
  const inside = otlp('opentelemetry.instrumentation.anthropic', 'anthropic', { model })
  const inputOf = (sender: UsageSender, usage: StatedUsage) => readUsage(usage, sender).input_tokens
  const [ofApart, ofInside] = [inputOf(apart, stated), inputOf(inside, { ...stated, input: 2649 })]
  expect([ofApart, ofInside]).toEqual([2649, 2649])
  fc.assert(
    fc.property(fc.array(fc.boolean(), { minLength: 2, maxLength: 8 }), (order) => {
      for (const isApart of order) {
        const input = isApart ? inputOf(apart, stated) : inputOf(inside, { ...stated, input: 2649 })
        expect(input).toBe(2649)
      }
    }),
  )
})
