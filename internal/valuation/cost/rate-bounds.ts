/**
 * How far a rate may lie from the rate that it derives from, by class. Pure, one table.
 *
 * Published books have had a one-hour cache write at 24 times the input rate, a priority rate at 50 times, and the batch
 * rate of another model. A bound is wider than any rate that a provider published by 2026-11-28 and narrower than those
 * errors. It is the test of new books and of rates that are derived from a rule.
 */
import {
  PRICED_TIERS,
  type PricedTier,
  type RatePart,
  type RateSheet,
  type Rates,
  ratesOf,
  stepsPerToken,
} from './rate-sheet.js'

/** A kind of tokens, a service tier, what applies beyond a threshold, or a factor on all tokens. */
export type RateClass = Exclude<RatePart, 'input'> | PricedTier | 'threshold' | 'residency' | 'fast'

export interface RateBounds {
  /** What the ratio is to: a rate of the same table, the same rate of the standard tier, the one below the threshold. */
  readonly to: 'input' | 'output' | 'audio_input' | 'image_input' | 'standard' | 'base'
  /** Inclusive, decimal strings. */
  readonly least: string
  readonly most: string
  readonly why: string
}

const RATE_BOUNDS: Readonly<Record<RateClass, RateBounds>> = {
  output: { to: 'input', least: '0', most: '25', why: '0 (embeddings) to 23 (Gemini 2.5 Flash Preview)' },
  cache_read: { to: 'input', least: '0', most: '1', why: 'a discount: 0.008 (DeepSeek V4 Pro) to 1 (none)' },
  cache_write: {
    to: 'input',
    least: '1',
    most: '1.9',
    why: 'a surcharge: none, 1.25 (Anthropic, OpenAI, DashScope), or five minutes of storage (Gemini on OpenRouter: 1.83)',
  },
  cache_write_1h: { to: 'input', least: '1', most: '2', why: 'a surcharge: 2 (Anthropic)' },
  reasoning: { to: 'output', least: '0.3', most: '4', why: '0.375 (Sonar Deep Research) to 3.33 (Qwen Plus)' },
  audio_input: { to: 'input', least: '0.5', most: '100', why: '0.67 (Gemini 3.5 Flash) to 67 (GPT-4o mini Audio)' },
  audio_output: { to: 'output', least: '1', most: '50', why: '2.7 (GPT Realtime 2.1) to 33 (GPT-4o mini Audio)' },
  audio_cache_read: { to: 'audio_input', least: '0', most: '1', why: 'a discount: 0.01 to 0.8 (OpenAI, Azure)' },
  image_input: { to: 'input', least: '1', most: '10', why: '1 (most) to 6 (Gemini 2.5 Flash Live)' },
  image_output: { to: 'output', least: '1', most: '40', why: '3.2 (GPT Image 1.5) to 20 (Gemini 3.1 Flash Image)' },
  image_cache_read: { to: 'image_input', least: '0', most: '1', why: 'a discount: 0.1 to 0.25 (OpenAI)' },
  batch: { to: 'standard', least: '0.25', most: '1', why: 'a discount: 0.5 with nearly all; none on some cache reads' },
  flex: { to: 'standard', least: '0.25', most: '1', why: 'a discount: 0.5 (OpenAI, Google, Amazon)' },
  flex_discount: { to: 'standard', least: '0.25', most: '1', why: 'as flex' },
  priority: { to: 'standard', least: '1', most: '3', why: 'a surcharge: 1.67 to 2.5 (OpenAI, Azure, Google, Amazon)' },
  priority_on_demand: { to: 'standard', least: '1', most: '3', why: 'as priority' },
  scale: { to: 'standard', least: '0', most: '3', why: 'paid for in advance' },
  threshold: {
    to: 'base',
    least: '1',
    most: '12',
    why: 'a long context costs more: 2 with most, 12 (Qwen3 Coder Plus)',
  },
  residency: { to: 'standard', least: '1', most: '1.5', why: '1.1 (OpenAI, Anthropic, Bedrock, Vertex AI)' },
  fast: { to: 'standard', least: '1', most: '6', why: '2 (Claude Opus 5) to 6 (Opus 4.6, withdrawn)' },
}

export const boundsOf = (of: RateClass): RateBounds => RATE_BOUNDS[of]

