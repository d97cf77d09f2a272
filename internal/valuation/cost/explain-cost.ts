import type { Invocation } from '../../invocations/invocation.js'
import type { BilledUnit } from '../../text/call-words.js'
import {
  formatDifference,
  formatQuantity,
  parseQuantity,
  plus,
  type Quantity,
  quantityOfSteps,
  STEPS_PER_UNIT,
  zero,
} from '../../units/quantity.js'
import { usedOf } from './assumed-from.js'
import { costOfUnits, MILLIONTHS, millionthsOf, type UnitFacts, unitsBilled } from './billed-units.js'
import type { AppliedConvention, AppliedPrice, CostDetails, CostFlag } from './cost-details.js'
import { costOfParts, stepsOfParts } from './cost-of-parts.js'
import {
  type BilledTool,
  billedAs,
  type Fees,
  RATE_PARTS,
  type RateOrigin,
  type RatePart,
  type UnitRates,
} from './rate-sheet.js'
import { partsBilled, type TokenFacts, type TokenParts, tokenParts } from './token-parts.js'
import { callsOf, costOfTools, type ToolFacts, toolsCalled } from './tool-fees.js'

/**
 * Recomputes a stored cost, line by line, from its details and the numbers of the event.
 */

/** The fields of an event that the explanation needs; a stored record has all of them. */
export type CostFacts = TokenFacts & ToolFacts & UnitFacts & Pick<Invocation, 'estimatedCostUsd'>

export interface CostLine {
  readonly part: RatePart
  readonly tokens: number
  /** The part whose published rate was used; differs from `part` when no rate is published for it. */
  readonly billedAs: RatePart
  /** USD per 1,000,000 tokens, before multipliers. */
  readonly rate: string
  /** USD, before multipliers. */
  readonly amountUsd: string
}

/** Calls of a tool that the provider bills per call. */
export interface FeeLine {
  readonly tool: BilledTool
  readonly calls: number
  readonly usdPerCall: string
  readonly amountUsd: string
}

/** A quantity of a unit besides tokens. */
export interface UnitLine {
  readonly unit: BilledUnit
  /** As it was priced: to a millionth. */
  readonly quantity: string
  readonly usdPerUnit: string
  readonly amountUsd: string
}

export const COST_SCOPES = ['tokens', 'tokens_and_fees', 'tokens_and_units', 'tokens_fees_and_units'] as const

export interface CostExplanation {
  /** Equal to the stored cost. */
  readonly totalUsd: Quantity<'USD'>
  /** The cost that the caller stated, where it counts or is shown beside the price; decimal text. */
  readonly statedUsd: string | undefined
  /** Lines of the applied price or, with a client estimate, of the price to compare it with; empty without a price. */
  readonly lines: readonly CostLine[]
  readonly fees: readonly FeeLine[]
  readonly units: readonly UnitLine[]
  /** Billed units that have no price: the cost lacks them. */
  readonly unpricedUnits: readonly BilledUnit[]
  /** What the price assumes, in sentences. */
  readonly assumptions: readonly string[]
  /** The sum of the lines times the multipliers, plus the fees and units; undefined when no price applies. */
  readonly pricedUsd: Quantity<'USD'> | undefined
  /** Estimate minus price, as signed decimal text; only when both exist. */
  readonly estimateDifferenceUsd: string | undefined
  readonly scope: (typeof COST_SCOPES)[number]
}

export function explainCost(details: CostDetails, facts: CostFacts): CostExplanation {
  const priced = pricedBy(details, facts)
  const { pricedUsd } = priced
  if (details.basis !== 'client_estimate') {
    const isNotional = details.basis === 'notional'
    const isShown = isNotional || details.stated_cost === 'untrusted'
    return {
      totalUsd: isNotional ? zero() : (pricedUsd ?? zero()),
      statedUsd: isShown ? facts.estimatedCostUsd : undefined,
      estimateDifferenceUsd: undefined,
      ...priced,
    }
  }
  const totalUsd = parseQuantity<'USD'>(facts.estimatedCostUsd ?? '') ?? zero<'USD'>()
  const estimateDifferenceUsd = pricedUsd === undefined ? undefined : formatDifference(totalUsd, pricedUsd)
  return { totalUsd, statedUsd: formatQuantity(totalUsd), estimateDifferenceUsd, ...priced }
}

