import { createHash } from 'node:crypto'
import type { ServiceTier } from '../../../invocations/invocation.js'
import { formatQuantity, quantityOfSteps } from '../../../units/quantity.js'
import type { CostDetails } from './cost-details.js'
import { stepsOfParts } from './price-invocation.js'
import { RATE_PARTS, type RatePart } from './rate-sheet.js'

/** What each kind of tokens cost where the price book priced it, factors included. */
export interface AppliedUnitPrices {
  /** Names these prices, for ever: the service tier, and a digest of the amounts. */
  readonly price: string
  readonly serviceTier: ServiceTier
  /** USD a token, by part. */
  readonly usdPerToken: Readonly<Record<RatePart, string>>
}

/**
 * The prices in a record's stored details. Token parts times these are the record's cost, to the last digit.
 *
 * @returns undefined where no price of the book was applied
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
