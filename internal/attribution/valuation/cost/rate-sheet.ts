/**
 * One row of a price list, and the selection of the rates that apply to a request.
 *
 * Rates are USD per 1,000,000 tokens, exact decimal strings. A request's rates depend on its service tier and on
 * which side of a cliff its total input lies; a cliff re-prices every token of the request, never only the excess.
 */
import type { ServiceTier } from '../../../invocations/invocation.js'

/** The kinds of tokens that a price list can price separately. */
export const RATE_PARTS = [
  'input',
  'output',
  'cache_read',
  'cache_write',
  'cache_write_1h',
  'reasoning',
  'audio_input',
  'audio_output',
  'audio_cache_read',
] as const
export type RatePart = (typeof RATE_PARTS)[number]

/** Published rates; a missing part has no published rate. */
export type Rates = Readonly<Partial<Record<RatePart, string>>>

type DiscountTier = Exclude<ServiceTier, 'standard'>
type TierRates = Readonly<Partial<Record<DiscountTier, Rates>>>

/** Whole-request cliff: applies strictly above `above` input tokens, or at `above` and more if the provider includes it. */
export type CliffTier = Rates & TierRates & { readonly above: number }
/** Whole-request band: applies above `over` up to and including `up_to` input tokens. */
export type Band = Rates & TierRates & { readonly over: number; readonly up_to: number }

/** A price in a table or of a tenant. Unknown fields are ignored. */
export type RateSheet = Rates &
  TierRates & {
    readonly tiers?: readonly CliffTier[]
    readonly bands?: readonly Band[]
  }

/** The index in `tiers` or `bands` for the input of a request; -1 for the base rates. */
export function cliffOf(sheet: RateSheet, inputTokens: number, isInclusive: boolean): number {
  if (sheet.tiers !== undefined) {
    let passed = -1
    for (let at = 0; at < sheet.tiers.length; at++) {
      const above = sheet.tiers[at]?.above ?? 0
      if (inputTokens > above || (isInclusive && inputTokens === above)) passed = at
    }
    return passed
  }
  if (sheet.bands !== undefined) {
    const at = sheet.bands.findIndex(({ up_to }) => inputTokens <= up_to)
    // Input above the last band exceeds the context of the model: use the last published price.
    return at < 0 ? sheet.bands.length - 1 : at
  }
  return -1
}

export type RateSelection =
  | { readonly kind: 'rates'; readonly rates: Rates; readonly isCliffUnlisted: boolean }
  | { readonly kind: 'none'; readonly tier: DiscountTier }

/**
 * The published rates of a service tier beyond a cliff.
 *
 * Standard: rates that the cliff does not list keep the base rate, except one-hour cache writes when the cliff lists
 * five-minute ones. Batch, flex and priority: only rates listed for the tier apply, and a tier without input and output
 * rates has no price; it is never assumed to cost half of standard. The rates of such a tier also apply beyond a cliff
 * when none are listed there (`isCliffUnlisted`).
 */
export function ratesOf(sheet: RateSheet, serviceTier: ServiceTier, cliff: number): RateSelection {
  const beyond = sheet.tiers?.[cliff] ?? sheet.bands?.[cliff]
  if (serviceTier === 'standard') {
    const base = picked(sheet)
    // A reasoning rate equal to the output rate is the output rate: it changes with it at a cliff.
    if (base.reasoning === base.output) delete base.reasoning
    // One hour is never cheaper than five minutes: without its own rate beyond the cliff it uses the five-minute rate.
    if (beyond?.cache_write !== undefined) delete base.cache_write_1h
    return { kind: 'rates', rates: { ...base, ...(beyond && picked(beyond)) }, isCliffUnlisted: false }
  }
  const own = beyond?.[serviceTier] ?? sheet[serviceTier]
  if (own?.input === undefined || own.output === undefined) return { kind: 'none', tier: serviceTier }
  const isCliffUnlisted = beyond !== undefined && beyond[serviceTier] === undefined
  return { kind: 'rates', rates: picked(own), isCliffUnlisted }
}

/**
 * The published rate that a part is billed at: its own, else the next of its chain, finally input or output. A cache
 * write rate of 0 means no surcharge, so the tokens are billed as input.
 */
export function billedAs(part: RatePart, rates: Rates): RatePart {
  for (const candidate of CHAINS[part]) {
    const rate = rates[candidate]
    if (rate === undefined) continue
    if ((candidate === 'cache_write' || candidate === 'cache_write_1h') && isZero(rate)) continue
    return candidate
  }
  return part === 'output' || part === 'reasoning' || part === 'audio_output' ? 'output' : 'input'
}

const CHAINS: Readonly<Record<RatePart, readonly RatePart[]>> = {
  input: ['input'],
  output: ['output'],
  cache_read: ['cache_read', 'input'],
  cache_write: ['cache_write', 'input'],
  // If only one write rate is published, it applies to every lifetime; the input rate would be too low.
  cache_write_1h: ['cache_write_1h', 'cache_write', 'input'],
  reasoning: ['reasoning', 'output'],
  audio_input: ['audio_input', 'input'],
  audio_output: ['audio_output', 'output'],
  audio_cache_read: ['audio_cache_read', 'cache_read', 'input'],
}

/** Maximum decimals of a rate: a millionth of it is then still a whole number of steps of 1e-18 USD. */
export const RATE_DECIMALS_MAX = 12
/** Plain decimals up to the maximum length of a rate. */
export const RATE_PATTERN = /^\d{1,9}(?:\.\d{1,12})?$/

export function isRate(text: string): boolean {
  return RATE_PATTERN.test(text)
}

/**
 * A rate times its factors, in steps of 1e-18 USD per token. Exact.
 *
 * @returns undefined when the product has more decimals than a step can hold
 */
export function stepsPerToken(rate: string, factors: readonly string[]): bigint | undefined {
  let coefficient = 1n
  let decimals = 0
  for (const factor of [rate, ...factors]) {
    const point = factor.indexOf('.')
    if (point >= 0) decimals += factor.length - point - 1
    coefficient *= BigInt(factor.replace('.', ''))
  }
  while (decimals > RATE_DECIMALS_MAX && coefficient % 10n === 0n) {
    coefficient /= 10n
    decimals -= 1
  }
  if (decimals > RATE_DECIMALS_MAX) return undefined
  return coefficient * 10n ** BigInt(RATE_DECIMALS_MAX - decimals)
}

function picked(from: Rates): Partial<Record<RatePart, string>> {
  const rates: Partial<Record<RatePart, string>> = {}
  for (const part of RATE_PARTS) {
    const rate = from[part]
    if (typeof rate === 'string') rates[part] = rate
  }
  return rates
}

export function isZero(rate: string): boolean {
  return /^0(?:\.0*)?$/.test(rate)
}
