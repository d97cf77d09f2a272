import type { StatedUsage, UsageApi } from './stated-usage.js'

type Members = Readonly<Record<string, unknown>>

/**
 * A provider's own usage object: OpenAI's in all its forms and that of those who speak it (Mistral, DeepSeek, Groq,
 * OpenRouter, xAI, Cohere's tokens), Anthropic's, Gemini's and Bedrock's; or what the AI SDK makes of these. Only
 * numbers are taken of it.
 */
export function statedOfProviderUsage(usage: object): StatedUsage {
  const members = usage as Members
  const inner =
    objectIn(members, 'usageMetadata', 'usage_metadata', 'usage') ?? objectIn(objectIn(members, 'x_groq'), 'usage')
  if (inner !== undefined) return statedOfProviderUsage(inner)
  const api = apiOf(members)
  if (api === 'gemini') return geminiUsage(members)
  if (api === 'bedrock_converse') return converseUsage(members)
  return api === 'anthropic' ? anthropicUsage(members) : openAiUsage(members)
}

/** The same names in an object of a sender's own making: how it counts is the sender's convention. */
export function statedOfSenderUsage(usage: object): StatedUsage {
  return { ...openAiUsage(usage as Members), api: undefined }
}

function apiOf(usage: Members): UsageApi {
  for (const key of Object.keys(usage)) {
    if (GEMINI_KEYS.has(key)) return 'gemini'
    if (key.startsWith('cache_creation') || key === 'cache_read_input_tokens' || key === 'iterations') {
      return usage['prompt_tokens'] === undefined ? 'anthropic' : 'openai'
    }
    if (BEDROCK_KEY.test(key)) return 'bedrock_converse'
  }
  return 'openai'
}
/** Of Converse with a cache, and of the metrics that Bedrock adds at the end of a stream. */
const BEDROCK_KEY = /^(?:cache(?:Read|Write)|(?:in|out)putTokenCount)/
const GEMINI_KEYS = new Set([
  'promptTokenCount',
  'prompt_token_count',
  'totalTokenCount',
  'total_token_count',
  'candidatesTokenCount',
  'candidates_token_count',
  // Of its Interactions API.
  'total_input_tokens',
  'totalInputTokens',
  'total_output_tokens',
  'totalOutputTokens',
])

function anthropicUsage(usage: Members): StatedUsage {
  const writes = objectIn(usage, 'cache_creation')
  const tools = objectIn(usage, 'server_tool_use')
  const passes = listIn(usage, 'iterations')
  return {
    api: 'anthropic',
    input: countIn(usage, 'input_tokens'),
    output: countIn(usage, 'output_tokens'),
    total: countIn(usage, 'total_tokens'),
    cacheRead: countIn(usage, 'cache_read_input_tokens'),
    cacheWrite: countIn(usage, 'cache_creation_input_tokens'),
    cacheWrite5m: countIn(writes, 'ephemeral_5m_input_tokens'),
    cacheWrite1h: countIn(writes, 'ephemeral_1h_input_tokens'),
    reasoning: countIn(objectIn(usage, 'output_tokens_details'), 'thinking_tokens', 'reasoning_tokens'),
    webSearchCalls: countIn(tools, 'web_search_requests'),
    codeExecutionCalls: countIn(tools, 'code_execution_requests'),
    passes: passes.length === 0 ? undefined : passes.map(anthropicUsage),
  }
}

function openAiUsage(usage: Members): StatedUsage {
  const input = objectIn(usage, 'prompt_tokens_details', 'input_tokens_details', 'input_token_details', 'inputTokens')
  const output = objectIn(
    usage,
    ...['completion_tokens_details', 'output_tokens_details', 'output_token_details', 'outputTokens'],
  )
  const cached = objectIn(input, 'cached_tokens_details')
  const writes = objectIn(usage, 'cache_creation') ?? objectIn(input, 'cache_creation_token_details') ?? input
  // Cohere bills other counts than those of the model's tokens, and states both.
  const billed = objectIn(usage, 'billed_units')
  const tokens = countIn(billed, 'input_tokens') === undefined ? (objectIn(usage, 'tokens') ?? usage) : billed
  return {
    api: 'openai',
    // The AI SDK states those of embeddings as `tokens`, and since version 6 a total beside its parts.
    input: countIn(tokens, 'prompt_tokens', 'input_tokens', 'inputTokens', 'tokens') ?? countIn(input, 'total'),
    output: countIn(tokens, 'completion_tokens', 'output_tokens', 'outputTokens') ?? countIn(output, 'total'),
    total: countIn(usage, 'total_tokens', 'totalTokens'),
    cacheRead: aboveZero(
      countIn(input, 'cached_tokens', 'cache_read', 'cacheRead'),
      countIn(usage, 'cache_read_input_tokens', 'prompt_cache_hit_tokens', ...CACHED),
    ),
    cacheWrite: aboveZero(
      countIn(input, 'cache_write_tokens', 'cache_creation_tokens', 'cache_creation', 'cacheWrite'),
      countIn(usage, 'cache_creation_input_tokens', 'cache_write_input_tokens'),
    ),
    cacheWrite5m: countIn(writes, 'ephemeral_5m_input_tokens'),
    cacheWrite1h:
      countIn(writes, 'ephemeral_1h_input_tokens') ?? countIn(usage, 'cache_creation_input_tokens_above_1hr'),
    reasoning:
      countIn(output, 'reasoning_tokens', 'reasoning') ?? countIn(usage, 'reasoning_tokens', 'reasoningTokens'),
    audioInput: countIn(input, 'audio_tokens', 'audio'),
    audioOutput: countIn(output, 'audio_tokens', 'audio'),
    imageInput: countIn(input, 'image_tokens', 'image'),
    imageOutput: countIn(output, 'image_tokens', 'image'),
    cachedAudioInput: countIn(cached, 'audio_tokens'),
    cachedImageInput: countIn(cached, 'image_tokens'),
    webSearchCalls:
      countIn(objectIn(usage, 'server_tool_use', 'server_tool_use_details'), 'web_search_requests') ??
      countIn(usage, 'num_search_queries'),
  }
}

