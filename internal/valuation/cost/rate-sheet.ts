/**
 * One row of a price list, and the selection of the rates that apply to a request.
 *
 * Rates are USD per 1,000,000 tokens, fees USD per call of a tool, prices of other units USD each; exact decimal
 * strings. A request's rates depend on its service tier and on which side of a cliff its total input lies; a cliff
 * re-prices every token of the request, never only the excess.
 */
import type { BilledUnit, ServiceTier } from '../../text/call-words.js'
import { formatQuantity, quantityOfSteps } from '../../units/quantity.js'

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
  'image_input',
  'image_output',
  'image_cache_read',
] as const
export type RatePart = (typeof RATE_PARTS)[number]

export const isRatePart = (name: string): name is RatePart => (RATE_PARTS as readonly string[]).includes(name)

export const CACHED_PARTS = [
  'cache_read',
  'audio_cache_read',
  'image_cache_read',
] as const satisfies readonly RatePart[]
export type CachedPart = (typeof CACHED_PARTS)[number]
/** What tokens are that are not in the cache. */
export const UNCACHED = {
  cache_read: 'input',
  audio_cache_read: 'audio_input',
  image_cache_read: 'image_input',
} as const satisfies Record<CachedPart, RatePart>

/** Published rates; a missing part has no published rate. */
export type Rates = Readonly<Partial<Record<RatePart, string>>>

/** Where a rate comes from that the price list lacks for the model: a rule of the provider, or the model's other name. */
export interface RateOrigin {
  readonly from: 'provider_rule' | 'alias' | 'snapshot'
  /** Where the provider states the rule, or the model that lists the rate. */
  readonly by: string
}
/** By the part of a table; a part that is not named is listed. */
export type AssumedRates = Readonly<Partial<Record<RatePart, RateOrigin>>>
export type RateTable = Rates & { readonly assumed?: AssumedRates }

/** The tools that a provider runs and that a price list can charge per call. */
export const BILLED_TOOLS = ['web_search', 'file_search', 'code_execution'] as const
export type BilledTool = (typeof BILLED_TOOLS)[number]

/** USD per call; a missing tool has no published fee. */
export type Fees = Readonly<Partial<Record<BilledTool, string>>>

/** USD per second, image, page, ...; a missing unit has no published price. */
export type UnitRates = Readonly<Partial<Record<BilledUnit, string>>>

/** The service tiers that a price list can price apart from `standard`. */
export const PRICED_TIERS = ['batch', 'flex', 'priority', 'scale', 'priority_on_demand', 'flex_discount'] as const
export type PricedTier = (typeof PRICED_TIERS)[number]
/** `standard`, or a tier with rates of its own. */
export type SheetTier = 'standard' | PricedTier

/** The tier by its name in price lists. */
export const sheetTierOf = (tier: ServiceTier | undefined): SheetTier =>
  tier === undefined || tier === 'default' ? 'standard' : tier

/**
 * The tier whose rates are assumed when none are listed for the served one. Scale is paid for in advance, so its calls
 * have no list price; the others are variants that providers report beside the tier itself.
 */
const ASSUMED_TIER: Readonly<Partial<Record<SheetTier, SheetTier>>> = {
  scale: 'standard',
  priority_on_demand: 'priority',
  flex_discount: 'flex',
}

type TierRates = Readonly<Partial<Record<PricedTier, RateTable>>>

/**
 * Whole-request cliff: applies strictly above `above` input tokens, or at `above` and more if the provider includes it.
 */
export type CliffTier = RateTable & TierRates & { readonly above: number }
/** Whole-request band: applies above `over` up to and including `up_to` input tokens. */
export type Band = RateTable & TierRates & { readonly over: number; readonly up_to: number }

/** A price in a table or of a tenant. Unknown fields are ignored. */
export type RateSheet = RateTable &
  TierRates & {
    readonly tiers?: readonly CliffTier[]
    readonly bands?: readonly Band[]
    readonly fees?: Fees
    readonly units?: UnitRates
  }

