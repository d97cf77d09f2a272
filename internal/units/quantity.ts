/**
 * Exact amounts of money, energy and carbon: fixed-point decimals on bigint, 18 places, as wide as the read
 * model's Decimal(38, 18). Nothing here rounds; `half-even.ts` is the one place that does.
 */

export type Unit = 'USD' | 'Wh' | 'gCO2e'

declare const unit: unique symbol

/**
 * An amount in steps of 1e-18 of its unit, 0 or more; only a sum that the read model has stored may be below it
 * (`parseSum`). The unit is part of the type: adding USD to Wh does not compile. At run time it is a plain bigint.
 */
export type Quantity<U extends Unit> = bigint & { readonly [unit]: U }

export const QUANTITY_SCALE = 18

/** Steps of a quantity in one whole unit: 10^18. */
export const STEPS_PER_UNIT = 1_000_000_000_000_000_000n

/** The most that a column Decimal(38, 18) holds by its name. */
export const QUANTITY_STEPS_MAX = 10n ** 38n - 1n

/** The most that one call may have cost or used: 12 digits before the point, of which sums stay within the column. */
export const AMOUNT_STEPS_MAX = 10n ** 12n * STEPS_PER_UNIT - 1n

/** The wire's grammar of a quantity: no sign, no exponent, at most 20 digits before the point and 18 after it. */
const QUANTITY_PATTERN = /^\d{1,20}(?:\.\d{1,18})?$/

/** Reads the wire's decimal text; undefined for anything else (a sign, an exponent, too many digits). */
export function parseQuantity<U extends Unit>(text: string): Quantity<U> | undefined {
  if (!QUANTITY_PATTERN.test(text)) return undefined
  const point = text.indexOf('.')
  if (point < 0) return (BigInt(text) * STEPS_PER_UNIT) as Quantity<U>
  const decimals = text.length - point - 1
  return BigInt(text.slice(0, point) + text.slice(point + 1) + ZEROS.slice(decimals)) as Quantity<U>
}

/**
 * Reads a sum of amounts as the read model gives it. It may have more digits than an amount, and be below 0 where it
 * ran over its column while events could state larger amounts.
 *
 * @throws RangeError for anything else: a figure that cannot be read is never taken for 0
 */
export function parseSum<U extends Unit>(text: string): Quantity<U> {
  const match = /^(-?)(\d{1,39})(?:\.(\d{1,18}))?$/.exec(text)
  if (match === null) throw new RangeError('the sum is not a decimal')
  const [, sign = '', whole = '', decimals = ''] = match
  return BigInt(`${sign}${whole}${decimals.padEnd(QUANTITY_SCALE, '0')}`) as Quantity<U>
}

/** The canonical decimal text: no exponent, no trailing zeros after the point, "0" for nothing. */
export function formatQuantity(quantity: Quantity<Unit>): string {
  return formatSteps(quantity)
}

/** The same for a difference of quantities, which may be negative and is therefore no quantity itself. */
export function formatDifference<U extends Unit>(minuend: Quantity<U>, subtrahend: Quantity<U>): string {
  return formatSteps(minuend - subtrahend)
}

export function plus<U extends Unit>(left: Quantity<U>, right: Quantity<U>): Quantity<U> {
  return (left + right) as Quantity<U>
}

export function sum<U extends Unit>(quantities: Iterable<Quantity<U>>): Quantity<U> {
  let total = 0n
  for (const quantity of quantities) total += quantity
  return total as Quantity<U>
}

export function zero<U extends Unit>(): Quantity<U> {
  return 0n as Quantity<U>
}

/** Steps that a rule computed exactly, as the quantity they are. Throws on a negative amount: that is a defect. */
export function quantityOfSteps<U extends Unit>(steps: bigint): Quantity<U> {
  if (steps < 0n) throw new RangeError(`a quantity is never negative: ${steps} steps`)
  return steps as Quantity<U>
}

function formatSteps(steps: bigint): string {
  if (steps === 0n) return '0'
  if (steps < 0n) return `-${formatSteps(-steps)}`
  const digits = steps.toString()
  const whole = digits.length > QUANTITY_SCALE ? digits.slice(0, -QUANTITY_SCALE) : '0'
  const fraction = digits.length > QUANTITY_SCALE ? digits.slice(-QUANTITY_SCALE) : digits.padStart(QUANTITY_SCALE, '0')
  let end = QUANTITY_SCALE
  while (end > 0 && fraction.charCodeAt(end - 1) === ZERO) end -= 1
  return end === 0 ? whole : `${whole}.${fraction.slice(0, end)}`
}

const ZEROS = '0'.repeat(QUANTITY_SCALE)
const ZERO = 48
