import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { KeyList } from '../../../../internal/ingest/otlp/key-list.js'
import { readTelemetry } from '../../../../internal/ingest/otlp/read-request.js'
import type { SpanEvent } from '../../../../internal/ingest/otlp/span-events.js'
import { asProtobuf, type PlainValue, tracesJson } from '../../../support/otlp.js'

const KEYS = new KeyList()
const CONTEXT = { tenantId: 'tnt_1', isGateway: false }
type Attributes = Readonly<Record<string, PlainValue>>

/** The event of a call that a sender describes so. */
async function eventOf(scope: string, attributes: Attributes, encoding: 'protobuf' | 'json' = 'protobuf') {
  const call = { 'gen_ai.operation.name': 'chat', 'gen_ai.request.model': 'm', ...attributes }
  const json = tracesJson([{ attributes: call }], { scope })
  const bytes = encoding === 'json' ? Buffer.from(JSON.stringify(json)) : asProtobuf('ExportTraceServiceRequest', json)
  const read = await readTelemetry(bytes, encoding, 'traces', KEYS, CONTEXT)
  if (typeof read === 'string') throw new Error(read)
  return read.events[0]?.event as SpanEvent
}

const COUNTERS = [
  'input_tokens',
  'output_tokens',
  'cached_input_tokens',
  'cache_write_tokens',
  'cache_write_5m_tokens',
  'cache_write_1h_tokens',
  'reasoning_tokens',
  'alternative_input_tokens',
  'usage_basis',
] as const
const countersOf = (event: SpanEvent) =>
  Object.fromEntries(COUNTERS.map((name) => [name, event[name]]).filter(([, value]) => value !== undefined))

const ANTHROPIC = { 'gen_ai.system': 'anthropic' }
const OPENAI = { 'gen_ai.system': 'openai' }

