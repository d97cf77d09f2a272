import { countOf, wholeInput } from '../adapters/fields.js'
import { membersOf } from './labels.js'
import { FACT, type Facts } from './span-facts.js'

/** The token counts of an event: input includes cache reads and writes, output includes reasoning. */
export interface Usage {
  readonly input_tokens: number | undefined
  readonly output_tokens: number | undefined
  readonly cached_input_tokens: number | undefined
  readonly cache_write_tokens: number | undefined
  readonly reasoning_tokens: number | undefined
  readonly audio_input_tokens?: number | undefined
  readonly audio_output_tokens?: number | undefined
  readonly image_input_tokens?: number | undefined
  readonly image_output_tokens?: number | undefined
}

/**
 * Token counts of a span. OpenTelemetry, OpenLLMetry, OpenInference and Sentry count cache reads and writes within the
 * input, Langfuse counts them apart. Some instrumentations pass on what the provider said, and Anthropic counts apart:
 * that is certain where the parts exceed the whole, and then corrected.
 */
export function usageOf(facts: Facts): Usage {
  const input = countOf(facts.get(FACT.inputTokens))
  const output = countOf(facts.get(FACT.outputTokens))
  if (input === undefined && output === undefined && facts.get(FACT.langfuseUsage) !== undefined) {
    return langfuseUsage(facts)
  }
  const cached = countOf(facts.get(FACT.cachedInputTokens))
  const written = countOf(facts.get(FACT.cacheWriteTokens))
  const reasoning = countOf(facts.get(FACT.reasoningTokens))
  return {
    input_tokens: wholeInput(input, cached, written),
    output_tokens: output !== undefined && (reasoning ?? 0) > output ? output + (reasoning ?? 0) : output,
    cached_input_tokens: cached,
    cache_write_tokens: written,
    reasoning_tokens: reasoning,
    audio_input_tokens: countOf(facts.get(FACT.audioInputTokens)),
    audio_output_tokens: countOf(facts.get(FACT.audioOutputTokens)),
    image_input_tokens: countOf(facts.get(FACT.imageInputTokens)),
    image_output_tokens: countOf(facts.get(FACT.imageOutputTokens)),
  }
}

/** Token counts where the source counts cache reads and writes apart from the rest of the input. */
export function usageOfParts(
  uncached: number | undefined,
  cached: number | undefined,
  written: number | undefined,
  output: number | undefined,
  reasoning?: number,
): Usage {
  const isKnown = uncached !== undefined || cached !== undefined || written !== undefined
  return {
    input_tokens: isKnown ? (uncached ?? 0) + (cached ?? 0) + (written ?? 0) : undefined,
    output_tokens: output,
    cached_input_tokens: cached,
    cache_write_tokens: written,
    reasoning_tokens: reasoning,
  }
}

/** Langfuse's `usage_details`: a JSON object of counts, of which `input` and `output` exclude all others. */
function langfuseUsage(facts: Facts): Usage {
  const counts = new Map(membersOf(facts.get(FACT.langfuseUsage)))
  const sumOf = (pattern: RegExp): number | undefined => {
    const known = [...counts].filter(([key]) => pattern.test(key)).map(([, value]) => countOf(value))
    return known.length === 0 ? undefined : known.reduce<number>((sum, each) => sum + (each ?? 0), 0)
  }
  const reasoning = sumOf(/reasoning/)
  const output = countOf(counts.get('output'), counts.get('completion_tokens'))
  return usageOfParts(
    countOf(counts.get('input'), counts.get('prompt_tokens')),
    sumOf(/^(?:cache_read_input_tokens|input_cached_tokens|input_cache_read)$/),
    sumOf(/^(?:cache_creation_input_tokens|input_cache_creation|input_cache_write)$/),
    output === undefined ? reasoning : output + (reasoning ?? 0),
    reasoning,
  )
}
