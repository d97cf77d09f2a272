import { createHash } from 'node:crypto'
import { BILLED_UNITS, type BilledUnit } from '../../text/call-words.js'
import { formatQuantity, quantityOfSteps } from '../../units/quantity.js'
import type { CostDetails } from './cost-details.js'
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
  const steps = stepsOfParts(
    price.rates,
    (price.multipliers ?? []).map(({ factor }) => factor),
  )
  const amounts = RATE_PARTS.map((part) => [part, formatQuantity(quantityOfSteps<'USD'>(steps[part]))] as const)
  const { fees = {}, units = {} } = price
  const ofTools = BILLED_TOOLS.map((tool) => [tool, fees[tool] ?? '0'] as const)
  const ofUnits = BILLED_UNITS.map((unit) => [unit, units[unit] ?? '0'] as const)
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
    usdPerUnit: Object.fromEntries([...amounts, ...ofTools, ...ofUnits]) as AppliedUnitPrices['usdPerUnit'],
  }
}

const LATER_PARTS: ReadonlySet<RatePart> = new Set(['image_input', 'image_output', 'image_cache_read'])
