import { createHash } from 'node:crypto'
import { formatQuantity, quantityOfSteps } from '../../units/quantity.js'
import type { CostDetails } from './cost-details.js'
import { stepsOfParts } from './price-invocation.js'
import { BILLED_TOOLS, type BilledTool, RATE_PARTS, type RatePart, type SheetTier } from './rate-sheet.js'

/** The price of each kind of tokens, and of a call of each tool, according to the price book, including factors. */
export interface AppliedUnitPrices {
  /** Permanent name of these prices: the service tier and a digest of the amounts. */
  readonly price: string
  readonly serviceTier: SheetTier
  /** USD per token, by part, and per call, by tool; 0 for tools that no record with this price used. */
  readonly usdPerUnit: Readonly<Record<RatePart | BilledTool, string>>
}

/**
 * The prices in the stored details of a record. The token parts and tool calls times these prices give exactly the cost
 * of the record.
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
  const { fees = {} } = price
  const ofTools = BILLED_TOOLS.map((tool) => [tool, fees[tool] ?? '0'] as const)
  // Later parts are named only where they have a price of their own: the name of a price that has none must not change.
  const named = [
    ...amounts.filter(([part]) => !LATER_PARTS.has(part) || price.rates[part] !== undefined),
    ...ofTools.filter(([tool]) => fees[tool] !== undefined),
  ]
  const digest = createHash('sha256').update(JSON.stringify(named)).digest('hex').slice(0, 10)
  return {
    price: `${price.service_tier}-${digest}`,
    serviceTier: price.service_tier,
    usdPerUnit: Object.fromEntries([...amounts, ...ofTools]) as Record<RatePart | BilledTool, string>,
  }
}

const LATER_PARTS: ReadonlySet<RatePart> = new Set(['image_input', 'image_output', 'image_cache_read'])