describe('recorded spans', () => {
  const READ = { input_tokens: 2961, output_tokens: 261, cached_input_tokens: 2000, cache_write_tokens: 300 }
  const BY_LIFETIME = { cache_write_5m_tokens: 200, cache_write_1h_tokens: 100 }
  const SEEN: readonly (readonly [client: string, scope: string, Attributes, object])[] = [
    [
      'AI SDK 5, stream of Anthropic: writes only as the provider said them',
      'ai',
      {
        'gen_ai.system': 'anthropic.messages',
        'ai.usage.inputTokens': 661,
        'ai.usage.outputTokens': 261,
        'ai.usage.totalTokens': 922,
        'ai.usage.cachedInputTokens': 2000,
        'ai.response.providerMetadata':
          '{"anthropic":{"usage":{"input_tokens":661,"cache_creation_input_tokens":300,"cache_read_input_tokens":2000,' +
          '"cache_creation":{"ephemeral_5m_input_tokens":200,"ephemeral_1h_input_tokens":100},"output_tokens":1,' +
          '"service_tier":"standard"},"stopSequence":null}}',
      },
      { ...READ, ...BY_LIFETIME },
    ],
    [
      'AI SDK 5, answer of Gemini: thoughts only as the provider said them',
      'ai',
      {
        'gen_ai.system': 'google.generative-ai',
        'ai.usage.promptTokens': 1151,
        'ai.usage.completionTokens': 251,
        'ai.response.providerMetadata':
          '{"google":{"groundingMetadata":{"webSearchQueries":["secret {\\"usage\\":{\\"promptTokenCount\\":1}}"]},' +
          '"usageMetadata":{"promptTokenCount":1151,"candidatesTokenCount":251,"thoughtsTokenCount":30,' +
          '"cachedContentTokenCount":256,"totalTokenCount":1432}}}',
      },
      { input_tokens: 1151, output_tokens: 281, cached_input_tokens: 256, reasoning_tokens: 30 },
    ],
    [
      'AI SDK 6, Anthropic',
      'ai',
      {
        'gen_ai.system': 'anthropic.messages',
        'gen_ai.usage.input_tokens': 2961,
        'gen_ai.usage.output_tokens': 261,
        'ai.usage.inputTokenDetails.noCacheTokens': 661,
        'ai.usage.inputTokenDetails.cacheReadTokens': 2000,
        'ai.usage.inputTokenDetails.cacheWriteTokens': 300,
        'ai.usage.totalTokens': 3222,
      },
      READ,
    ],
    ['AI SDK 5, embeddings', 'ai', { 'gen_ai.system': 'openai', 'ai.usage.tokens': 1153 }, { input_tokens: 1153 }],
    [
      "Anthropic's own client",
      'com.anthropic.sdk.python',
      {
        ...ANTHROPIC,
        'gen_ai.usage.input_tokens': 2961,
        'gen_ai.usage.output_tokens': 261,
        'gen_ai.usage.cache_write.input_tokens': 300,
        'gen_ai.usage.cache_read.input_tokens': 2000,
        'anthropic.usage.cache_creation.ephemeral_5m_input_tokens': 200,
        'anthropic.usage.cache_creation.ephemeral_1h_input_tokens': 100,
      },
      { ...READ, ...BY_LIFETIME },
    ],
    [
      'Pydantic AI',
      'pydantic-ai',
      {
        ...ANTHROPIC,
        'gen_ai.usage.input_tokens': 2961,
        'gen_ai.usage.output_tokens': 261,
        'gen_ai.usage.details.cache_write_tokens': 300,
        'gen_ai.usage.details.cache_read_tokens': 2000,
        'gen_ai.usage.details.ephemeral_1h_input_tokens': 100,
      },
      { ...READ, cache_write_1h_tokens: 100 },
    ],
    [
      'an exporter for Langfuse',
      'my-exporter',
      {
        ...OPENAI,
        'gen_ai.usage.input_tokens': 13675,
        'gen_ai.usage.output_tokens': 100,
        'gen_ai.usage.input_cached_tokens': 9216,
      },
      { input_tokens: 13675, output_tokens: 100, cached_input_tokens: 9216 },
    ],
    [
      "Logfire, with Anthropic's own object",
      'logfire.anthropic',
      {
        ...ANTHROPIC,
        'gen_ai.usage.input_tokens': 2961,
        'gen_ai.usage.output_tokens': 261,
        'gen_ai.usage.raw':
          '{"cache_creation":{"ephemeral_1h_input_tokens":100,"ephemeral_5m_input_tokens":200},' +
          '"cache_creation_input_tokens":300,"cache_read_input_tokens":2000,"input_tokens":661,"output_tokens":261}',
      },
      { ...READ, ...BY_LIFETIME },
    ],
    [
      'LangSmith, which prints a Python dictionary',
      'langsmith',
      {
        ...ANTHROPIC,
        'gen_ai.usage.input_tokens': 2961,
        'gen_ai.usage.output_tokens': 261,
        'gen_ai.usage.total_tokens': 3222,
        'gen_ai.usage.input_token_details':
          "{'cache_read': 2000, 'ephemeral_5m_input_tokens': 200, 'ephemeral_1h_input_tokens': 100}",
      },
      { ...READ, ...BY_LIFETIME },
    ],
    [
      'LangSmith, metadata only',
      'langsmith',
      {
        ...OPENAI,
        'gen_ai.usage.input_tokens': 1386,
        'gen_ai.usage.output_tokens': 486,
        'langsmith.metadata.usage_metadata':
          '{"input_tokens":1386,"output_tokens":486,"total_tokens":1872,"input_token_details":{"audio":0,"cache_read":256},"output_token_details":{"reasoning":30}}',
      },
      { input_tokens: 1386, output_tokens: 486, cached_input_tokens: 256, reasoning_tokens: 30 },
    ],
    [
      'MLflow',
      'mlflow.tracing.provider',
      {
        ...ANTHROPIC,
        'mlflow.chat.tokenUsage':
          '{"input_tokens": 2961, "output_tokens": 261, "total_tokens": 3222, "cache_read_input_tokens": 2000, ' +
          '"cache_creation_input_tokens": 300, "cache_creation_input_tokens_above_1hr": 100}',
      },
      { ...READ, cache_write_1h_tokens: 100 },
    ],
    [
      "LiteLLM's span",
      'litellm',
      {
        ...OPENAI,
        'gen_ai.usage.input_tokens': 1367,
        'gen_ai.usage.output_tokens': 467,
        'gen_ai.usage.total_tokens': 1834,
        'metadata.usage_object':
          "{'completion_tokens': 467, 'prompt_tokens': 1367, 'total_tokens': 1834, 'completion_tokens_details': " +
          "{'reasoning_tokens': 12, 'text_tokens': None}, 'prompt_tokens_details': {'audio_tokens': 0, 'cached_tokens': 256}}",
      },
      { input_tokens: 1367, output_tokens: 467, cached_input_tokens: 256, reasoning_tokens: 12 },
    ],
    [
      'LiteLLM, a stream without usage',
      'litellm',
      { ...OPENAI, 'gen_ai.usage.input_tokens': 0, 'gen_ai.usage.output_tokens': 0, 'gen_ai.usage.total_tokens': 0 },
      {},
    ],
    [
      "Langfuse, OpenAI's object",
      'langfuse-sdk',
      {
        ...OPENAI,
        'langfuse.observation.type': 'generation',
        'langfuse.observation.usage_details':
          '{"completion_tokens": 234, "prompt_tokens": 1134, "total_tokens": 1368, "completion_tokens_details": ' +
          '{"reasoning_tokens": 10}, "prompt_tokens_details": {"audio_tokens": 0, "cached_tokens": 256}}',
      },
      { input_tokens: 1134, output_tokens: 234, cached_input_tokens: 256, reasoning_tokens: 10 },
    ],
    [
      'Langfuse, kinds of tokens each once',
      'langfuse-sdk',
      {
        ...ANTHROPIC,
        'langfuse.observation.type': 'generation',
        'langfuse.observation.usage_details':
          '{"input":661,"output":261,"cache_read_input_tokens":2000,"cache_creation_input_tokens":300,"total":3222}',
      },
      READ,
    ],
    [
      'Strands, Bedrock',
      'strands.telemetry.tracer',
      {
        ...ANTHROPIC,
        'gen_ai.usage.input_tokens': 2961,
        'gen_ai.usage.output_tokens': 261,
        'gen_ai.usage.total_tokens': 3222,
        'gen_ai.usage.cache_read_input_tokens': 2000,
        'gen_ai.usage.cache_write_input_tokens': 300,
      },
      READ,
    ],
    [
      'botocore, Bedrock Converse',
      'opentelemetry.instrumentation.botocore.bedrock-runtime',
      {
        'gen_ai.system': 'aws.bedrock',
        'gen_ai.usage.input_tokens': 11104,
        'gen_ai.usage.output_tokens': 704,
        'gen_ai.usage.cache_read.input_tokens': 2000,
        'gen_ai.usage.cache_creation.input_tokens': 300,
      },
      { input_tokens: 13404, output_tokens: 704, cached_input_tokens: 2000, cache_write_tokens: 300 },
    ],
    [
      'OpenLIT, a stream without usage',
      'openlit.instrumentation.openai',
      {
        ...OPENAI,
        'gen_ai.request.stream': true,
        'gen_ai.usage.input_tokens': 13,
        'gen_ai.usage.output_tokens': 14,
        'gen_ai.client.token.usage': 27,
      },
      { input_tokens: 13, output_tokens: 14, usage_basis: 'estimated' },
    ],
    [
      'a span by hand, which nothing settles',
      'my-app',
      { ...ANTHROPIC, 'gen_ai.usage.input_tokens': 9000, 'gen_ai.usage.cache_read.input_tokens': 2000 },
      { input_tokens: 9000, cached_input_tokens: 2000, alternative_input_tokens: 11000 },
    ],
  ]
  test.each(SEEN)('%s', async (_, scope, attributes, counters) => {
    const event = await eventOf(scope, attributes)
    expect(countersOf(event)).toEqual(counters)
    expect(countersOf(await eventOf(scope, attributes, 'json'))).toEqual(counters)
    expect(JSON.stringify(event)).not.toContain('secret')
  })
})

