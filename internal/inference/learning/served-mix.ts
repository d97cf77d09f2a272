import { correctByAudits } from './audit-shift.js'
import { binaryLogits } from './binary-regression.js'
import { FIRST_OTHER, type MixState, OTHER_MIN, type ServedInput, unknownShares } from './mix-state.js'
import { identityOthersOf, mixesOf, sharesOf, writeProbabilities } from './mix-steps.js'
import { adjustDiscounts, boundsOf } from './unknown-bounds.js'
import { firstOther, fitOther } from './unknown-look.js'

export interface ServedMix {
  /** The shares that the logits and the mixes assume; the last is that of all other classes. They sum to 1. */
  readonly shares: Float64Array
  /** Share of each class in the unlabelled traffic, corrected by audits. */
  readonly served: Float64Array
  /** Row-major, one row per context. */
  readonly mixes: Float64Array
  /** Intercept and weights of the logit of "none of the known classes" under `shares`. */
  readonly other: Float64Array
  /** Per pattern: subtracted from that logit. */
  readonly discounts: Float64Array
  /** Per familiar identity: the same log ratio for events of no known class. */
  readonly identityOthers: Float64Array
  /** Per pattern: the largest share of the unknown class that the evidence supports. */
  readonly bounds: readonly number[]
  /** Per pattern: the share of the unknown class. */
  readonly unknown: Float64Array
}

const ROUNDS = 5
const PASSES = 4

/**
 * Estimates the mix of services in the traffic that the model serves, and how much of it belongs to no known class.
 *
 * Assumptions: calls of a class look the same with and without labels, but the share of the class differs between the
 * two, between patterns and between capture contexts, and some unlabelled calls belong to no known class. This is label
 * shift with an unknown class (Saerens et al. 2002; Garg et al. 2022, open set label shift), solved by expectation
 * maximisation:
 *
 * - the shares of the classes come from their probabilities on the unlabelled traffic, under one prior per context;
 * - the unknown class is separated from the known ones by a logistic regression of unlabelled events, weighted by their
 *   probability of being unknown, against labelled events, weighted to the estimated shares.
 *
 * Any noise in which the two differ looks like unknown traffic. So the share of the unknown class is bounded, per
 * pattern, by the likelihood of events that the regression has not seen (two folds).
 */
export function estimateServedMix(input: ServedInput): ServedMix {
  const { classes, unlabelled } = input
  const columns = classes + 1
  const shares = new Float64Array(columns)
  for (let c = 0; c < classes; c++) shares[c] = (1 - FIRST_OTHER) * (input.presence.shares[c] ?? 0)
  shares[classes] = FIRST_OTHER
  const mixes = new Float64Array(input.contexts * columns)
  for (let at = 0; at < mixes.length; at++) mixes[at] = shares[at % columns] ?? 0
  const state: MixState = {
    shares,
    mixes,
    other: new Float64Array(input.strictness.length + 1),
    discounts: new Float64Array(input.patterns),
    identityOthers: new Float64Array(input.identities.length),
    probabilities: new Float32Array(unlabelled.row.length * columns),
  }
  state.other[0] = Math.log(FIRST_OTHER / (1 - FIRST_OTHER))
  update(input, state, input.bounds, PASSES)
  state.other = firstOther(input, state)
  let bounds = input.bounds ?? boundsOf(input, state)
  for (let round = 0; round < ROUNDS; round++) {
    update(input, state, bounds, PASSES)
    state.other = fitOther(input, state, () => true, state.other)
    if (input.bounds === undefined) bounds = boundsOf(input, state)
  }
  update(input, state, bounds, 2 * PASSES)
  const fitted = state.shares
  correctByAudits(input, state)
  return {
    shares: fitted,
    served: sharesOf(input, state.probabilities),
    mixes: state.mixes,
    other: state.other,
    discounts: state.discounts,
    identityOthers: state.identityOthers,
    bounds,
    unknown: unknownShares(input, state),
  }
}

/** Expectation and maximisation of shares and mixes, with the look of the unknown class as it is. */
function update(input: ServedInput, state: MixState, bounds: readonly number[] | undefined, passes: number): void {
  const others = binaryLogits(state.other, input.rows)
  let odds = oddsOf(state.shares)
  for (let pass = 0; pass < passes; pass++) {
    writeProbabilities(input, state, others)
    state.shares = sharesOf(input, state.probabilities)
    state.mixes = mixesOf(input, state)
    state.identityOthers = identityOthersOf(input, state)
    if (bounds !== undefined) adjustDiscounts(input, state, bounds)
    const next = oddsOf(state.shares)
    for (let i = 0; i < others.length; i++) others[i] = (others[i] ?? 0) + next - odds
    state.other[0] = (state.other[0] ?? 0) + next - odds
    odds = next
  }
  writeProbabilities(input, state, others)
}

function oddsOf(shares: Float64Array): number {
  const other = Math.min(1 - OTHER_MIN, Math.max(OTHER_MIN, shares.at(-1) ?? 0))
  return Math.log(other / (1 - other))
}
