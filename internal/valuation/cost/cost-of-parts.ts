import { QUANTITY_STEPS_MAX, type Quantity, quantityOfSteps } from '../../units/quantity.js'
import { billedAs, RATE_PARTS, type RatePart, type Rates, stepsPerToken } from './rate-sheet.js'
import type { TokenParts } from './token-parts.js'

/**
 * The cost of these parts at these rates; the explanation uses the same formula.
 *
 * @throws RangeError when the cost exceeds the maximum quantity of a record
 */
export function costOfParts(parts: TokenParts, stepsOfPart: StepsOfPart): Quantity<'USD'> {
  let steps = 0n
  if (parts.input !== 0) steps += BigInt(parts.input) * stepsOfPart.input
  if (parts.output !== 0) steps += BigInt(parts.output) * stepsOfPart.output
  if (parts.cache_read !== 0) steps += BigInt(parts.cache_read) * stepsOfPart.cache_read
  if (parts.cache_write !== 0) steps += BigInt(parts.cache_write) * stepsOfPart.cache_write
  if (parts.cache_write_1h !== 0) steps += BigInt(parts.cache_write_1h) * stepsOfPart.cache_write_1h
  if (parts.reasoning !== 0) steps += BigInt(parts.reasoning) * stepsOfPart.reasoning
  if (parts.audio_input !== 0) steps += BigInt(parts.audio_input) * stepsOfPart.audio_input
  if (parts.audio_output !== 0) steps += BigInt(parts.audio_output) * stepsOfPart.audio_output
  if (parts.audio_cache_read !== 0) steps += BigInt(parts.audio_cache_read) * stepsOfPart.audio_cache_read
  if (parts.image_input !== 0) steps += BigInt(parts.image_input) * stepsOfPart.image_input
  if (parts.image_output !== 0) steps += BigInt(parts.image_output) * stepsOfPart.image_output
  if (parts.image_cache_read !== 0) steps += BigInt(parts.image_cache_read) * stepsOfPart.image_cache_read
  if (steps > QUANTITY_STEPS_MAX) throw new RangeError('the cost exceeds the maximum quantity of a record')
  return quantityOfSteps<'USD'>(steps)
}

/** Price of each part in steps of 1e-18 USD per token, including factors. */
export type StepsOfPart = Readonly<Record<RatePart, bigint>>

/** Throws when a rate times its factors has more decimals than a step holds; books are checked when they are built. */
export function stepsOfParts(rates: Rates, factors: readonly string[]): StepsOfPart {
  const steps: Partial<Record<RatePart, bigint>> = {}
  for (const part of RATE_PARTS) {
    const rate = rates[billedAs(part, rates)] ?? '0'
    const perToken = stepsPerToken(rate, factors)
    if (perToken === undefined) throw new RangeError(`${rate} USD x ${factors.join(' x ')} cannot be held exactly`)
    steps[part] = perToken
  }
  return steps as StepsOfPart
}