interface Bill {
  readonly uncached: number
  readonly read: number
  readonly short: number
  readonly long: number
  readonly answer: number
  readonly reasoning: number
}

const written = ({ short, long }: Bill): number => short + long
const input = (bill: Bill): number => bill.uncached + bill.read + written(bill)
const output = ({ answer, reasoning }: Bill): number => answer + reasoning
const cacheKeys = (bill: Bill, [read, write]: readonly [string, string], long: string): Attributes => ({
  [read]: bill.read,
  [write]: written(bill),
  [long]: bill.long,
})
const LONG = 'anthropic.usage.cache_creation.ephemeral_1h_input_tokens'

/** Senders that state all that is billed, each in its own way. */
const SENDERS: Readonly<Record<string, readonly [scope: string, stated: (bill: Bill) => Attributes]>> = {
  conventional: [
    'opentelemetry.instrumentation.genai.anthropic',
    (bill) => ({
      ...ANTHROPIC,
      'gen_ai.usage.input_tokens': input(bill),
      'gen_ai.usage.output_tokens': output(bill),
      'gen_ai.usage.reasoning.output_tokens': bill.reasoning,
      ...cacheKeys(bill, ['gen_ai.usage.cache_read.input_tokens', 'gen_ai.usage.cache_write.input_tokens'], LONG),
    }),
  ],
  passedOn: [
    'openlit.instrumentation.anthropic',
    (bill) => ({
      ...ANTHROPIC,
      'gen_ai.usage.input_tokens': bill.uncached,
      'gen_ai.usage.output_tokens': output(bill),
      'gen_ai.usage.total_tokens': bill.uncached + output(bill),
      'gen_ai.usage.reasoning_tokens': bill.reasoning,
      ...cacheKeys(bill, ['gen_ai.usage.cache_read.input_tokens', 'gen_ai.usage.cache_creation.input_tokens'], LONG),
    }),
  ],
  openInference: [
    '@arizeai/openinference-instrumentation-langchain',
    (bill) => ({
      ...ANTHROPIC,
      'llm.token_count.prompt': input(bill),
      'llm.token_count.completion': output(bill),
      'llm.token_count.total': input(bill) + output(bill),
      'llm.token_count.completion_details.reasoning': bill.reasoning,
      ...cacheKeys(
        bill,
        ['llm.token_count.prompt_details.cache_read', 'llm.token_count.prompt_details.cache_write'],
        LONG,
      ),
    }),
  ],
  handWrittenWithTotal: [
    'billing-app',
    (bill) => ({
      ...OPENAI,
      'gen_ai.usage.input_tokens': bill.uncached,
      'gen_ai.usage.output_tokens': output(bill),
      'gen_ai.usage.total_tokens': input(bill) + output(bill),
      'gen_ai.usage.reasoning_tokens': bill.reasoning,
      ...cacheKeys(bill, ['gen_ai.usage.cache_read_input_tokens', 'gen_ai.usage.cache_creation_input_tokens'], LONG),
    }),
  ],
  providersObject: [
    'logfire.anthropic',
    (bill) => ({
      ...ANTHROPIC,
      'gen_ai.usage.raw': JSON.stringify({
        output_tokens: output(bill),
        output_tokens_details: { thinking_tokens: bill.reasoning },
        input_tokens: bill.uncached,
        cache_read_input_tokens: bill.read,
        cache_creation_input_tokens: written(bill),
        cache_creation: { ephemeral_1h_input_tokens: bill.long, ephemeral_5m_input_tokens: bill.short },
      }),
    }),
  ],
  langfuse: [
    'langfuse-sdk',
    (bill) => ({
      ...ANTHROPIC,
      'langfuse.observation.usage_details': JSON.stringify({
        input: bill.uncached,
        input_cache_read: bill.read,
        input_cache_creation: written(bill),
        input_cache_creation_ephemeral_1h: bill.long,
        output: bill.answer,
        output_reasoning: bill.reasoning,
      }),
    }),
  ],
}

