/** What answers say about their usage, in all the forms that the client libraries send on. */
export interface StatedUsageCase {
  readonly name: string
  readonly provider: string
  /** Of a stream: its parts. */
  readonly parts: readonly object[]
  /** As the service counts it. */
  readonly counters: Readonly<Record<string, number>>
}

const stated = (
  name: string,
  provider: string,
  parts: readonly object[],
  counters: StatedUsageCase['counters'],
): StatedUsageCase => ({ name, provider, parts, counters })

export const STATED_USAGES: readonly StatedUsageCase[] = [
  stated(
    'OpenAI, chat',
    'openai',
    [
      {
        usage: {
          prompt_tokens: 1_200,
          completion_tokens: 300,
          total_tokens: 1_500,
          prompt_tokens_details: { cached_tokens: 1_000, audio_tokens: 0 },
          completion_tokens_details: { reasoning_tokens: 128 },
        },
      },
    ],
    { input_tokens: 1_200, output_tokens: 300, cached_input_tokens: 1_000, reasoning_tokens: 128 },
  ),
  stated(
    'OpenAI, a streamed response',
    'openai',
    [
      { type: 'response.created', response: { id: 'resp_1', usage: null } },
      {
        type: 'response.completed',
        response: {
          id: 'resp_1',
          usage: { input_tokens: 700, output_tokens: 80, input_tokens_details: { cached_tokens: 64 } },
        },
      },
    ],
    { input_tokens: 700, output_tokens: 80, cached_input_tokens: 64 },
  ),
  stated('OpenAI, embeddings', 'openai', [{ object: 'list', usage: { prompt_tokens: 9, total_tokens: 9 } }], {
    input_tokens: 9,
  }),
  stated(
    'OpenAI, images',
    'openai',
    [
      {
        usage: {
          input_tokens: 50,
          input_tokens_details: { text_tokens: 10, image_tokens: 40 },
          output_tokens: 272,
          total_tokens: 322,
        },
      },
    ],
    { input_tokens: 50, output_tokens: 272, image_input_tokens: 40 },
  ),
  stated(
    'OpenAI, a transcript',
    'openai',
    [{ usage: { type: 'tokens', input_tokens: 14, input_token_details: { audio_tokens: 4 }, output_tokens: 45 } }],
    { input_tokens: 14, output_tokens: 45, audio_input_tokens: 4 },
  ),
  stated(
    'OpenAI, realtime',
    'openai',
    [
      {
        type: 'response.done',
        response: {
          usage: {
            input_tokens: 1_000,
            output_tokens: 100,
            input_token_details: {
              cached_tokens: 500,
              audio_tokens: 700,
              cached_tokens_details: { audio_tokens: 400 },
            },
          },
        },
      },
    ],
    {
      input_tokens: 1_000,
      output_tokens: 100,
      cached_input_tokens: 500,
      audio_input_tokens: 700,
      cached_audio_input_tokens: 400,
    },
  ),
  stated(
    'Anthropic, a stream',
    'anthropic',
    [
      {
        type: 'message_start',
        message: {
          id: 'msg_1',
          usage: {
            input_tokens: 100,
            cache_read_input_tokens: 2_000,
            cache_creation_input_tokens: 500,
            cache_creation: { ephemeral_5m_input_tokens: 400, ephemeral_1h_input_tokens: 100 },
            output_tokens: 1,
          },
        },
      },
      { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 250 } },
      { type: 'message_stop' },
    ],
    {
      input_tokens: 2_600,
      output_tokens: 250,
      cached_input_tokens: 2_000,
      cache_write_tokens: 500,
      cache_write_1h_tokens: 100,
    },
  ),
  stated(
    'Gemini',
    'gemini',
    [
      {
        modelVersion: 'gemini-2.5-pro',
        usageMetadata: {
          promptTokenCount: 1_000,
          candidatesTokenCount: 90,
          thoughtsTokenCount: 200,
          cachedContentTokenCount: 400,
          totalTokenCount: 1_290,
          promptTokensDetails: [{ modality: 'AUDIO', tokenCount: 40 }],
        },
      },
    ],
    {
      input_tokens: 1_000,
      output_tokens: 290,
      cached_input_tokens: 400,
      reasoning_tokens: 200,
      audio_input_tokens: 40,
    },
  ),
  stated('Gemini, live', 'gemini', [{ usageMetadata: { promptTokenCount: 3, responseTokenCount: 4 } }], {
    input_tokens: 3,
    output_tokens: 4,
  }),
  stated(
    'Gemini, an interaction',
    'gemini',
    [{ interaction: { usage: { total_input_tokens: 10, total_output_tokens: 6, total_thought_tokens: 3 } } }],
    { input_tokens: 10, output_tokens: 9, reasoning_tokens: 3 },
  ),
  stated(
    'xAI',
    'xai',
    [
      {
        usage: {
          prompt_tokens: 100,
          completion_tokens: 10,
          total_tokens: 160,
          completion_tokens_details: { reasoning_tokens: 50 },
        },
      },
    ],
    { input_tokens: 100, output_tokens: 60, reasoning_tokens: 50 },
  ),
  stated(
    'Groq, a streamed chat that was not asked for its usage',
    'groq',
    [
      { id: 'chatcmpl-1', model: 'openai/gpt-oss-20b', choices: [{ index: 0 }], x_groq: { id: 'req_1' } },
      {
        id: 'chatcmpl-1',
        choices: [{ index: 0, delta: {}, finish_reason: 'stop' }],
        x_groq: {
          id: 'req_1',
          usage: {
            queue_time: 0.061,
            prompt_tokens: 18,
            completion_tokens: 439,
            total_tokens: 457,
            completion_tokens_details: { reasoning_tokens: 20 },
          },
        },
      },
    ],
    { input_tokens: 18, output_tokens: 439, reasoning_tokens: 20 },
  ),
  stated(
    'Groq, a streamed chat that was asked for its usage',
    'groq',
    [
      { id: 'chatcmpl-1', choices: [{ index: 0 }], x_groq: { id: 'req_1', usage: { prompt_tokens: 18 } } },
      { id: 'chatcmpl-1', choices: [], usage: { prompt_tokens: 18, completion_tokens: 439 } },
    ],
    { input_tokens: 18, output_tokens: 439 },
  ),
  stated(
    'Cohere, chat',
    'cohere',
    [{ usage: { billed_units: { input_tokens: 5, output_tokens: 7 }, tokens: { input_tokens: 71 } } }],
    { input_tokens: 5, output_tokens: 7 },
  ),
  stated(
    'Cohere, a streamed chat',
    'cohere',
    [
      { id: 'c1', type: 'message-start', delta: { message: { role: 'assistant', content: [] } } },
      { type: 'content-delta', index: 0, delta: { message: { content: { text: '"usage":' } } } },
      {
        type: 'message-end',
        id: 'c1',
        delta: {
          finish_reason: 'COMPLETE',
          usage: {
            billed_units: { input_tokens: 3, output_tokens: 6 },
            tokens: { input_tokens: 69, output_tokens: 6 },
          },
        },
      },
    ],
    { input_tokens: 3, output_tokens: 6 },
  ),
  stated(
    'Cohere, a streamed chat of its first version',
    'cohere',
    [
      { is_finished: false, event_type: 'text-generation', text: 'a' },
      {
        is_finished: true,
        event_type: 'stream-end',
        response: { response_id: 'r', meta: { billed_units: { input_tokens: 3, output_tokens: 6 } } },
      },
    ],
    { input_tokens: 3, output_tokens: 6 },
  ),
  stated('Cohere, embeddings', 'cohere', [{ meta: { billed_units: { input_tokens: 9 } } }], { input_tokens: 9 }),
  stated('Voyage, embeddings', 'voyage', [{ object: 'list', usage: { total_tokens: 9 } }], { input_tokens: 9 }),
  stated(
    'Bedrock, the form of Nova',
    'bedrock',
    [{ usage: { inputTokens: 4, outputTokens: 10, totalTokens: 17, cacheReadInputTokenCount: 3 } }],
    { input_tokens: 7, output_tokens: 10, cached_input_tokens: 3 },
  ),
  stated(
    'Bedrock, the end of a stream',
    'bedrock',
    [
      { generation: '', generation_token_count: 86 },
      { 'amazon-bedrock-invocationMetrics': { inputTokenCount: 21, outputTokenCount: 86, invocationLatency: 1_870 } },
    ],
    { input_tokens: 21, output_tokens: 86 },
  ),
  stated(
    'Bedrock, the end of a stream with a cache',
    'bedrock',
    [
      {
        'amazon-bedrock-invocationMetrics': {
          inputTokenCount: 21,
          outputTokenCount: 86,
          cacheReadInputTokenCount: 1_000,
          cacheWriteInputTokenCount: 50,
        },
      },
    ],
    { input_tokens: 1_071, output_tokens: 86, cached_input_tokens: 1_000, cache_write_tokens: 50 },
  ),
  stated(
    'Bedrock, the end of a stream of a model that states its usage',
    'bedrock',
    [
      { usage: { prompt_tokens: 20, completion_tokens: 80 } },
      { 'amazon-bedrock-invocationMetrics': { inputTokenCount: 21, outputTokenCount: 86 } },
    ],
    { input_tokens: 20, output_tokens: 80 },
  ),
]