/** Every table of rates in a sheet: of the standard tier, of the other tiers, and beyond each cliff. */
export function rateTables(sheet: RateSheet): Rates[] {
  const nested = [...(sheet.tiers ?? []), ...(sheet.bands ?? [])]
  return [sheet, ...nested].flatMap((each) =>
    [each, ...PRICED_TIERS.map((tier) => each[tier])].filter((rates) => rates !== undefined),
  )
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
  | {
      readonly kind: 'rates'
      readonly rates: Rates
      readonly assumed: AssumedRates
      /** The tier that the rates are listed for; another than the served one if they are assumed. */
      readonly tier: SheetTier
      readonly isCliffUnlisted: boolean
    }
  | { readonly kind: 'none'; readonly tier: Exclude<SheetTier, 'standard'> }

/** Of a call that is billed by other units than tokens. */
export const noTokenRates = (tier: SheetTier): Extract<RateSelection, { kind: 'rates' }> => ({
  kind: 'rates',
  rates: {},
  assumed: {},
  tier,
  isCliffUnlisted: false,
})

/**
 * The published rates of a service tier beyond a cliff.
 *
 * Standard: rates that the cliff does not list keep the base rate, except one-hour cache writes when the cliff lists
 * five-minute ones. Batch, flex and priority: only rates listed for the tier apply, and a tier without input and output
 * rates has no price; none is assumed here (`assumed-rates.ts` completes a row of the price book). The rates of such a
 * tier also apply beyond a cliff when none are listed there (`isCliffUnlisted`). A tier without rates of its own that is
 * a variant of another one has those of the other one (`ASSUMED_TIER`).
 */
export function ratesOf(sheet: RateSheet, serviceTier: SheetTier, cliff: number): RateSelection {
  const beyond = sheet.tiers?.[cliff] ?? sheet.bands?.[cliff]
  if (serviceTier === 'standard') {
    const base = picked(sheet)
    // A reasoning rate equal to the output rate is the output rate: it changes with it at a cliff.
    if (base.reasoning === base.output) delete base.reasoning
    // One hour is never cheaper than five minutes: without its own rate beyond the cliff it uses the five-minute rate.
    if (beyond?.cache_write !== undefined) delete base.cache_write_1h
    const own = beyond && picked(beyond)
    const rates = { ...base, ...own }
    const ofBase = Object.entries(sheet.assumed ?? {}).filter(([part]) => own?.[part as RatePart] === undefined)
    const assumed = { ...Object.fromEntries(ofBase), ...beyond?.assumed }
    return { kind: 'rates', rates, assumed, tier: serviceTier, isCliffUnlisted: false }
  }
  const own = beyond?.[serviceTier] ?? sheet[serviceTier]
  if (own?.input === undefined || own.output === undefined) {
    const assumed = ASSUMED_TIER[serviceTier]
    return assumed === undefined ? { kind: 'none', tier: serviceTier } : ratesOf(sheet, assumed, cliff)
  }
  const isCliffUnlisted = beyond !== undefined && beyond[serviceTier] === undefined
  return { kind: 'rates', rates: picked(own), assumed: own.assumed ?? {}, tier: serviceTier, isCliffUnlisted }
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
  return OUTPUT_PARTS.has(part) ? 'output' : 'input'
}

const OUTPUT_PARTS: ReadonlySet<RatePart> = new Set(['output', 'reasoning', 'audio_output', 'image_output'])

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
  image_input: ['image_input', 'input'],
  image_output: ['image_output', 'output'],
  image_cache_read: ['image_cache_read', 'cache_read', 'input'],
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

/** A rate times a factor, as a rate; undefined when it cannot be held exactly. */
export function timesFactor(rate: string, factor: string): string | undefined {
  const steps = stepsPerToken(rate, [factor])
  if (steps === undefined) return undefined
  const product = formatQuantity(quantityOfSteps(steps * TOKENS_PER_RATE))
  return isRate(product) ? product : undefined
}

/** A fee or the price of a unit, in steps of 1e-18 USD each. @param fee already validated, so at most 12 decimals */
export const stepsPerCall = (fee: string): bigint => (stepsPerToken(fee, []) ?? 0n) * TOKENS_PER_RATE

const TOKENS_PER_RATE = 1_000_000n

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
