/** Whether the cost that a caller states for a call can be right. */
import type { TenantSettings } from '../../auth/tenant.js'
import { parseQuantity, type Quantity, zero } from '../../units/quantity.js'

/** A tenant's limits of stated costs. */
export interface CostLimits {
  /** A stated cost may be this many times the price, or this part of it. */
  readonly factor: bigint
  /** Per call. */
  readonly ceilingUsd: Quantity<'USD'>
}

/** A thousandth of a cent: gateways round costs to a few decimals, so smaller differences prove nothing. */
const ROUNDING_USD = parseQuantity<'USD'>('0.00001') ?? zero<'USD'>()

/**
 * Whether a stated cost is above the ceiling, or far from the price. A price of zero is no measure: only the ceiling
 * applies beside it.
 *
 * @param pricedUsd undefined if no price applies
 */
export function isImplausible(
  statedUsd: Quantity<'USD'>,
  pricedUsd: Quantity<'USD'> | undefined,
  { factor, ceilingUsd }: CostLimits,
): boolean {
  if (statedUsd > ceilingUsd) return true
  if (pricedUsd === undefined || pricedUsd === 0n) return false
  const [less, more] = statedUsd < pricedUsd ? [statedUsd, pricedUsd] : [pricedUsd, statedUsd]
  return more > less * factor && more - less > ROUNDING_USD
}

/** The limits in a tenant's settings; the same object for the same settings. */
export function costLimits(settings: TenantSettings): CostLimits {
  const known = LIMITS.get(settings)
  if (known !== undefined) return known
  const limits: CostLimits = {
    factor: BigInt(settings.stated_cost_factor),
    ceilingUsd: parseQuantity<'USD'>(settings.stated_cost_ceiling_usd) ?? zero<'USD'>(),
  }
  LIMITS.set(settings, limits)
  return limits
}

const LIMITS = new WeakMap<TenantSettings, CostLimits>()