type Priced = Omit<CostExplanation, 'totalUsd' | 'statedUsd' | 'estimateDifferenceUsd'>

function pricedBy(
  { price, usage_convention: convention, unpriced_units: unpricedUnits = [] }: CostDetails,
  facts: CostFacts,
): Priced {
  const parts = price && tokenParts(facts, facts.inputTokens ?? 0, facts.outputTokens ?? 0)
  const assumptions = [
    ...(convention === undefined ? [] : [readAs(convention)]),
    ...unpricedUnits.map((unit) => `No price per ${NAME_OF_ONE[unit]} is known. The cost leaves this unit out.`),
  ]
  if (price === undefined || parts === undefined) {
    return { lines: [], fees: [], units: [], unpricedUnits, assumptions, pricedUsd: undefined, scope: 'tokens' }
  }
  const { rates, fees = {}, units = {}, multipliers = [] } = price
  const factors = multipliers.map(({ factor }) => factor)
  const ofTokens = costOfParts(parts, stepsOfParts(rates, factors))
  return {
    lines: linesOf(parts, rates),
    fees: feeLinesOf(facts, fees),
    units: unitLinesOf(facts, units),
    unpricedUnits,
    assumptions: [...assumptions, ...assumptionsIn(price, partsBilled(parts, rates))],
    pricedUsd: plus(plus(ofTokens, costOfTools(facts, fees)), costOfUnits(facts, units)),
    scope: scopeOf(price),
  }
}

function scopeOf({ fees, units }: AppliedPrice): CostExplanation['scope'] {
  if (units === undefined) return fees === undefined ? 'tokens' : 'tokens_and_fees'
  return fees === undefined ? 'tokens_and_units' : 'tokens_fees_and_units'
}

const NAME_OF_ONE: Readonly<Record<BilledUnit, string>> = {
  seconds: 'second',
  images: 'image',
  characters: 'character',
  pages: 'page',
  requests: 'request',
  search_units: 'search unit',
  documents: 'document',
  container_minutes: 'minute of a container',
}

const unitLinesOf = (facts: UnitFacts, rates: UnitRates): UnitLine[] =>
  unitsBilled(facts).flatMap((unit) => {
    const usdPerUnit = rates[unit]
    if (usdPerUnit === undefined) return []
    const quantity = formatQuantity(quantityOfSteps(millionthsOf(facts, unit) * (STEPS_PER_UNIT / MILLIONTHS)))
    return [{ unit, quantity, usdPerUnit, amountUsd: formatQuantity(costOfUnits(facts, { [unit]: usdPerUnit })) }]
  })

function readAs({ id, sender, cache, reasoning }: AppliedConvention): string {
  const what = [
    ...(cache === null ? [] : [`cache ${cache === 'inside' ? 'within' : 'apart from'} the input`]),
    ...(reasoning === null ? [] : [`reasoning ${reasoning === 'inside' ? 'within' : 'apart from'} the output`]),
  ]
  return `The counts were read by the usage convention ${id} for ${JSON.stringify(sender)}: ${what.join(', ')}.`
}

const feeLinesOf = (facts: ToolFacts, fees: Fees): FeeLine[] =>
  toolsCalled(facts).flatMap((tool) => {
    const usdPerCall = fees[tool]
    if (usdPerCall === undefined) return []
    const amountUsd = formatQuantity(costOfTools(facts, { [tool]: usdPerCall }))
    return [{ tool, calls: callsOf(facts, tool), usdPerCall, amountUsd }]
  })

function linesOf(parts: TokenParts, rates: NonNullable<CostDetails['price']>['rates']): CostLine[] {
  const unmultiplied = stepsOfParts(rates, [])
  // Of a model that is billed by other units only, tokens have no rate.
  const isRated = (part: RatePart): boolean => parts[part] > 0 && rates[billedAs(part, rates)] !== undefined
  return RATE_PARTS.filter(isRated).map((part) => {
    const billed = billedAs(part, rates)
    const amount = costOfParts({ ...NO_PARTS, [part]: parts[part] }, unmultiplied)
    return {
      part,
      tokens: parts[part],
      billedAs: billed,
      rate: rates[billed] ?? '0',
      amountUsd: formatQuantity(amount),
    }
  })
}

