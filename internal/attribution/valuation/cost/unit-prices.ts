import { createHash } from 'node:crypto'
import type { ServiceTier } from '../../../invocations/invocation.js'
import { formatQuantity, quantityOfSteps } from '../../../units/quantity.js'
import type { CostDetails } from './cost-details.js'
import { stepsOfParts } from './price-invocation.js'
import { RATE_PARTS, type RatePart } from './rate-sheet.js'

/** The price of each kind of tokens according to the price book, including factors. */
export interface AppliedUnitPrices {
  /** Permanent name of these prices: the service tier and a digest of the amounts. */
  readonly price: string
  readonly serviceTier: ServiceTier
  /** USD per token, by part. */
  readonly usdPerToken: Readonly<Record<RatePart, string>>
}

/**
 * The prices in the stored details of a record. The token parts times these prices give exactly the cost of the record.
 *
 * @returns undefined when no price of the book was applied
 */
export function unitPricesIn(costDetails: string): AppliedUnitPrices | undefined {
  const { basis, price } = JSON.parse(costDetails) as CostDetails
  if (basis !== 'price_book' || price === undefined) return undefined
  const steps = stepsOfParts(
    price.rates,
    (price.multipliers ?? []).map(({ factor }) => factor),
  )
  const amounts = RATE_PARTS.map((part) => [part, formatQuantity(quantityOfSteps<'USD'>(steps[part]))] as const)
  const digest = createHash('sha256').update(JSON.stringify(amounts)).digest('hex').slice(0, 10)
  return {
    price: `${price.service_tier}-${digest}`,
    serviceTier: price.service_tier,
    usdPerToken: Object.fromEntries(amounts) as Record<RatePart, string>,
  }
}
