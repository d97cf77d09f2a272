import type { Invocation } from '../../invocations/invocation.js'
import { formatQuantity } from '../../units/quantity.js'
import type { AppliedConvention, CostDetails, OtherReading } from './cost-details.js'
import type { CostResult } from './price-invocation.js'

/**
 * The cost of a call whose sender's counts can be read in two ways: that of the first reading. If the other one costs
 * more than 1 % more or less, or only one of them has a price, the details show it: the usage is ambiguous.
 *
 * @param convention by which the first reading was chosen: then it alone counts
 */
export function priceReadings(
  invocation: Invocation,
  price: (invocation: Invocation) => CostResult,
  convention?: AppliedConvention,
): CostResult {
  const cost = price(invocation)
  if (convention !== undefined) return withDetails(cost, { usage_convention: convention })
  if (!hasTwoReadings(invocation)) return cost
  const read = otherReading(invocation)
  const other = price(read)
  if (!differ(cost, other)) return cost
  const shown: OtherReading = {
    input_tokens: read.inputTokens ?? null,
    output_tokens: read.outputTokens ?? null,
    cost_usd: other.basis === 'unpriced' ? null : formatQuantity(other.costUsd),
    ...(invocation.usageBasis !== undefined && { usage_basis: invocation.usageBasis }),
  }
  return withDetails(cost, { other_reading: shown })
}

function withDetails(cost: CostResult, more: Partial<CostDetails>): CostResult {
  const details = { ...cost.details, ...more }
  return { ...cost, details, detailsJson: JSON.stringify(details) }
}

export const hasTwoReadings = ({ alternativeInputTokens, alternativeOutputTokens }: Invocation): boolean =>
  alternativeInputTokens !== undefined || alternativeOutputTokens !== undefined

/** The event with the counts of the other reading first. A count that it does not state is the same in both. */
export const otherReading = (invocation: Invocation): Invocation => ({
  ...invocation,
  inputTokens: invocation.alternativeInputTokens ?? invocation.inputTokens,
  outputTokens: invocation.alternativeOutputTokens ?? invocation.outputTokens,
  alternativeInputTokens: invocation.inputTokens,
  alternativeOutputTokens: invocation.outputTokens,
})

/** Of the smaller cost, so that it is the same whichever reading stands first. */
const PERCENT = 100n

function differ(one: CostResult, other: CostResult): boolean {
  const isPriced = one.basis !== 'unpriced'
  if (isPriced !== (other.basis !== 'unpriced')) return true
  const [smaller, larger] = one.costUsd < other.costUsd ? [one.costUsd, other.costUsd] : [other.costUsd, one.costUsd]
  return (larger - smaller) * PERCENT > smaller
}
