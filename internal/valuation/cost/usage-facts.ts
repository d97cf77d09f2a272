/**
 * Which kinds of usage an event has: a price's flags, and therefore its details, depend on them and not on the counts.
 */
import type { Invocation } from '../../invocations/invocation.js'
import { BILLED_UNITS, type BilledUnit } from '../../text/call-words.js'
import { isCacheAtInputRate, withUncachedRates } from './cost-bound.js'
import type { CostFlag } from './cost-details.js'
import { billedAs, type RatePart, type Rates, type SheetTier } from './rate-sheet.js'
import { type TokenParts, writesWithoutCounter } from './token-parts.js'

const HAS_CACHE_READ = 1
const HAS_SHORT_WRITE = 2
const HAS_LONG_WRITE = 4
const HAS_WRITE_WITHOUT_TTL = 8
const HAS_NO_AUDIO_SPLIT = 16
const HAS_NO_IMAGE_SPLIT = 32
const HAS_AUDIO_INPUT = 64
const HAS_AUDIO_OUTPUT = 128
const HAS_AUDIO_CACHED = 256
const HAS_IMAGE_INPUT = 512
const HAS_IMAGE_OUTPUT = 1024
const HAS_IMAGE_CACHED = 2048
const HAS_WEB_SEARCHES = 4096
const HAS_FILE_SEARCHES = 8192
const HAS_CODE_EXECUTIONS = 16_384
/** Whether the cached part is stated, and not assumed. */
const HAS_AUDIO_CACHE_SPLIT = 32_768
const HAS_IMAGE_CACHE_SPLIT = 65_536
/** One bit per unit besides tokens, in the order of their list, from here on. */
const FIRST_UNIT_BIT = 17
const HAS_REASONING = 1 << 29
/** Whether tokens cost nothing: the call is billed by other units only. */
const IS_BY_UNITS = 1 << 30
/** Any billed call of a tool. */
export const HAS_TOOL_CALLS = HAS_WEB_SEARCHES | HAS_FILE_SEARCHES | HAS_CODE_EXECUTIONS

/** Bits for the kinds of usage of the event. */
export function usageFacts(invocation: Invocation, parts: TokenParts): number {
  let facts = 0
  if (parts.cache_read > 0) facts |= HAS_CACHE_READ
  if (parts.cache_write > 0) facts |= HAS_SHORT_WRITE
  if (parts.cache_write_1h > 0) facts |= HAS_LONG_WRITE
  if (parts.cache_write > 0 && invocation.cacheWriteTtlSeconds === undefined && writesWithoutCounter(invocation) > 0) {
    facts |= HAS_WRITE_WITHOUT_TTL
  }
  if (invocation.audioInputTokens === undefined && invocation.audioOutputTokens === undefined) {
    facts |= HAS_NO_AUDIO_SPLIT
  }
  if (invocation.imageInputTokens === undefined && invocation.imageOutputTokens === undefined) {
    facts |= HAS_NO_IMAGE_SPLIT
  }
  if (parts.reasoning > 0) facts |= HAS_REASONING
  if (parts.audio_input > 0) facts |= HAS_AUDIO_INPUT
  if (parts.audio_output > 0) facts |= HAS_AUDIO_OUTPUT
  if (parts.audio_cache_read > 0) facts |= HAS_AUDIO_CACHED
  if (parts.image_input > 0) facts |= HAS_IMAGE_INPUT
  if (parts.image_output > 0) facts |= HAS_IMAGE_OUTPUT
  if (parts.image_cache_read > 0) facts |= HAS_IMAGE_CACHED
  if (invocation.cachedAudioInputTokens !== undefined) facts |= HAS_AUDIO_CACHE_SPLIT
  if (invocation.cachedImageInputTokens !== undefined) facts |= HAS_IMAGE_CACHE_SPLIT
  if (invocation.webSearchCalls) facts |= HAS_WEB_SEARCHES
  if (invocation.fileSearchCalls) facts |= HAS_FILE_SEARCHES
  if (invocation.codeExecutionCalls) facts |= HAS_CODE_EXECUTIONS
  return facts
}

/** Bits for the units besides tokens that the event is billed by. */
export function unitFacts(units: readonly BilledUnit[], isByUnits: boolean): number {
  let facts = isByUnits ? IS_BY_UNITS : 0
  for (const unit of units) facts |= 1 << (FIRST_UNIT_BIT + BILLED_UNITS.indexOf(unit))
  return facts
}

interface Modality {
  readonly parts: { readonly input: RatePart; readonly output: RatePart; readonly cached: RatePart }
  readonly facts: {
    readonly input: number
    readonly output: number
    readonly cached: number
    readonly cacheSplit: number
    readonly noSplit: number
  }
  readonly flags: { readonly noRate: CostFlag; readonly noSplit: CostFlag; readonly cacheSplit: CostFlag }
}