const NO_PARTS: TokenParts = {
  input: 0,
  output: 0,
  cache_read: 0,
  cache_write: 0,
  cache_write_1h: 0,
  reasoning: 0,
  audio_input: 0,
  audio_output: 0,
  audio_cache_read: 0,
  image_input: 0,
  image_output: 0,
  image_cache_read: 0,
}

/** What a price assumes about a call, in sentences for a person who checks the cost. */

function assumptionsIn({ assumed = [], ...price }: AppliedPrice, parts: ReadonlySet<RatePart>): readonly string[] {
  const ofCall = { ...price, assumed: usedOf(assumed, parts) }
  return (price.flags ?? []).map((flag) => TEXTS[flag](ofCall))
}

/** The names of what was taken from there, and the source or model. */
function assumedText(from: RateOrigin['from'], { assumed = [] }: AppliedPrice): { rates: string; by: string } {
  const taken = assumed.filter((each) => each.from === from)
  return {
    rates: [...new Set(taken.flatMap(({ rates }) => rates))].join(', '),
    by: [...new Set(taken.map(({ by }) => by))].join(', '),
  }
}

const TEXTS: Readonly<Record<CostFlag, (price: AppliedPrice) => string>> = {
  before_first_period: () => 'The call is older than the first known price. That price was used.',
  scheduled_price: () => 'The price was announced in advance and is not confirmed yet.',
  cache_read_rate_missing: () => 'No rate for cache reads is known. Cached tokens at the input rate: an upper bound.',
  cache_write_rate_missing: () =>
    'No rate for cache writes is published for this service tier. They were billed as input.',
  cache_write_1h_rate_missing: () =>
    'Only the rate of short cache writes is published. It was used for one-hour writes, too.',
  cache_write_ttl_missing: () =>
    'The call does not state the lifetime of cache writes. The rate of five minutes was used.',
  audio_rate_missing: () => 'No rate for audio is published. Audio tokens were billed as text.',
  audio_split_missing: () =>
    'Audio has its own rate, and the call does not state audio tokens. All tokens were billed as text.',
  audio_cache_split_assumed: () =>
    'The call does not state how many audio tokens were cached. The fewest possible number was used.',
  image_rate_missing: () => 'No rate for images is published. Image tokens were billed as text.',
  image_split_missing: () =>
    'Images have their own rate, and the call does not state image tokens. All tokens were billed as text.',
  image_cache_split_assumed: () =>
    'The call does not state how many image tokens were cached. The fewest possible number was used.',
  service_tier_assumed: ({ service_tier, rates_of_tier }) =>
    `No rates are listed for the service tier ${service_tier}. Those of ${rates_of_tier ?? 'standard'} were used.`,
  tool_fee_of_standard_tier: ({ service_tier }) =>
    `No fees per call are listed for the service tier ${service_tier}. Those of standard were used.`,
  tool_fee_of_book: () => 'The negotiated price states no fee for a tool. The fee of the price book was used.',
  unit_price_of_standard_tier: ({ service_tier }) =>
    `No prices per unit are listed for the service tier ${service_tier}. Those of standard were used.`,
  unit_price_of_book: () => 'The negotiated prices have none for a unit. The one in the price book was used.',
  long_context_rate_unlisted: () =>
    'No rates above the input threshold are listed for this service tier. Its rates below the threshold were used.',
  price_books_disagree: () => 'Another price book has a different price.',
  fast_rate_unlisted: () => 'No rates are listed for the speed fast. Those of the usual speed were used.',
  rate_by_provider_rule: (price) => {
    const { rates, by } = assumedText('provider_rule', price)
    return `The price list has no rate of this model for: ${rates}. It follows from a rule of the provider (${by}).`
  },
  rate_of_alias: (price) => {
    const { rates, by } = assumedText('alias', price)
    return `The price list has no rate of this dated name for: ${rates}. That of ${by} was used, which has the same price.`
  },
  rate_of_snapshot: (price) => {
    const { rates, by } = assumedText('snapshot', price)
    return `The price list has no rate of this name for: ${rates}. That of ${by} was used, which has the same price.`
  },
  served_model_unlisted: () => 'The served model has no price. That of the requested model was used.',
  profile_of_request: () =>
    'The served name states no profile, region or variant. The price is that of the requested name, which does.',
}
