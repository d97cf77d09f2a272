import { divideHalfEven } from '../units/half-even.js'

/** An exact or rounded number of a report: an integer count of its last digit. */
export interface Decimal {
  readonly steps: bigint
  readonly decimals: number
}

/** Rounded half to even, also below 0. @returns null where there is nothing to divide by */
export function quotient(numerator: bigint, denominator: bigint, decimals: number): Decimal | null {
  if (denominator <= 0n) return null
  const steps = divideHalfEven((numerator < 0n ? -numerator : numerator) * 10n ** BigInt(decimals), denominator)
  return { steps: numerator < 0n ? -steps : steps, decimals }
}

/** The canonical text: no exponent, no trailing zeros after the point. */
export function decimalText({ steps, decimals }: Decimal): string {
  const digits = (steps < 0n ? -steps : steps).toString().padStart(decimals + 1, '0')
  const fraction = decimals === 0 ? '' : digits.slice(-decimals).replace(/0+$/, '')
  const whole = digits.slice(0, digits.length - decimals)
  return `${steps < 0n ? '-' : ''}${whole}${fraction === '' ? '' : `.${fraction}`}`
}
