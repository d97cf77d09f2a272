import type { NumberTree } from '../../usage/printed-numbers.js'
import { statedOfProviderUsage, statedOfSenderUsage } from '../../usage/provider-usage.js'
import { readUsage } from '../../usage/read-usage.js'
import type { StatedUsage, UsageFields, UsageSender } from '../../usage/stated-usage.js'
import { countOf } from '../adapters/fields.js'
import { FACT, type Fact, type Facts } from './span-facts.js'
import type { Telemetry } from './telemetry.js'

/** The token counts of a span, as those who make such spans count. */
export function spanUsage({ facts, scope }: Telemetry): UsageFields {
  const streamed = facts.get(FACT.isStreamed)
  const sender: UsageSender = {
    surface: scope === 'litellm' ? 'litellm' : 'otlp',
    name: scope,
    provider:
      nameIn(facts, FACT.provider) ??
      nameIn(facts, FACT.system) ??
      nameIn(facts, FACT.providerOfSdk) ??
      nameIn(facts, FACT.systemOfSdk),
    model: nameIn(facts, FACT.servedModel) ?? nameIn(facts, FACT.requestedModel),
    isStreamed: streamed === true || streamed === 'true',
  }
  return readUsage(statedUsage(facts), sender)
}

function nameIn(facts: Facts, fact: Fact): string | undefined {
  const value = facts.get(fact)
  return typeof value === 'string' ? value : undefined
}

/** Counts under keys of their own, and what objects have beside them. */
function statedUsage(facts: Facts): StatedUsage {
  const stated = countsOf(facts)
  const provider = treeIn(facts, FACT.providerUsage)
  if (provider !== undefined) {
    const whole = statedOfProviderUsage(provider)
    if (whole.input !== undefined) return whole
  }
  const metadata = treeIn(facts, FACT.providerMetadata)
  if (metadata !== undefined) return withMetadata(stated, metadata)
  const langfuse = treeIn(facts, FACT.langfuseUsage)
  if (langfuse !== undefined && stated.input === undefined && stated.output === undefined)
    return langfuseUsage(langfuse)
  return withObjects(stated, facts)
}

function countsOf(facts: Facts): StatedUsage {
  return {
    input: countIn(facts, FACT.inputTokens),
    output: countIn(facts, FACT.outputTokens),
    total: countIn(facts, FACT.totalTokens),
    uncachedInput: countIn(facts, FACT.noCacheTokens),
    cacheRead: countIn(facts, FACT.cachedInputTokens),
    cacheWrite: countIn(facts, FACT.cacheWriteTokens),
    cacheWrite5m: countIn(facts, FACT.cacheWrite5mTokens),
    cacheWrite1h: countIn(facts, FACT.cacheWrite1hTokens),
    reasoning: countIn(facts, FACT.reasoningTokens),
    toolUseInput: countIn(facts, FACT.toolUseTokens),
    audioInput: countIn(facts, FACT.audioInputTokens),
    audioOutput: countIn(facts, FACT.audioOutputTokens),
    imageInput: countIn(facts, FACT.imageInputTokens),
    imageOutput: countIn(facts, FACT.imageOutputTokens),
    cachedAudioInput: countIn(facts, FACT.cachedAudioTokens),
  }
}

function countIn(facts: Facts, fact: Fact): number | undefined {
  const value = facts.get(fact)
  return value === undefined ? undefined : countOf(value)
}

function treeIn(facts: Facts, fact: Fact): NumberTree | undefined {
  const value = facts.get(fact)
  return typeof value === 'object' && !Array.isArray(value) ? (value as NumberTree) : undefined
}

/** What the objects of a sender say beyond its counts: LiteLLM, MLflow, LangSmith, Logfire. */
function withObjects(stated: StatedUsage, facts: Facts): StatedUsage {
  const object = treeIn(facts, FACT.senderUsage)
  const input = treeIn(facts, FACT.inputDetails)
  const output = treeIn(facts, FACT.outputDetails)
  if (object === undefined && input === undefined && output === undefined) return stated
  const details = {
    ...(input !== undefined && { input_token_details: input }),
    ...(output !== undefined && { output_token_details: output }),
  }
  const known = withMore(stated, statedOfSenderUsage(details))
  return object === undefined ? known : withMore(known, statedOfSenderUsage(object))
}

function withMore(stated: StatedUsage, more: StatedUsage): StatedUsage {
  const known: Record<string, StatedUsage[keyof StatedUsage]> = { ...more }
  for (const [name, value] of Object.entries(stated)) if (value !== undefined) known[name] = value
  return known
}

/**
 * The AI SDK passes on what the provider said, by provider: version 5 states cache writes nowhere else, and nothing but
 * input and output of an answer that is not streamed. A stream of Anthropic states its output at the end only.
 */
function withMetadata(stated: StatedUsage, metadata: NumberTree): StatedUsage {
  for (const said of Object.values(metadata)) {
    if (typeof said !== 'object' || Array.isArray(said)) continue
    const object = said as NumberTree
    const usage = statedOfProviderUsage(object)
    if (usage.passes !== undefined || (usage.input !== undefined && usage.api === 'gemini')) return usage
    if (usage.input !== undefined) return { ...usage, output: stated.output ?? usage.output, total: undefined }
    const cacheWrite = usage.cacheWrite ?? countOf(object['cacheCreationInputTokens'])
    if (cacheWrite !== undefined) return withMore(stated, { cacheWrite })
  }
  return stated
}

/** Parts of Langfuse's input and output that stand beside them, under the names that it gives to details. */
const LANGFUSE_READ = /^(?:cache_read_input_tokens|input_cached_tokens|input_cache_read)$/
const LANGFUSE_WRITTEN =
  /^(?:cache_creation_input_tokens|input_cache_creation|input_cache_write|input_cache_write_tokens)$/

/** Langfuse's `usage_details`: the provider's own object, or counts of which `input` and `output` exclude all others. */
function langfuseUsage(details: NumberTree): StatedUsage {
  if (details['input'] === undefined && details['output'] === undefined) return statedOfProviderUsage(details)
  const sumOf = (pattern: RegExp): number | undefined => {
    const known = Object.entries(details).filter(([key, value]) => pattern.test(key) && typeof value === 'number')
    return known.length === 0 ? undefined : known.reduce((sum, [, value]) => sum + (countOf(value) ?? 0), 0)
  }
  const audioInput = sumOf(/^input_audio/)
  const audioOutput = sumOf(/^output_audio/)
  const reasoning = sumOf(/reasoning/)
  const cacheWrite1h = sumOf(/ephemeral_1h/)
  const input = countOf(details['input'])
  const output = countOf(details['output'])
  return {
    api: 'langfuse',
    input: input === undefined ? undefined : input + (audioInput ?? 0),
    output: output === undefined ? undefined : output + (audioOutput ?? 0),
    // It sums up cache writes and their parts.
    total: cacheWrite1h === undefined ? countOf(details['total']) : undefined,
    cacheRead: sumOf(LANGFUSE_READ),
    cacheWrite: sumOf(LANGFUSE_WRITTEN),
    cacheWrite5m: sumOf(/ephemeral_5m/),
    cacheWrite1h,
    reasoning,
    audioInput,
    audioOutput,
  }
}
