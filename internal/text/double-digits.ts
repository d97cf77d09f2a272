/**
 * Digits of a double that carry meaning: it holds any decimal of 15 digits, and sums of such decimals differ from the
 * exact one behind them (IEEE 754; `DBL_DIG` of C).
 */
const EXACT_DIGITS = 15
/** The shortest text that names a double has no more (`repr` of Python, `String` of JavaScript). */
const DOUBLE_DIGITS_MAX = 17

/**
 * A number as programs print a double, without the noise of its arithmetic: 0.00021779999999999998 is 0.0002178. What
 * has fewer digits is exact, and what has more was never a double; both stay as they are.
 *
 * @param digits a JSON number
 */
export function withoutDoubleNoise(digits: string): string {
  if (digits.length <= EXACT_DIGITS) return digits
  const [, sign = '', whole = '', fraction = '', exponent = '0'] = NUMBER.exec(digits) ?? []
  const significant = (whole + fraction).replace(/^0+/, '')
  const meaningful = significant.replace(/0+$/, '').length
  if (meaningful <= EXACT_DIGITS || meaningful > DOUBLE_DIGITS_MAX) return digits
  const dropped = significant.length - EXACT_DIGITS
  const unit = 10n ** BigInt(dropped)
  const rounded = (BigInt(significant) + unit / 2n) / unit
  return `${sign}${rounded}e${Number(exponent) - fraction.length + dropped}`
}

const NUMBER = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/
