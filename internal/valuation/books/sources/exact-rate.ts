import { RATE_DECIMALS_MAX } from '../../cost/rate-sheet.js'

/**
 * Rates of other price books, from the text of their numbers, in the form of ours. Decimal arithmetic only: a rate that
 * passed through a binary number could not be compared, and would be a fraction of a cent wrong on a large bill.
 */

/** A number as JSON writes it. Bounded, so that its power of ten stays small. */
const NUMBER_TEXT = /^(\d{0,24})(?:\.(\d{0,30}))?(?:[eE]([+-]?\d{1,2}))?$/
const WHOLE_DIGITS_MAX = 9

/**
 * A number times a power of ten, divided by a count: `rateOf('1.5e-07', 6)` is `0.15`. Rounded half up to the 12
 * decimals that a rate of the book may have, which removes what binary arithmetic left (`2.4999999999999998e-06`).
 *
 * @returns undefined for what is no number, is negative, or is too large for a rate
 */
export function rateOf(text: string, power = 0, divisor = 1n): string | undefined {
  const [matched, whole = '', decimals = '', exponent = '0'] = NUMBER_TEXT.exec(text) ?? []
  if (matched === undefined || whole + decimals === '') return undefined
  const shift = Number(exponent) + power - decimals.length + RATE_DECIMALS_MAX
  const coefficient = BigInt(whole + decimals)
  const numerator = shift >= 0 ? coefficient * 10n ** BigInt(shift) : coefficient
  const denominator = shift >= 0 ? divisor : divisor * 10n ** BigInt(-shift)
  return rateText((2n * numerator + denominator) / (2n * denominator))
}

/** @param steps of 1e-12 */
function rateText(steps: bigint): string | undefined {
  const digits = steps.toString().padStart(RATE_DECIMALS_MAX + 1, '0')
  const whole = digits.slice(0, -RATE_DECIMALS_MAX)
  const decimals = digits.slice(-RATE_DECIMALS_MAX).replace(/0+$/, '')
  if (whole.length > WHOLE_DIGITS_MAX) return undefined
  return decimals === '' ? whole : `${whole}.${decimals}`
}

/** A rate in the one form that `rateOf` writes: `0.30` and `.3` are `0.3`. */
export const canonicalRate = (rate: string): string => rateOf(rate) ?? rate