/** Those of clients that Python does not wrap. */
export const STATED_TO_JAVASCRIPT: readonly StatedUsageCase[] = [
  stated(
    'Bedrock, Converse',
    'bedrock',
    [
      {
        usage: {
          inputTokens: 200,
          outputTokens: 100,
          totalTokens: 6_100,
          cacheReadInputTokens: 5_000,
          cacheWriteInputTokens: 800,
          cacheDetails: [{ ttl: '1h', inputTokens: 800 }],
        },
      },
    ],
    {
      input_tokens: 6_000,
      output_tokens: 100,
      cached_input_tokens: 5_000,
      cache_write_tokens: 800,
      cache_write_1h_tokens: 800,
    },
  ),
  stated('Bedrock, headers', 'bedrock', [{ usage: { inputTokens: 7, outputTokens: 5 } }], {
    input_tokens: 7,
    output_tokens: 5,
  }),
  stated('AI SDK 5', 'openai', [{ usage: { inputTokens: 3, outputTokens: 2, totalTokens: 5, cachedInputTokens: 1 } }], {
    input_tokens: 3,
    output_tokens: 2,
    cached_input_tokens: 1,
  }),
  stated(
    'AI SDK 6',
    'anthropic',
    [
      {
        usage: {
          inputTokens: { total: 10, noCache: 6, cacheRead: 3, cacheWrite: 1 },
          outputTokens: { total: 5, text: 3, reasoning: 2 },
        },
      },
    ],
    { input_tokens: 10, output_tokens: 5, cached_input_tokens: 3, cache_write_tokens: 1, reasoning_tokens: 2 },
  ),
  stated('AI SDK, embeddings', 'bedrock', [{ usage: { tokens: 9 } }], { input_tokens: 9 }),
]
