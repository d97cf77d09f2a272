import { STEPS_PER_UNIT } from '../units/quantity.js'

/** What somebody's calls cost over the window, in steps of 1e-18 USD. */
export interface ResolvedCost {
  readonly service: string
  readonly owner: string
  readonly costSteps: bigint
}

/** What calls cost, and whether a weight of it may be shown by itself: as the cohort rule says. */
export interface CostOfPeople extends ResolvedCost {
  readonly isShown: boolean
}

/** By which a pool's cost may be spread. */
export interface Weight {
  readonly service: string
  readonly owner: string
  /** Millionths of a millionth. */
  readonly parts: bigint
}

/** The window of cost from which weights are computed: the last 30 days. */
export const WEIGHT_WINDOW_MS = 30 * 24 * 60 * 60 * 1000

/** Of a weight: 12 decimals. */
const WEIGHT_DECIMALS = 12
export const WEIGHT_PARTS = 10n ** BigInt(WEIGHT_DECIMALS)

/**
 * The share of each cost in a total, by the largest remainder: each is its exact share cut to twelve decimals, and what
 * is then missing goes, a part each, to those that lost most, the larger cost and then the name first. The weights and
 * what stays in the pool sum to exactly 1.
 *
 * @param costs 0 or more each
 * @param totalSteps of these and of others that are not named; their share stays
 * @returns weights in the order of the costs
 */
export function weightsOf(
  costs: readonly ResolvedCost[],
  totalSteps: bigint,
): { readonly weights: readonly Weight[]; readonly staysParts: bigint } {
  const named = costs.reduce((sum, { costSteps }) => sum + costSteps, 0n)
  if (named > totalSteps) throw new RangeError('the parts are more than their total')
  if (totalSteps === 0n) return { weights: [], staysParts: WEIGHT_PARTS }

  const stays: ResolvedCost = { service: '', owner: '', costSteps: totalSteps - named }
  const dearestFirst = [...costs, stays].sort(byCost)
  const shares = apportion(
    WEIGHT_PARTS,
    dearestFirst.map(({ costSteps }) => costSteps),
    totalSteps,
  )
  const partsOf = new Map(dearestFirst.map((cost, place) => [cost, shares[place] ?? 0n]))
  return {
    weights: costs.map((cost) => ({ service: cost.service, owner: cost.owner, parts: partsOf.get(cost) ?? 0n })),
    staysParts: partsOf.get(stays) ?? 0n,
  }
}

function byCost(one: ResolvedCost, other: ResolvedCost): number {
  if (one.costSteps !== other.costSteps) return one.costSteps > other.costSteps ? -1 : 1
  const [left, right] = [`${one.service}\n${one.owner}`, `${other.service}\n${other.owner}`]
  return left < right ? -1 : Number(left > right)
}

/** As the column Decimal(38, 18) holds it. */
export const weightSteps = (parts: bigint): bigint => parts * (STEPS_PER_UNIT / WEIGHT_PARTS)

/**
 * Splits a total by the largest remainder: each share is the exact one cut to whole steps, and what is then missing
 * goes, a step each, to those that lost most; of equal ones to the first. The shares sum to the total. Below 0 it is
 * the mirror image.
 *
 * @param portions 0 or more each, and together the whole
 * @param whole above 0
 * @returns shares in the order of the portions
 */
export function apportion(total: bigint, portions: readonly bigint[], whole: bigint): bigint[] {
  if (portions.reduce((sum, portion) => sum + portion, 0n) !== whole) throw new RangeError('portions that are no whole')
  if (total < 0n) return apportion(-total, portions, whole).map((share) => -share)
  const cut = portions.map((portion, place) => {
    const product = portion * total
    return { place, share: product / whole, remainder: product % whole }
  })
  const shares = cut.map(({ share }) => share)
  const missing = Number(total - shares.reduce((sum, share) => sum + share, 0n))
  const losers = [...cut].sort(byRemainder).slice(0, missing)
  for (const { place, share } of losers) shares[place] = share + 1n
  return shares
}

const byRemainder = (one: { readonly remainder: bigint }, other: { readonly remainder: bigint }): number =>
  Number(other.remainder > one.remainder) - Number(other.remainder < one.remainder)
