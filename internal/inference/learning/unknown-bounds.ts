import { binaryLogits } from './binary-regression.js'
import { seededShare } from './examples.js'
import { type MixState, OTHER_MIN, type ServedInput, unknownShares } from './mix-state.js'
import { fitOther, labelledWeights } from './unknown-look.js'

const FOLDS = 2

/** Per pattern: the share of the unknown class under which unseen unlabelled events are likeliest. */
export function boundsOf(input: ServedInput, state: MixState): number[] {
  const { classes, labelled, rare, unlabelled, rows } = input
  const columns = classes + 1
  const foldOf = (index: number): number => Math.floor(FOLDS * seededShare(input.seed + 17, index))
  const ofLabelled = new Float64Array(labelled.row.length)
  const ofUnlabelled = new Float64Array(unlabelled.row.length)
  for (let fold = 0; fold < FOLDS; fold++) {
    const fitted = fitOther(input, state, (i) => foldOf(i) !== fold, new Float64Array(input.strictness.length + 1))
    const logits = binaryLogits(fitted, rows)
    for (const [i, row] of labelled.row.entries()) if (foldOf(i) === fold) ofLabelled[i] = logits[row] ?? 0
    for (const [i, row] of unlabelled.row.entries()) {
      if (foldOf(labelled.row.length + rare.length + i) === fold) ofUnlabelled[i] = logits[row] ?? 0
    }
  }
  return Array.from({ length: input.patterns }, (_, pattern) => {
    const sums = new Float64Array(columns)
    const own: number[] = []
    for (let i = 0; i < unlabelled.row.length; i++) {
      if (unlabelled.pattern[i] !== pattern) continue
      own.push(ofUnlabelled[i] ?? 0)
      for (let c = 0; c < classes; c++) sums[c] = (sums[c] ?? 0) + probabilitiesAt(state, i, columns, c)
    }
    if (own.length === 0) return OTHER_MIN
    const weights = labelledWeights(input, sums, 1)
    return Math.min(BOUND_MAX, OVERLAP * excessShare(own, ofLabelled, weights))
  })
}

const probabilitiesAt = ({ probabilities }: MixState, i: number, columns: number, c: number): number =>
  probabilities[i * columns + c] ?? 0
/**
 * The share of a sample that cannot come from the rest: the excess of the sample over the rest, beyond chance, where
 * the component is likeliest. If both merely differ a little everywhere, the excess is small.
 *
 * @param sample scores of the sample, high where the component is likely
 * @param rest scores of the rest alone, with weights
 */
export function excessShare(sample: readonly number[], rest: Float64Array, weights: Float64Array): number {
  const ranked = sample.toSorted((one, other) => one - other)
  const total = weights.reduce((sum, weight) => sum + weight, 0)
  const order = Array.from(rest.keys()).sort((i, j) => (rest[i] ?? 0) - (rest[j] ?? 0))
  let [best, at, above, squares] = [OTHER_MIN, order.length - 1, 0, 0]
  for (let step = 1; step <= THRESHOLDS; step++) {
    const count = Math.floor((ranked.length * step) / THRESHOLDS)
    const threshold = ranked[ranked.length - count] ?? Number.POSITIVE_INFINITY
    for (; at >= 0 && (rest[order[at] ?? 0] ?? 0) >= threshold; at--) {
      const weight = (weights[order[at] ?? 0] ?? 0) / total
      above += weight
      squares += weight * weight
    }
    const share = count / ranked.length
    const chance = Math.sqrt((share * (1 - share)) / ranked.length + squares)
    const excess = share - above - CHANCE * chance
    if (above < 0.95) best = Math.max(best, excess / (1 - above))
  }
  return best
}

const THRESHOLDS = 50
/** Unknown traffic that looks like known classes causes no excess, so the bound is a multiple of the excess. */
const OVERLAP = 1.5
const BOUND_MAX = 0.95
/** In standard errors. */
const CHANCE = 1

/**
 * Raises the discounts of patterns whose events are unknown more often than their bounds allow, and lowers the others'.
 */
export function adjustDiscounts(input: ServedInput, state: MixState, bounds: readonly number[]): void {
  const shares = unknownShares(input, state)
  for (const [pattern, most] of bounds.entries()) {
    const excess = Math.log(((shares[pattern] ?? 0) + OTHER_MIN) / (Math.max(most, OTHER_MIN) + OTHER_MIN))
    state.discounts[pattern] = Math.max(0, (state.discounts[pattern] ?? 0) + excess)
  }
}
