/**
 * Recomputes a stored cost, line by line, from its details and the numbers of the event.
 */
import type { Invocation } from '../../invocations/invocation.js'
import { formatDifference, formatQuantity, parseQuantity, plus, type Quantity, zero } from '../../units/quantity.js'
import { assumptionsIn } from './assumptions.js'
import type { CostDetails } from './cost-details.js'
import { costOfParts, stepsOfParts } from './price-invocation.js'
import { type BilledTool, billedAs, type Fees, RATE_PARTS, type RatePart } from './rate-sheet.js'
import { type TokenFacts, type TokenParts, tokenParts } from './token-parts.js'
import { callsOf, costOfTools, type ToolFacts, toolsCalled } from './tool-fees.js'

/** The fields of an event that the explanation needs; a stored record has all of them. */
export type CostFacts = TokenFacts & ToolFacts & Pick<Invocation, 'estimatedCostUsd'>

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

/** Fees per second or image are not part of any figure. */
export const COST_SCOPES = ['tokens', 'tokens_and_fees'] as const

export interface CostExplanation {
  /** Equal to the stored cost. */
  readonly totalUsd: Quantity<'USD'>
  /** The cost that the caller stated, where it counts or is shown beside the price; decimal text. */
  readonly statedUsd: string | undefined
  /** Lines of the applied price or, with a client estimate, of the price to compare it with; empty without a price. */
  readonly lines: readonly CostLine[]
  readonly fees: readonly FeeLine[]
  /** What the price assumes, in sentences. */
  readonly assumptions: readonly string[]
  /** The sum of the lines times the multipliers, plus the fees; undefined when no price applies. */
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

type Priced = Pick<CostExplanation, 'lines' | 'fees' | 'assumptions' | 'pricedUsd' | 'scope'>

function pricedBy({ price }: CostDetails, facts: CostFacts): Priced {
  const parts = price && tokenParts(facts, facts.inputTokens ?? 0, facts.outputTokens ?? 0)
  if (price === undefined || parts === undefined) {
    return { lines: [], fees: [], assumptions: [], pricedUsd: undefined, scope: 'tokens' }
  }
  const { rates, fees = {}, multipliers = [] } = price
  const factors = multipliers.map(({ factor }) => factor)
  return {
    lines: linesOf(parts, rates),
    fees: feeLinesOf(facts, fees),
    assumptions: assumptionsIn(price),
    pricedUsd: plus(costOfParts(parts, stepsOfParts(rates, factors)), costOfTools(facts, fees)),
    scope: price.fees === undefined ? 'tokens' : 'tokens_and_fees',
  }
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
  return RATE_PARTS.filter((part) => parts[part] > 0).map((part) => {
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
