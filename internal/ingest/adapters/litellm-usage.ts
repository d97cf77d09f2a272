import { SERVICE_TIERS, type ServiceTier, SPEEDS, type Speed } from '../../text/call-words.js'
import type { Selected } from '../../text/select-json.js'
import { aboveZero, countOf, objectOf, wholeInput } from './fields.js'

/**
 * The tokens of a LiteLLM payload. It writes 0 where it knows nothing; details are in `usage_object`, which some
 * versions write as the text that Python prints for it.
 */
export function usageOf(payload: Selected, metadata: Selected) {
  const usage = metadata['usage_object']
  const detail = (name: string, ...within: readonly string[]): number | undefined => {
    if (typeof usage === 'string') return printedCount(usage, name, within.at(-1))
    let inner = usage as Selected | undefined | null
    for (const each of within) inner = inner?.[each] as Selected | undefined | null
    return countOf(inner?.[name])
  }
  const input = countOf(payload['prompt_tokens']) ?? 0
  const output = countOf(payload['completion_tokens']) ?? 0
  const cached = aboveZero(detail('cache_read_input_tokens') ?? detail('cached_tokens', 'prompt_tokens_details'))
  const written = aboveZero(detail('cache_creation_input_tokens'))
  const whole = wholeInput(input, cached, written)
  return {
    ...((whole !== 0 || output > 0) && { input_tokens: whole, output_tokens: output }),
    cached_input_tokens: cached,
    cache_write_tokens: written,
    ...writesByLifetime(written, detail),
    reasoning_tokens: aboveZero(detail('reasoning_tokens', 'completion_tokens_details')),
    audio_input_tokens: aboveZero(detail('audio_tokens', 'prompt_tokens_details')),
    audio_output_tokens: aboveZero(detail('audio_tokens', 'completion_tokens_details')),
    image_input_tokens: aboveZero(detail('image_tokens', 'prompt_tokens_details')),
    image_output_tokens: aboveZero(detail('image_tokens', 'completion_tokens_details')),
    web_search_calls: aboveZero(detail('web_search_requests', 'server_tool_use')),
  }
}

/** Cache writes by their lifetime, unless they contradict their total. */
function writesByLifetime(
  written: number | undefined,
  detail: (name: string, ...within: readonly string[]) => number | undefined,
) {
  const [short, long] = ['5m', '1h'].map((lifetime) =>
    aboveZero(detail(`ephemeral_${lifetime}_input_tokens`, 'prompt_tokens_details', 'cache_creation_token_details')),
  )
  if (written === undefined || (short ?? 0) + (long ?? 0) > written) return {}
  return { cache_write_5m_tokens: short, cache_write_1h_tokens: long }
}

/**
 * The tier that served the call: as the provider states it, as LiteLLM priced it, or as the caller asked for it. Of the
 * latter, `auto` is only a wish.
 */
export function tierOf(payload: Selected, metadata: Selected): ServiceTier | undefined {
  const stated = [
    objectOf(metadata['usage_object'])['service_tier'],
    objectOf(payload['cost_breakdown'])['service_tier'],
    objectOf(payload['model_parameters'])['service_tier'],
  ]
  for (const value of stated) {
    const tier = value === 'default' ? 'standard' : SERVICE_TIERS.find((each) => each === value)
    if (tier !== undefined) return tier
  }
  return undefined
}

export const speedOf = (metadata: Selected): Speed | undefined => {
  const speed = objectOf(metadata['usage_object'])['speed']
  return SPEEDS.find((each) => each === speed)
}

/** Beyond it, it is no usage. */
const PRINTED_MAX = 4_096

/** `name=12` or `'name': 12`, in the first text behind `within`. */
function printedCount(printed: string, name: string, within = ''): number | undefined {
  if (printed.length > PRINTED_MAX) return undefined
  const from = printed.indexOf(within)
  if (from < 0) return undefined
  const end = within === '' ? printed.length : printed.indexOf(')', from) + 1 || printed.length
  const match = new RegExp(`\\b${name}['"]?\\s*[=:]\\s*(\\d{1,15})`).exec(printed.slice(from, end))
  return match === null ? undefined : Number(match[1])
}
