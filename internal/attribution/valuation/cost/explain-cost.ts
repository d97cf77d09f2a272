/**
 * Recomputes a stored cost, line by line, from its details and the numbers of the event.
 */
import type { Invocation } from '../../../invocations/invocation.js'
import { formatDifference, formatQuantity, parseQuantity, type Quantity, zero } from '../../../units/quantity.js'
import type { CostDetails } from './cost-details.js'
import { costOfParts, stepsOfParts } from './price-invocation.js'
import { billedAs, RATE_PARTS, type RatePart } from './rate-sheet.js'
import { type TokenFacts, type TokenParts, tokenParts } from './token-parts.js'

/** The fields of an event that the explanation needs; a stored record has all of them. */
export type CostFacts = TokenFacts & Pick<Invocation, 'estimatedCostUsd'>

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

export interface CostExplanation {
  /** Equal to the stored cost. */
  readonly totalUsd: Quantity<'USD'>
  /** The cost that the caller stated, where it counts or is shown beside the price; decimal text. */
  readonly statedUsd: string | undefined
  /** Lines of the applied price or, with a client estimate, of the price to compare it with; empty without a price. */
  readonly lines: readonly CostLine[]
  /** The sum of the lines times the multipliers; undefined when no price applies. */
  readonly pricedUsd: Quantity<'USD'> | undefined
  /** Estimate minus price, as signed decimal text; only when both exist. */
  readonly estimateDifferenceUsd: string | undefined
  /** Tokens only: fees per call, second or image are not part of any figure here. */
  readonly scope: 'tokens'
}

export function explainCost(details: CostDetails, facts: CostFacts): CostExplanation {
  const { price, basis } = details
  const parts = price && tokenParts(facts, facts.inputTokens ?? 0, facts.outputTokens ?? 0)
  const lines = price && parts ? linesOf(parts, price.rates) : []
  const factors = (price?.multipliers ?? []).map(({ factor }) => factor)
  const pricedUsd = price && parts ? costOfParts(parts, stepsOfParts(price.rates, factors)) : undefined
  if (basis !== 'client_estimate') {
    const untrusted = details.stated_cost === 'untrusted' ? facts.estimatedCostUsd : undefined
    return {
      totalUsd: pricedUsd ?? zero(),
      statedUsd: untrusted,
      lines,
      pricedUsd,
      estimateDifferenceUsd: undefined,
      scope: 'tokens',
    }
  }
  const totalUsd = parseQuantity<'USD'>(facts.estimatedCostUsd ?? '') ?? zero<'USD'>()
  const estimateDifferenceUsd = pricedUsd === undefined ? undefined : formatDifference(totalUsd, pricedUsd)
  return { totalUsd, statedUsd: formatQuantity(totalUsd), lines, pricedUsd, estimateDifferenceUsd, scope: 'tokens' }
}

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
}
