import type { CostBound } from '../../records/bases.js'
import { flagsOfAssumed, usedOf } from './assumed-from.js'
import { COST_FLAGS, type CostDetails, type CostFlag } from './cost-details.js'
import { billedAs, CACHED_PARTS, type CachedPart, isZero, type Rates, stepsPerToken, UNCACHED } from './rate-sheet.js'
import { partsBilled, type TokenParts } from './token-parts.js'

/** What a cost says of the true one, where the price does not know all of the call. */

/** Nobody charges more for cached tokens than for uncached ones; `books/book-guard.ts` holds such a row back. */
const AT_INPUT_RATE: CostFlag = 'cache_read_rate_missing'

/** Whether cached tokens of a call are billed as uncached, since no rate of theirs is known. Free ones cost no less. */
export const isCacheAtInputRate = (rates: Rates, isThere: (part: CachedPart) => boolean): boolean =>
  CACHED_PARTS.some((part) => isThere(part) && isUnrated(part, rates) && !isZero(uncachedRate(part, rates) ?? '0'))

/**
 * The rates with those of cached audio and images that have none, and that cost otherwise than text when they are not
 * cached: the rate of cached text would be too low, and they are billed as uncached.
 */
export function withUncachedRates(rates: Rates, isThere: (part: CachedPart) => boolean): Rates {
  const unrated = CACHED_PARTS.filter((part) => isThere(part) && isUnrated(part, rates) && isPricedApart(part, rates))
  if (unrated.length === 0) return rates
  return { ...rates, ...Object.fromEntries(unrated.map((part) => [part, uncachedRate(part, rates)])) }
}

const isUnrated = (part: CachedPart, rates: Rates): boolean =>
  rates[part] === undefined && (billedAs(part, rates) === 'input' || isPricedApart(part, rates))

function isPricedApart(part: CachedPart, rates: Rates): boolean {
  const own = rates[UNCACHED[part]]
  return own !== undefined && rates.input !== undefined && stepsPerToken(own, []) !== stepsPerToken(rates.input, [])
}

const uncachedRate = (part: CachedPart, rates: Rates): string | undefined => rates[UNCACHED[part]] ?? rates.input

/**
 * Of the cost that counts: `upper` with cached tokens at the input rate, `lower` where it lacks what has no price. With
 * both it is neither. A cost that the caller stated is no bound, whatever price stands beside it. `upper` speaks of the
 * cached tokens: what is assumed of other ones, each a doubt of its own, may be too low.
 */
export function costBoundOf(details: CostDetails): CostBound | undefined {
  const { basis } = details
  const isAbove = isAtInputRate(details)
  if (basis === 'unpriced') return isAbove ? undefined : 'lower'
  return isAbove && (basis === 'price_book' || basis === 'tenant_price') ? 'upper' : undefined
}

const isAtInputRate = ({ price }: CostDetails): boolean => price?.flags?.includes(AT_INPUT_RATE) === true

/** Whether the cost is an upper bound, and was computed for a tenant that charges none back. */
export const isUnchargedBound = (details: CostDetails): boolean =>
  costBoundOf(details) === 'upper' && details.upper_bound_charged !== true

/** Details, and the same as JSON. */
interface Detailed {
  readonly details: CostDetails
  readonly detailsJson: string
}

/** A cost of a tenant that charges upper bounds back; the same details for the same price. */
export function withChargedBound<Cost extends Detailed>(cost: Cost): Cost {
  if (!isAtInputRate(cost.details)) return cost
  let charged = CHARGED.get(cost.details)
  if (charged === undefined) {
    const details = Object.freeze({ ...cost.details, upper_bound_charged: true as const })
    charged = { details, detailsJson: JSON.stringify(details) }
    CHARGED.set(cost.details, charged)
  }
  return { ...cost, ...charged }
}

const CHARGED = new WeakMap<CostDetails, Detailed>()

/**
 * The details of a price for other parts than it was chosen for: those that another event of the call states.
 *
 * @param charged whether the tenant charges upper bounds back
 */
export function withParts(details: CostDetails, parts: TokenParts, charged: boolean): CostDetails {
  const { price } = details
  if (price === undefined) return details
  const isThere = (part: CachedPart): boolean => parts[part] > 0
  const rates = withUncachedRates(price.rates, isThere)
  const known = new Set(price.flags)
  const added = [
    ...(isCacheAtInputRate(price.rates, isThere) ? [AT_INPUT_RATE] : []),
    ...flagsOfAssumed(usedOf(price.assumed ?? [], partsBilled(parts, rates))),
  ].filter((flag) => !known.has(flag))
  if (added.length === 0) return rates === price.rates ? details : { ...details, price: { ...price, rates } }
  const confidence = Math.min(price.confidence, ...added.map((flag) => COST_FLAGS[flag] / 100))
  return {
    ...details,
    price: { ...price, rates, confidence, flags: [...known, ...added] },
    ...(charged && added.includes(AT_INPUT_RATE) && { upper_bound_charged: true }),
  }
}
