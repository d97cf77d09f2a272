import { SERVICE_TIERS, type ServiceTier, SPEEDS, type Speed } from '../../text/call-words.js'
import type { Selected, Wanted } from '../../text/select-json.js'
import { type UnitQuantities, unitsOfUsage } from '../../usage/billed-units.js'
import { numbersOf } from '../../usage/printed-numbers.js'
import { statedOfSenderUsage } from '../../usage/provider-usage.js'
import { readUsage } from '../../usage/read-usage.js'
import type { StatedUsage, UsageFields } from '../../usage/stated-usage.js'
import { aboveZero, countOf, objectOf } from './fields.js'
import { COST_WANTED } from './litellm-cost.js'

/** LiteLLM writes every provider's counts under OpenAI's names, and Anthropic's beside them. */
export const USAGE_WANTED = {
  ...COST_WANTED,
  prompt_tokens: 'value',
  completion_tokens: 'value',
  total_tokens: 'value',
  cache_read_input_tokens: 'value',
  cache_creation_input_tokens: 'value',
  prompt_cache_hit_tokens: 'value',
  service_tier: 'value',
  speed: 'value',
  inference_geo: 'value',
  prompt_tokens_details: {
    cached_tokens: 'value',
    cache_write_tokens: 'value',
    cache_creation_tokens: 'value',
    audio_tokens: 'value',
    image_tokens: 'value',
    tool_use_tokens: 'value',
    web_search_requests: 'value',
    cached_tokens_details: { audio_tokens: 'value', image_tokens: 'value' },
    cache_creation_token_details: { ephemeral_5m_input_tokens: 'value', ephemeral_1h_input_tokens: 'value' },
  },
  completion_tokens_details: { reasoning_tokens: 'value', audio_tokens: 'value', image_tokens: 'value' },
  server_tool_use: { web_search_requests: 'value' },
  seconds: 'value',
  output_image_count: 'value',
  pages_processed: 'value',
  input_characters: 'value',
} as const satisfies Wanted

/** Reranks and OCR state what they are billed by in the answer only, of which nothing else is read. */
export const ANSWERED_UNITS_WANTED = {
  meta: { billed_units: { search_units: 'value' } },
  usage_info: { pages_processed: 'value' },
} as const satisfies Wanted

/**
 * What LiteLLM counts, in totals beside the usage object and in it; some versions write that as the text that Python
 * prints for it. 0 and 0 mean that it knows nothing.
 */
export function usageOf(payload: Selected, metadata: Selected, provider: string, model: string): LitellmUsage {
  const object = usageObject(metadata)
  const ofObject = statedOfSenderUsage(object)
  const details = objectOf(object['prompt_tokens_details'])
  const [inputBeside, outputBeside] = [countOf(payload['prompt_tokens']), countOf(payload['completion_tokens'])]
  const isBeside = (inputBeside ?? 0) + (outputBeside ?? 0) > 0
  const [input, output] = isBeside ? [inputBeside, outputBeside] : [ofObject.input, ofObject.output]
  const stated: StatedUsage = {
    ...withoutZeros(ofObject),
    input,
    output,
    total: totalOf(aboveZero(countOf(payload['total_tokens'])) ?? ofObject.total, input, output, details),
    webSearchCalls: aboveZero(ofObject.webSearchCalls ?? countOf(details['web_search_requests'])),
  }
  const fields = readUsage(stated, { surface: 'litellm', name: 'litellm', provider, model })
  const isCounted = fields.input_tokens !== undefined || fields.output_tokens !== undefined
  // What the tokens of images or audio cost is in the price of tokens; what LiteLLM counts beside them is not billed.
  return isCounted ? fields : { ...fields, billed_units: unitsOfUsage({ ...objectOf(payload['response']), ...object }) }
}

export type LitellmUsage = UsageFields & { readonly billed_units?: UnitQuantities | undefined }

function usageObject(metadata: Selected): Selected {
  const usage = metadata['usage_object']
  if (typeof usage !== 'string') return objectOf(usage)
  const bytes = Buffer.from(usage)
  return bytes.length > PRINTED_BYTES_MAX ? {} : (numbersOf(bytes, 0, bytes.length) ?? {})
}
/** Beyond it, it is no usage. */
const PRINTED_BYTES_MAX = 4_096

/** Zero of a part says no more than that it is absent. */
function withoutZeros(stated: StatedUsage): StatedUsage {
  const rest: Record<string, unknown> = { ...stated }
  // Per call: a list of entries took a tenth of the reading.
  for (const name in rest) if (rest[name] === 0) rest[name] = undefined
  return rest as StatedUsage
}

/**
 * What Gemini's search put into the prompt is in the total, and not billed: LiteLLM leaves it out of the prompt, and
 * counts there what other tools put into it.
 */
function totalOf(
  total: number | undefined,
  input: number | undefined,
  output: number | undefined,
  details: Selected,
): number | undefined {
  const searched = countOf(details['tool_use_tokens']) ?? 0
  return searched > 0 && total === (input ?? 0) + (output ?? 0) + searched ? undefined : total
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

export function speedOf(metadata: Selected): Speed | undefined {
  const speed = objectOf(metadata['usage_object'])['speed']
  return SPEEDS.find((each) => each === speed)
}

/** Where the call was processed: Vertex AI's location, or the geography that Anthropic states. */
export function regionOf(payload: Selected, metadata: Selected): string | undefined {
  const location = objectOf(payload['cost_breakdown'])['vertex_location']
  const geography = objectOf(metadata['usage_object'])['inference_geo']
  for (const place of [location, geography]) {
    if (typeof place === 'string' && REGION.test(place)) return place.toLowerCase()
  }
  return undefined
}
/** `us-east5`, `us`; and none of `global` and `not_available`. */
const REGION = /^(?!global$)[a-z]{2,12}(?:-[a-z]+\d?)*(?:-?\d+)?$/i