/** Tokens other than text, with rates of their own in some price lists. */
const MODALITIES: readonly Modality[] = [
  {
    parts: { input: 'audio_input', output: 'audio_output', cached: 'audio_cache_read' },
    facts: {
      input: HAS_AUDIO_INPUT,
      output: HAS_AUDIO_OUTPUT,
      cached: HAS_AUDIO_CACHED,
      cacheSplit: HAS_AUDIO_CACHE_SPLIT,
      noSplit: HAS_NO_AUDIO_SPLIT,
    },
    flags: { noRate: 'audio_rate_missing', noSplit: 'audio_split_missing', cacheSplit: 'audio_cache_split_assumed' },
  },
  {
    parts: { input: 'image_input', output: 'image_output', cached: 'image_cache_read' },
    facts: {
      input: HAS_IMAGE_INPUT,
      output: HAS_IMAGE_OUTPUT,
      cached: HAS_IMAGE_CACHED,
      cacheSplit: HAS_IMAGE_CACHE_SPLIT,
      noSplit: HAS_NO_IMAGE_SPLIT,
    },
    flags: { noRate: 'image_rate_missing', noSplit: 'image_split_missing', cacheSplit: 'image_cache_split_assumed' },
  },
]

/**
 * Whether the standard tier has a rate for audio or images and this service tier has none: such tokens are then
 * unpriced, not billed as text.
 */
export const isModalityUnlisted = (rates: Rates, sheet: Rates, facts: number): boolean =>
  MODALITIES.some(({ parts, facts: of }) =>
    (['input', 'output'] as const).some(
      (side) => (facts & of[side]) !== 0 && rates[parts[side]] === undefined && sheet[parts[side]] !== undefined,
    ),
  )

/** The rates that a call with this usage is billed at, by part. */
export function ratesUsed(rates: Rates, facts: number): ReadonlySet<RatePart> {
  const used = new Set<RatePart>(['input', 'output'])
  for (const [part, bits] of BITS_OF_PART) {
    if ((facts & bits) !== 0) used.add(billedAs(part, rates))
  }
  return used
}

const BITS_OF_PART: readonly (readonly [RatePart, number])[] = [
  ['cache_read', HAS_CACHE_READ],
  ['cache_write', HAS_SHORT_WRITE],
  ['cache_write_1h', HAS_LONG_WRITE],
  ['reasoning', HAS_REASONING],
  ['audio_input', HAS_AUDIO_INPUT],
  ['audio_output', HAS_AUDIO_OUTPUT],
  ['audio_cache_read', HAS_AUDIO_CACHED],
  ['image_input', HAS_IMAGE_INPUT],
  ['image_output', HAS_IMAGE_OUTPUT],
  ['image_cache_read', HAS_IMAGE_CACHED],
]

const CACHED = {
  cache_read: HAS_CACHE_READ,
  audio_cache_read: HAS_AUDIO_CACHED,
  image_cache_read: HAS_IMAGE_CACHED,
} as const

/** The rates that the call is billed at, of which it may have cached audio and images without a rate of theirs. */
export const ratesBilled = (rates: Rates, facts: number): Rates =>
  withUncachedRates(rates, (part) => (facts & CACHED[part]) !== 0)

export function flagsOfRates(rates: Rates, facts: number, serviceTier: SheetTier): CostFlag[] {
  const flags: CostFlag[] = []
  const has = (fact: number): boolean => (facts & fact) !== 0
  if (isCacheAtInputRate(rates, (part) => has(CACHED[part]))) flags.push('cache_read_rate_missing')
  if (has(HAS_SHORT_WRITE | HAS_LONG_WRITE) && rates.cache_write === undefined && serviceTier !== 'standard') {
    flags.push('cache_write_rate_missing')
  }
  if (has(HAS_LONG_WRITE) && rates.cache_write_1h === undefined && billedAs('cache_write', rates) === 'cache_write') {
    flags.push('cache_write_1h_rate_missing')
  }
  if (has(HAS_WRITE_WITHOUT_TTL) && rates.cache_write_1h !== undefined) flags.push('cache_write_ttl_missing')
  for (const { parts, facts: of, flags: names } of MODALITIES) {
    const isBilledAsText = has(of.cached) && rates[parts.cached] === undefined && rates[parts.input] === undefined
    const isMissing = (['input', 'output'] as const).some((side) => has(of[side]) && rates[parts[side]] === undefined)
    const hasRate = rates[parts.input] !== undefined || rates[parts.output] !== undefined
    if (isMissing || isBilledAsText) flags.push(names.noRate)
    if (has(of.cached) && !has(of.cacheSplit)) flags.push(names.cacheSplit)
    if (has(of.noSplit) && hasRate) flags.push(names.noSplit)
  }
  return flags
}
