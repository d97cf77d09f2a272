import { createHash } from 'node:crypto'
import type { CostBasis } from '../../records/bases.js'
import { BILLED_UNITS, type BilledUnit } from '../../text/call-words.js'
import { formatQuantity, quantityOfSteps } from '../../units/quantity.js'
import type { AppliedPrice, CostDetails } from './cost-details.js'
import { stepsOfParts } from './cost-of-parts.js'
import { BILLED_TOOLS, type BilledTool, RATE_PARTS, type RatePart, type SheetTier } from './rate-sheet.js'

/** The price of each kind of tokens, a call of each tool and each other unit in the price book, including factors. */
export interface AppliedUnitPrices {
  /** Permanent name of these prices: the service tier and a digest of the amounts. */
  readonly price: string
  readonly serviceTier: SheetTier
  /** USD per token, by part, per call, by tool, and per unit; 0 for tools and units that no record with it used. */
  readonly usdPerUnit: Readonly<Record<RatePart | BilledTool | BilledUnit, string>>
}

/**
 * The prices in the stored details of a record. The token parts, tool calls and units times these prices give exactly
 * the cost
 * of the record.
 *
 * @returns undefined when no price of the book was applied
 */
export function unitPricesIn(costDetails: string): AppliedUnitPrices | undefined {
  const { basis, price } = JSON.parse(costDetails) as CostDetails
  if (basis !== 'price_book' || price === undefined) return undefined
  const { fees = {}, units = {} } = price
  const usdPerUnit = usdPerUnitOf(price)
  const amounts = RATE_PARTS.map((part) => [part, usdPerUnit[part]] as const)
  const ofTools = BILLED_TOOLS.map((tool) => [tool, usdPerUnit[tool]] as const)
  const ofUnits = BILLED_UNITS.map((unit) => [unit, usdPerUnit[unit]] as const)
  // Later parts are named only where they have a price of their own: the name of a price that has none must not change.
  const named = [
    ...amounts.filter(([part]) => !LATER_PARTS.has(part) || price.rates[part] !== undefined),
    ...ofTools.filter(([tool]) => fees[tool] !== undefined),
    ...ofUnits.filter(([unit]) => units[unit] !== undefined),
  ]
  const digest = createHash('sha256').update(JSON.stringify(named)).digest('hex').slice(0, 10)
  return {
    price: `${price.service_tier}-${digest}`,
    serviceTier: price.service_tier,
    usdPerUnit,
  }
}

/** Of costs that consist of prices; those of `unpriced` calls lack what has none. */
export const PRICED_BASES = ['price_book', 'tenant_price', 'unpriced'] as const satisfies readonly CostBasis[]

/** The prices in the stored details of a record whose cost they are; undefined for any other cost. */
export function pricesInCost(costDetails: string): AppliedUnitPrices['usdPerUnit'] | undefined {
  const { basis, price } = JSON.parse(costDetails) as CostDetails
  return price !== undefined && PRICED_BASES.some((priced) => priced === basis) ? usdPerUnitOf(price) : undefined
}

export function usdPerUnitOf({ rates, multipliers = [], fees = {}, units = {} }: AppliedPrice) {
  const steps = stepsOfParts(
    rates,
    multipliers.map(({ factor }) => factor),
  )
  return Object.fromEntries([
    ...RATE_PARTS.map((part) => [part, formatQuantity(quantityOfSteps<'USD'>(steps[part]))]),
    ...BILLED_TOOLS.map((tool) => [tool, fees[tool] ?? '0']),
    ...BILLED_UNITS.map((unit) => [unit, units[unit] ?? '0']),
  ]) as AppliedUnitPrices['usdPerUnit']
}

const LATER_PARTS: ReadonlySet<RatePart> = new Set(['image_input', 'image_output', 'image_cache_read'])
