/** What a call is billed besides tokens and tools: a quantity of each unit (seconds, pages, ...) times a price each. */
import type { Invocation } from '../../invocations/invocation.js'
import { BILLED_UNITS, type BilledUnit } from '../../text/call-words.js'
import { parseQuantity, type Quantity, quantityOfSteps } from '../../units/quantity.js'
import { stepsPerCall, type UnitRates } from './rate-sheet.js'

/** The field of an event that states them: decimal texts by unit. */
export type UnitFacts = Pick<Invocation, 'billedUnits'>

/** Quantities count to a millionth of their unit: times any price, they are then whole steps. */
export const MILLIONTHS = 1_000_000n

/** The units of which anything is billed, in the order of the list. */
export const unitsBilled = (facts: UnitFacts): readonly BilledUnit[] =>
  facts.billedUnits === undefined ? NONE : BILLED_UNITS.filter((unit) => millionthsOf(facts, unit) > 0n)
const NONE: readonly BilledUnit[] = []

/** How much of a unit is billed, rounded half up: recorders write a duration with the digits of a double. */
export function millionthsOf({ billedUnits }: UnitFacts, unit: BilledUnit): bigint {
  const steps = parseQuantity(billedUnits?.[unit] ?? '0') ?? 0n
  return (steps + STEPS_PER_MILLIONTH / 2n) / STEPS_PER_MILLIONTH
}
const STEPS_PER_MILLIONTH = 1_000_000_000_000n

/** Exact. A unit without a price adds nothing: the caller says so. */
export function costOfUnits(facts: UnitFacts, rates: UnitRates): Quantity<'USD'> {
  let steps = 0n
  for (const unit of unitsBilled(facts)) {
    const rate = rates[unit]
    // A price has at most 12 decimals of the 18 of a step, so that a millionth of it is whole.
    if (rate !== undefined) steps += (millionthsOf(facts, unit) * stepsPerCall(rate)) / MILLIONTHS
  }
  return quantityOfSteps<'USD'>(steps)
}

/** The prices of the units of a call. */
export interface UnitRatesOfCall {
  readonly rates: UnitRates
  /** Billed units that have none. */
  readonly missing: readonly BilledUnit[]
  /** Whether one of them is the book's although the price is the tenant's. */
  readonly isFromBook: boolean
}

/** @param own of the price that applies @param ofBook of the price book, where that price is the tenant's */
export function unitRatesFor(units: readonly BilledUnit[], own: UnitRates, ofBook: UnitRates): UnitRatesOfCall {
  if (units.length === 0) return NO_UNITS
  const rates: Partial<Record<BilledUnit, string>> = {}
  for (const unit of units) {
    const rate = own[unit] ?? ofBook[unit]
    if (rate !== undefined) rates[unit] = rate
  }
  return {
    rates,
    missing: units.filter((unit) => rates[unit] === undefined),
    isFromBook: units.some((unit) => own[unit] === undefined && ofBook[unit] !== undefined),
  }
}
const NO_UNITS: UnitRatesOfCall = { rates: {}, missing: [], isFromBook: false }