/** Moonshot and Mistral, and senders. */
const CACHED = ['cached_tokens', 'num_cached_tokens', 'cached_input_tokens', 'cachedInputTokens']

/** LiteLLM states 0 of what it has under the other name. */
const aboveZero = (count: number | undefined, other: number | undefined): number | undefined =>
  count === undefined || (count === 0 && other !== undefined) ? other : count

/** Of content that is generated, and of an interaction. */
function geminiUsage(usage: Members): StatedUsage {
  const count = (...names: readonly string[]): number | undefined => countIn(usage, ...inBothCases(names))
  const of = (modality: string, ...names: readonly string[]): number | undefined =>
    modalityCount(usage, inBothCases(names), modality)
  return {
    api: 'gemini',
    input: count('promptTokenCount', 'totalInputTokens'),
    // In a session of the Live API, the answer is called the response.
    output: count('candidatesTokenCount', 'responseTokenCount', 'totalOutputTokens'),
    total: count('totalTokenCount', 'totalTokens'),
    cacheRead: count('cachedContentTokenCount', 'totalCachedTokens'),
    reasoning: count('thoughtsTokenCount', 'totalThoughtTokens'),
    toolUseInput: count('toolUsePromptTokenCount', 'totalToolUseTokens'),
    audioInput: of('AUDIO', 'promptTokensDetails', 'inputTokensByModality'),
    audioOutput: of('AUDIO', 'candidatesTokensDetails', 'responseTokensDetails', 'outputTokensByModality'),
    imageInput: of('IMAGE', 'promptTokensDetails', 'inputTokensByModality'),
    imageOutput: of('IMAGE', 'candidatesTokensDetails', 'responseTokensDetails', 'outputTokensByModality'),
    cachedAudioInput: of('AUDIO', 'cacheTokensDetails', 'cachedTokensByModality'),
    cachedImageInput: of('IMAGE', 'cacheTokensDetails', 'cachedTokensByModality'),
    webSearchCalls: searches(usage),
  }
}

function modalityCount(usage: Members, names: readonly string[], modality: string): number | undefined {
  const details = names.flatMap((name) => listIn(usage, name))
  const one = details.find((detail) => String(detail['modality']).toUpperCase() === modality)
  return countIn(one, 'tokenCount', 'token_count', 'tokens')
}

/** What an interaction asked Google's search. */
function searches(usage: Members): number | undefined {
  const counts = inBothCases(['groundingToolCount']).flatMap((name) => listIn(usage, name))
  return countIn(
    counts.find(({ type }) => String(type).toLowerCase() === 'google_search'),
    'count',
  )
}

const inBothCases = (names: readonly string[]): string[] => names.flatMap((name) => [name, snakeCase(name)])
const snakeCase = (name: string): string => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)

function converseUsage(usage: Members): StatedUsage {
  return {
    api: 'bedrock_converse',
    input: countIn(usage, 'inputTokens', 'inputTokenCount'),
    output: countIn(usage, 'outputTokens', 'outputTokenCount'),
    total: countIn(usage, 'totalTokens', 'totalTokenCount'),
    cacheRead: countIn(usage, 'cacheReadInputTokens', 'cacheReadInputTokenCount', 'cacheReadInputTokensCount'),
    cacheWrite: countIn(usage, 'cacheWriteInputTokens', 'cacheWriteInputTokenCount', 'cacheWriteInputTokensCount'),
    cacheWrite1h: longWrites(listIn(usage, 'cacheDetails')),
  }
}

/** Converse lists cache writes by their lifetime. */
function longWrites(details: readonly Members[]): number | undefined {
  return countIn(
    details.find((detail) => detail['ttl'] === '1h'),
    'inputTokens',
  )
}

/** The first that is a count. */
function countIn(members: Members | undefined, ...names: readonly string[]): number | undefined {
  for (const name of names) {
    const value = members?.[name]
    if (typeof value === 'number' && Number.isSafeInteger(value) && value >= 0) return value
  }
  return undefined
}

function objectIn(members: Members | undefined, ...names: readonly string[]): Members | undefined {
  for (const name of names) {
    const value = members?.[name]
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Members
  }
  return undefined
}

function listIn(members: Members, name: string): Members[] {
  const value = members[name]
  return Array.isArray(value) ? value.filter((each) => typeof each === 'object' && each !== null) : []
}
