import { type Convention, conventionOf, vendorOf } from './conventions.js'
import { chosenReading, type Totals, totalOfParts } from './readings.js'
import type { StatedUsage, UsageFields, UsageSender } from './stated-usage.js'

/**
 * The counters of an event from what a sender stated: input then includes the cache, output the reasoning. How the
 * sender counts is known by a table (`conventions.ts`), and a stated total checks it. Where readings remain that differ,
 * the first is taken and the other one stands beside it.
 */
export function readUsage(stated: StatedUsage, sender: UsageSender): UsageFields {
  if (stated.passes !== undefined && stated.passes.length > 0) return sumOfPasses(stated.passes, stated, sender)
  const known = withWrites(stated)
  if (isNothing(known)) return callsOf(stated)
  const convention = conventionOf(known.api, sender)
  const basis = basisOf(known, sender, convention)
  return isAsConvened(known, convention) ? fieldsOf(known, known, basis) : byReadings(known, sender, convention, basis)
}

/** Whether input and output are whole as they stand, and the total agrees: most calls. */
function isAsConvened(stated: StatedUsage, { cache, reasoning, total: totalOf }: Convention): boolean {
  const { input = 0, output = 0, total = 0 } = stated
  const cached = (stated.cacheRead ?? 0) + (stated.cacheWrite ?? 0)
  const thought = stated.reasoning ?? 0
  return (
    input > 0 &&
    (cached === 0 || (cache === 'inside' && cached <= input)) &&
    (thought === 0 || (reasoning === 'inside' && thought <= output)) &&
    (total === 0 || total === input + output || totalOf === 'stated') &&
    stated.uncachedInput === undefined &&
    (stated.toolUseInput ?? 0) === 0
  )
}

function byReadings(
  stated: StatedUsage,
  sender: UsageSender,
  convention: Convention,
  basis: UsageFields['usage_basis'],
): UsageFields {
  const { totals, other, reasoning, assumptions } = chosenReading(stated, convention, vendorOf(sender))
  const hasInput = (totals.input ?? 0) > 0 || (totals.output ?? 0) === 0
  const whole: Totals = hasInput ? totals : { input: undefined, output: totals.output }
  const known = reasoning === undefined ? stated : { ...stated, reasoning }
  return {
    ...fieldsOf(known, whole, basis ?? (hasInput ? undefined : 'partial')),
    ...(assumptions !== '' && isInferred(stated, sender) && { assumptions }),
    ...(other !== undefined && {
      alternative_input_tokens: safe(other.input ?? 0),
      alternative_output_tokens: safe(other.output ?? 0),
    }),
  }
}

/** With cache writes of all lifetimes: LangChain states 0 of them beside their parts, others the parts only. */
function withWrites(stated: StatedUsage): StatedUsage {
  const { cacheWrite = 0, cacheWrite5m = 0, cacheWrite1h = 0 } = stated
  const parts = cacheWrite5m + cacheWrite1h
  return cacheWrite === 0 && parts > 0 ? { ...stated, cacheWrite: parts } : stated
}

/** Senders write 0 where they know nothing: no call has neither input nor output. */
const isNothing = (stated: StatedUsage): boolean =>
  (stated.input ?? 0) + (stated.output ?? 0) + (stated.total ?? 0) + totalOfParts(stated) === 0

/** What a provider's own object or log means is its definition, and nothing inferred. */
const isInferred = ({ api }: StatedUsage, { surface }: UsageSender): boolean =>
  api === undefined && surface !== 'agent' && surface !== 'bedrock-log'

/** What is known of a stream by a sender that fills in what the stream did not say. */
function basisOf(
  { cacheRead, cacheWrite, output }: StatedUsage,
  { isStreamed }: UsageSender,
  { streamWithoutCache }: Convention,
): 'estimated' | 'partial' | undefined {
  if (isStreamed !== true || cacheRead !== undefined || cacheWrite !== undefined) return undefined
  return output === undefined ? undefined : streamWithoutCache
}

/** Each field by its name: this runs for every call. A part that contradicts its whole is left out. */
function fieldsOf(stated: StatedUsage, { input, output }: Totals, basis: UsageFields['usage_basis']): UsageFields {
  const { cacheRead, cacheWrite, cacheWrite5m, cacheWrite1h } = stated
  const areWritesKnown = cacheWrite !== undefined && (cacheWrite5m ?? 0) + (cacheWrite1h ?? 0) <= cacheWrite
  return {
    input_tokens: safe(input),
    output_tokens: safe(output),
    cached_input_tokens: cacheRead,
    cache_write_tokens: cacheWrite,
    cache_write_5m_tokens: areWritesKnown ? cacheWrite5m : undefined,
    cache_write_1h_tokens: areWritesKnown ? cacheWrite1h : undefined,
    reasoning_tokens: stated.reasoning,
    audio_input_tokens: partOf(input, stated.audioInput),
    audio_output_tokens: partOf(output, stated.audioOutput),
    image_input_tokens: partOf(input, stated.imageInput),
    image_output_tokens: partOf(output, stated.imageOutput),
    cached_audio_input_tokens: partOf(cacheRead, stated.cachedAudioInput),
    cached_image_input_tokens: partOf(cacheRead, stated.cachedImageInput),
    web_search_calls: stated.webSearchCalls,
    file_search_calls: stated.fileSearchCalls,
    code_execution_calls: stated.codeExecutionCalls,
    usage_basis: basis,
  }
}

/** No call has more tokens than a number can count. */
const safe = (count: number | undefined): number | undefined => (Number.isSafeInteger(count) ? count : undefined)

/** Calls of the provider's tools, which are counted whether or not tokens are. */
function callsOf({ webSearchCalls, fileSearchCalls, codeExecutionCalls }: StatedUsage): UsageFields {
  return {
    web_search_calls: webSearchCalls,
    file_search_calls: fileSearchCalls,
    code_execution_calls: codeExecutionCalls,
  }
}

/** Zero of a part says no more than that it is absent. */
const partOf = (whole: number | undefined, part: number | undefined): number | undefined =>
  part === undefined || part === 0 || whole === undefined || part > whole ? undefined : part

/** Each pass is billed; the calls of tools are those of all passes. */
function sumOfPasses(passes: readonly StatedUsage[], stated: StatedUsage, sender: UsageSender): UsageFields {
  const sums: Record<string, number> = {}
  for (const pass of passes) {
    for (const [field, value] of Object.entries(readUsage({ ...pass, api: stated.api }, sender))) {
      if (typeof value === 'number') sums[field] = (sums[field] ?? 0) + value
    }
  }
  return { ...sums, ...callsOf(stated) }
}
