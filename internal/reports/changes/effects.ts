import { divideHalfEven } from '../../units/half-even.js'

/**
 * Why a cost differs between two periods: a price-volume variance analysis, in which calls are the volume, and tokens
 * per call and dollars per token the price. Pure, exact.
 *
 * With C the cost, N the priced calls and T their tokens, 0 before and 1 now:
 *
 *   volume = C0 × N1/N0 - C0                    as many calls more or fewer, each as before
 *   size   = C0 × T1/T0 - C0 × N1/N0            these calls with more or fewer tokens each
 *   price  = C1 - C0 × T1/T0                    these tokens at other prices, or in another mix of kinds
 *
 * The sum is C1 - C0. Two products are rounded, half to even, to 18 decimals, and each occurs in two effects with
 * opposite signs: so the sum is exact.
 */

/** What a group of calls was in one period. */
export interface Side {
  /** 10^-18 USD */
  readonly cost: bigint
  readonly calls: bigint
  readonly tokens: bigint
  /** Of the calls, those without a price; they cost nothing. */
  readonly unpricedCalls: bigint
}

/** 10^-18 USD; the effects sum up to the change of the cost. */
export interface Effects {
  readonly volume: bigint
  readonly size: bigint
  readonly price: bigint
}

export const NOTHING: Side = { cost: 0n, calls: 0n, tokens: 0n, unpricedCalls: 0n }

export function effectsOf(before: Side, now: Side): Effects {
  const change = now.cost - before.cost
  if (isAllPrice(before, now)) return { volume: 0n, size: 0n, price: change }
  if (pricedCalls(before) === 0n) return { volume: change, size: 0n, price: 0n }
  const atCalls = scaled(before.cost, pricedCalls(now), pricedCalls(before))
  // Tokens of calls without a price would be a size that costs nothing; those of other units have none.
  const isSized = [before, now].every(({ tokens, unpricedCalls }) => tokens > 0n && unpricedCalls === 0n)
  const atTokens = isSized ? scaled(before.cost, now.tokens, before.tokens) : atCalls
  return { volume: atCalls - before.cost, size: atTokens - atCalls, price: now.cost - atTokens }
}

/** Whether the calls of a group all got their price, or lost it: they are no more calls, nor fewer. */
export const isAllPrice = (before: Side, now: Side): boolean => isUnpriced(before) || isUnpriced(now)

/**
 * Of the volume of several groups, what the number of their calls explains. The rest is mix: calls that moved to groups
 * of dearer or cheaper calls.
 */
export const volumeOfAll = (before: Side, now: Side, volume: bigint): bigint =>
  pricedCalls(before) === 0n ? volume : scaled(before.cost, pricedCalls(now), pricedCalls(before)) - before.cost

const pricedCalls = ({ calls, unpricedCalls }: Side): bigint => calls - unpricedCalls
const isUnpriced = (side: Side): boolean => side.calls > 0n && pricedCalls(side) === 0n

/** @param of above 0 */
function scaled(amount: bigint, part: bigint, of: bigint): bigint {
  const product = amount * part
  return product < 0n ? -divideHalfEven(-product, of) : divideHalfEven(product, of)
}

const sums = <K extends string>(all: readonly Readonly<Record<K, bigint>>[], keys: readonly K[]): Record<K, bigint> =>
  Object.fromEntries(keys.map((key) => [key, all.reduce((sum, each) => sum + each[key], 0n)])) as Record<K, bigint>

export const sumOfEffects = (all: readonly Effects[]): Effects => sums(all, ['volume', 'size', 'price'])
export const sumOfSides = (all: readonly Side[]): Side => sums(all, ['cost', 'calls', 'tokens', 'unpricedCalls'])
export const lessSide = (whole: Side, part: Side): Side => ({
  cost: whole.cost - part.cost,
  calls: whole.calls - part.calls,
  tokens: whole.tokens - part.tokens,
  unpricedCalls: whole.unpricedCalls - part.unpricedCalls,
})