test('whoever sends it, in whatever order, the counters are those that were billed', async () => {
  const count = fc.integer({ min: 0, max: 20_000 })
  const bill = fc.record({
    uncached: fc.integer({ min: 1, max: 20_000 }),
    read: count,
    short: count,
    long: count,
    answer: fc.integer({ min: 1, max: 5_000 }),
    reasoning: fc.integer({ min: 0, max: 5_000 }),
  })
  const order = fc.infiniteStream(fc.nat())
  const sender = fc.constantFrom(...Object.keys(SENDERS))
  await fc.assert(
    fc.asyncProperty(bill, sender, order, fc.boolean(), async (call, name, random, isJson) => {
      const [scope, stated] = SENDERS[name] as (typeof SENDERS)[string]
      const attributes = Object.entries(stated(call))
        .map((attribute) => ({ attribute, place: random.next().value ?? 0 }))
        .sort((a, b) => a.place - b.place)
        .map(({ attribute }) => attribute)
      const event = await eventOf(scope, Object.fromEntries(attributes), isJson ? 'json' : 'protobuf')
      const isSettled = event.alternative_input_tokens === undefined
      if (!isSettled) {
        // Its total says the same of a cache inside and reasoning apart, where both are equally many.
        expect(name).toBe('handWrittenWithTotal')
        expect([call.read, call.read + written(call)]).toContain(call.reasoning)
        return
      }
      expect(event).toMatchObject({ input_tokens: input(call), output_tokens: output(call) })
      expect(event.cached_input_tokens ?? 0).toBe(call.read)
      expect(event.cache_write_tokens ?? 0).toBe(written(call))
      expect(event.cache_write_1h_tokens ?? 0).toBe(call.long)
      expect(event.reasoning_tokens ?? 0).toBe(call.reasoning)
    }),
  )
})
