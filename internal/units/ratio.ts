/**
 * Exact fractions of bigints, for coefficients that no finite decimal holds (a third, the inverse of a speed).
 * They are worked out once per model and table; the hot path sees plain bigints over one common denominator.
 */
export interface Ratio {
  /** 0 or more. */
  readonly numerator: bigint
  /** Above 0; no common factor with the numerator. */
  readonly denominator: bigint
}

export const NOTHING: Ratio = { numerator: 0n, denominator: 1n }

/** Reads a plain decimal such as "0.0394" or "440". Throws on anything else: coefficients come from our own files. */
export function ratio(text: string): Ratio {
  if (!/^\d+(?:\.\d+)?$/.test(text)) throw new RangeError(`not a plain decimal: ${text}`)
  const point = text.indexOf('.')
  if (point < 0) return { numerator: BigInt(text), denominator: 1n }
  return reduced(BigInt(text.slice(0, point) + text.slice(point + 1)), 10n ** BigInt(text.length - point - 1))
}

export function add(...terms: readonly Ratio[]): Ratio {
  return terms.reduce((a, b) =>
    reduced(a.numerator * b.denominator + b.numerator * a.denominator, a.denominator * b.denominator),
  )
}

export function multiply(...factors: readonly Ratio[]): Ratio {
  return factors.reduce((a, b) => reduced(a.numerator * b.numerator, a.denominator * b.denominator))
}

/** Throws when `divisor` is zero. */
export function divide(dividend: Ratio, divisor: Ratio): Ratio {
  if (divisor.numerator === 0n) throw new RangeError('division by zero')
  return reduced(dividend.numerator * divisor.denominator, dividend.denominator * divisor.numerator)
}

/** The smallest integer that is not below the fraction. */
export function ceiling({ numerator, denominator }: Ratio): bigint {
  return (numerator + denominator - 1n) / denominator
}

/** The fractions' numerators over their least common denominator, in the same order. */
export function overCommonDenominator(ratios: readonly Ratio[]): { numerators: bigint[]; denominator: bigint } {
  const denominator = ratios.reduce((common, { denominator: own }) => (common / gcd(common, own)) * own, 1n)
  return { numerators: ratios.map((each) => each.numerator * (denominator / each.denominator)), denominator }
}

function reduced(numerator: bigint, denominator: bigint): Ratio {
  const common = gcd(numerator, denominator)
  return { numerator: numerator / common, denominator: denominator / common }
}

function gcd(a: bigint, b: bigint): bigint {
  while (b !== 0n) [a, b] = [b, a % b]
  return a
}