/** Exact. @param rate and `reference`: validated rates. A cache write of 0 states that there is no surcharge. */
export function isWithinBounds(of: RateClass, rate: string, reference: string): boolean {
  const [is, to] = [steps(rate) * ONE, steps(reference)]
  if (is === 0n && (of === 'cache_write' || of === 'cache_write_1h')) return true
  const { least, most } = RATE_BOUNDS[of]
  return is >= to * steps(least) && is <= to * steps(most)
}

export interface RateOutOfBounds {
  readonly class: RateClass
  readonly part: RatePart
  readonly rate: string
  readonly reference: string
}

/**
 * The rates of a price list that lie outside the bounds of their class: below and beyond each threshold, in the standard
 * tier and in each other one. A rate whose reference is missing is not tested: there is nothing to compare it with.
 */
export function ratesOutOfBounds(sheet: RateSheet): RateOutOfBounds[] {
  const beyond = sheet.tiers ?? sheet.bands ?? []
  const base = standardRates(sheet, -1)
  return [undefined, ...beyond].flatMap((cliff, at) => {
    const standard = standardRates(sheet, at - 1)
    const ofTiers = PRICED_TIERS.flatMap((tier) => {
      const own = (cliff ?? sheet)[tier]
      if (own === undefined) return []
      return [...outside(tier, own, standard, SAME_PART), ...withinTable({ ...picked(standard), ...own })]
    })
    const ofCliff = cliff === undefined ? [] : outside('threshold', standard, base, ['input', 'output'])
    return [...withinTable(standard), ...ofCliff, ...ofTiers]
  })
}

/** Factors on all tokens of a row, by where and how fast the provider serves it. */
export const factorsOutOfBounds = (factors: Readonly<Record<string, string>>): string[] =>
  Object.entries(factors)
    .filter(([name, factor]) => !isWithinBounds(name === 'fast' ? 'fast' : 'residency', factor, '1'))
    .map(([name]) => name)

/** The parts that a service tier discounts or raises; the others have bounds within its own table. */
const SAME_PART = ['input', 'output', 'cache_read'] as const satisfies readonly RatePart[]

/** A table of a service tier that lacks one of these has that of the standard tier to compare with. */
const picked = ({ input, output }: Rates): Rates => ({
  ...(input !== undefined && { input }),
  ...(output !== undefined && { output }),
})

function standardRates(sheet: RateSheet, cliff: number): Rates {
  const selected = ratesOf(sheet, 'standard', cliff)
  return selected.kind === 'rates' ? selected.rates : {}
}

function withinTable(rates: Rates): RateOutOfBounds[] {
  return PARTS.flatMap((part) => {
    const [rate, reference] = [rates[part], referenceOf(part, rates)]
    if (rate === undefined || reference === undefined || isWithinBounds(part, rate, reference)) return []
    return [{ class: part, part, rate, reference }]
  })
}

/** Whether a rate is plausible beside the others of its table. */
export function isPlausibleBeside(rates: Rates, part: RatePart, rate: string): boolean {
  if (part === 'input') return true
  const reference = referenceOf(part, rates)
  return reference === undefined || isWithinBounds(part, rate, reference)
}

function referenceOf(part: Exclude<RatePart, 'input'>, rates: Rates): string | undefined {
  const { to } = RATE_BOUNDS[part]
  const reference = rates[to as RatePart] ?? (to === 'audio_input' || to === 'image_input' ? rates.input : undefined)
  // A model that is free on one side only is a doubt of its own.
  const isFree = part === 'output' && reference !== undefined && steps(reference) === 0n
  return isFree ? undefined : reference
}

const PARTS = Object.keys(RATE_BOUNDS).filter(
  (of): of is Exclude<RatePart, 'input'> => !['standard', 'base'].includes(RATE_BOUNDS[of as RateClass].to),
)

const outside = (of: RateClass, rates: Rates, references: Rates, parts: readonly RatePart[]): RateOutOfBounds[] =>
  parts.flatMap((part) => {
    const [rate, reference] = [rates[part], references[part]]
    if (rate === undefined || reference === undefined || isWithinBounds(of, rate, reference)) return []
    return [{ class: of, part, rate, reference }]
  })

/** @param rate a rate that is already validated */
const steps = (rate: string): bigint => stepsPerToken(rate, []) ?? 0n
const ONE = steps('1')
