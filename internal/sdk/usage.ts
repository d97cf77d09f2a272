import { countIn, type ModelCall, member, textIn, tierIn } from './event.js'

/** What an answer of a provider says about itself. Only counts and names are read, never what was said. */
export type AnswerFacts = Pick<
  ModelCall,
  | 'served_model'
  | 'input_tokens'
  | 'output_tokens'
  | 'cached_input_tokens'
  | 'cache_write_tokens'
  | 'cache_write_5m_tokens'
  | 'cache_write_1h_tokens'
  | 'reasoning_tokens'
  | 'audio_input_tokens'
  | 'audio_output_tokens'
  | 'web_search_calls'
  | 'service_tier'
  | 'response_id'
>

/**
 * An answer, or a part of a streamed one, of OpenAI: chat completions, responses, embeddings. Input includes cache
 * reads.
 */
export function openAiFacts(answer: unknown): AnswerFacts {
  const usage = member(answer, 'usage')
  const [input, output] = [
    member(usage, 'prompt_tokens_details') ?? member(usage, 'input_tokens_details'),
    member(usage, 'completion_tokens_details') ?? member(usage, 'output_tokens_details'),
  ]
  return {
    served_model: textIn(answer, 'model'),
    input_tokens: countIn(usage, 'prompt_tokens') ?? countIn(usage, 'input_tokens'),
    output_tokens: countIn(usage, 'completion_tokens') ?? countIn(usage, 'output_tokens'),
    cached_input_tokens: countIn(input, 'cached_tokens'),
    reasoning_tokens: countIn(output, 'reasoning_tokens'),
    audio_input_tokens: countIn(input, 'audio_tokens'),
    audio_output_tokens: countIn(output, 'audio_tokens'),
    service_tier: tierIn(answer),
    response_id: textIn(answer, 'id'),
  }
}

/** A message of Anthropic, which counts cache reads and writes apart from the rest of the input. */
export function anthropicFacts(message: unknown): AnswerFacts {
  const usage = member(message, 'usage')
  const writes = member(usage, 'cache_creation')
  const [uncached, read, written] = [
    countIn(usage, 'input_tokens'),
    countIn(usage, 'cache_read_input_tokens'),
    countIn(usage, 'cache_creation_input_tokens'),
  ]
  return {
    served_model: textIn(message, 'model'),
    input_tokens: uncached === undefined ? undefined : uncached + (read ?? 0) + (written ?? 0),
    output_tokens: countIn(usage, 'output_tokens'),
    cached_input_tokens: read,
    cache_write_tokens: written,
    cache_write_5m_tokens: countIn(writes, 'ephemeral_5m_input_tokens'),
    cache_write_1h_tokens: countIn(writes, 'ephemeral_1h_input_tokens'),
    web_search_calls: countIn(member(usage, 'server_tool_use'), 'web_search_requests'),
    service_tier: tierIn(usage),
    response_id: textIn(message, 'id'),
  }
}

/** What is known after a further part of a stream: what it states replaces what was stated before. */
export function withFacts(known: AnswerFacts, more: AnswerFacts): AnswerFacts {
  const stated = Object.entries(more).filter(([, value]) => value !== undefined)
  return { ...known, ...Object.fromEntries(stated) }
}

/** A part of a stream of OpenAI: a chunk of a chat, or an event of the Responses API, which holds the response. */
export const openAiPartFacts = (part: unknown): AnswerFacts => openAiFacts(member(part, 'response') ?? part)

/**
 * An event of a stream of Anthropic: `message_start` has the message, `message_delta` has counts up to now. The input
 * is in the first; a later one repeats parts of it.
 */
export function anthropicPartFacts(event: unknown): AnswerFacts {
  const message = member(event, 'message')
  if (message !== undefined) return anthropicFacts(message)
  const usage = member(event, 'usage')
  return {
    output_tokens: countIn(usage, 'output_tokens'),
    web_search_calls: countIn(member(usage, 'server_tool_use'), 'web_search_requests'),
  }
}
