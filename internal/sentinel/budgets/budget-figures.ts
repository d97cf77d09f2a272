import { divideHalfEven } from '../../units/half-even.js'
import { formatQuantity, type Quantity, quantityOfSteps } from '../../units/quantity.js'
import type { Period } from './budget-period.js'

/** A budget's figures of the spend in a period. All texts are decimals. */
export interface Figures {
  readonly spent_usd: string
  readonly percent: string
  /** Null as long as too little of the period has passed. */
  readonly forecast_usd: string | null
  readonly forecast_percent: string | null
}

/** No forecast before this part of the period has passed: an hour of a day, 30 hours of a month of 30 days. */
export const FORECAST_AFTER = 24

/** Decimals of a percentage. Cut, not rounded: 100 is never shown before the ceiling is reached. */
const PERCENT_DECIMALS = 2n
/** Steps of 1e-18 USD in the last of the six decimals of a forecast. */
const FORECAST_STEP = 10n ** 12n

/** @param spent below 0 only where a stored sum ran over its column */
export function figuresOf(spent: Quantity<'USD'>, ceiling: Quantity<'USD'>, period: Period, nowMs: number): Figures {
  const forecast = forecastOf(spent, period, nowMs)
  return {
    spent_usd: formatQuantity(spent),
    percent: percentOf(spent, ceiling),
    forecast_usd: forecast === undefined ? null : formatQuantity(forecast),
    forecast_percent: forecast === undefined ? null : percentOf(forecast, ceiling),
  }
}

/**
 * The cost of a whole period if its calls keep costing as much per hour as until now: spent × length ÷ elapsed,
 * rounded half to even to six decimals. What was spent, once the period is over.
 *
 * @returns undefined as long as less than a twenty-fourth of the period has passed, because an hour's calls say nothing
 *   about a month
 */
export function forecastOf(
  spent: Quantity<'USD'>,
  { fromMs, toMs }: Pick<Period, 'fromMs' | 'toMs'>,
  nowMs: number,
): Quantity<'USD'> | undefined {
  if (nowMs >= toMs || spent < 0n) return spent
  const elapsedMs = nowMs - fromMs
  const lengthMs = toMs - fromMs
  if (elapsedMs * FORECAST_AFTER < lengthMs) return undefined
  const steps = divideHalfEven(spent * BigInt(lengthMs), BigInt(elapsedMs) * FORECAST_STEP) * FORECAST_STEP
  return quantityOfSteps<'USD'>(steps)
}

function percentOf(amount: Quantity<'USD'>, ceiling: Quantity<'USD'>): string {
  const scale = 10n ** PERCENT_DECIMALS
  const hundredths = (amount * 100n * scale) / ceiling
  const sign = hundredths < 0n ? '-' : ''
  const digits = String(hundredths < 0n ? -hundredths : hundredths).padStart(3, '0')
  return `${sign}${digits.slice(0, -2)}.${digits.slice(-2)}`
}
