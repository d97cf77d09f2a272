import { withoutDoubleNoise } from '../../text/double-digits.js'
import { AMOUNT_STEPS_MAX, formatQuantity, QUANTITY_SCALE, type Quantity } from '../../units/quantity.js'

/**
 * Amounts as other systems write them: floats in JSON, with exponents and more digits than an event may have. They are
 * read from their digits, never as a float, and rounded at 18 places.
 */

const NUMBER = /^(-?)(\d{1,40})(?:\.(\d{0,40}))?(?:[eE]([+-]?\d{1,3}))?$/

/** @returns steps of 1e-18, may be negative; undefined when it is no number, or no amount that a call can cost */
export function amountSteps(text: unknown): bigint | undefined {
  const match = typeof text === 'string' ? NUMBER.exec(text) : null
  if (match === null) return undefined
  const [, sign, whole = '', fraction = '', exponent = '0'] = match
  const places = fraction.length - Number(exponent)
  const digits = BigInt(whole + fraction)
  const shift = QUANTITY_SCALE - places
  if (shift > QUANTITY_SCALE * 2) return digits === 0n ? 0n : undefined
  const steps = shift >= 0 ? digits * 10n ** BigInt(shift) : shift < -120 ? 0n : rounded(digits, 10n ** BigInt(-shift))
  if (steps > AMOUNT_STEPS_MAX) return undefined
  return sign === '-' ? -steps : steps
}

/** Half up: a cost is never negative before its sign. */
const rounded = (digits: bigint, unit: bigint): bigint => (digits + unit / 2n) / unit

/** The same of a number that was a double where it was decoded: an attribute of a span. */
export const amountStepsOf = (value: unknown): bigint | undefined =>
  amountSteps(typeof value === 'number' ? withoutDoubleNoise(String(value)) : value)

/** @returns the decimal text of an event; undefined for nothing and for less */
export const amountText = (steps: bigint | undefined): string | undefined =>
  steps === undefined || steps <= 0n ? undefined : formatQuantity(steps as Quantity<'USD'>)
