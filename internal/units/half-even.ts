/**
 * The one place where an amount is rounded. Banker's rounding: to the nearest integer, a tie to the even one, so
 * that sums of many rounded values carry no bias.
 *
 * @param numerator 0 or more
 * @param denominator above 0
 */
export function divideHalfEven(numerator: bigint, denominator: bigint): bigint {
  const quotient = numerator / denominator
  const twice = (numerator - quotient * denominator) * 2n
  if (twice < denominator) return quotient
  if (twice > denominator) return quotient + 1n
  return (quotient & 1n) === 0n ? quotient : quotient + 1n
}
