import { binaryLogits, fitBinary } from './binary-regression.js'
import { AUDIT_WEIGHT, FIRST_OTHER, type MixState, type ServedInput } from './mix-state.js'

/** Separates the unknown class from the known ones: a logistic regression on the look of events. */

const OTHER_PENALTY = 4
const OTHER_ITERATIONS_MAX = 25
const TOLERANCE = 1e-5

/**
 * The density of the unlabelled traffic relative to the known classes: where it exceeds theirs, there is unknown
 * traffic.
 */
export function firstOther(input: ServedInput, state: MixState): Float64Array {
  const { unlabelled, classes, rows } = input
  const columns = classes + 1
  const before = state.probabilities
  state.probabilities = before.slice()
  for (let i = 0; i < unlabelled.row.length; i++) {
    if ((unlabelled.known[i] ?? -1) < 0) state.probabilities[i * columns + classes] = 1
  }
  const ratio = fitOther(input, state, () => true, new Float64Array(input.strictness.length + 1))
  const logits = binaryLogits(ratio, rows)
  for (let i = 0; i < unlabelled.row.length; i++) {
    if ((unlabelled.known[i] ?? -1) >= 0) continue
    const excess = 1 - Math.exp(-(logits[unlabelled.row[i] ?? 0] ?? 0))
    state.probabilities[i * columns + classes] = Math.max(FIRST_OTHER / 2, Math.min(1, excess))
  }
  return fitOther(input, state, () => true, ratio)
}

/** @param isIn whether to learn from the example with this index: labelled, then rare, then unlabelled events */
export function fitOther(
  input: ServedInput,
  { shares, probabilities }: MixState,
  isIn: (index: number) => boolean,
  start: Float64Array,
): Float64Array {
  const { classes, rows, labelled, rare, unlabelled } = input
  const columns = classes + 1
  const count = labelled.row.length + rare.length + unlabelled.row.length
  const weight = new Float64Array(count)
  weight.set(labelledWeights(input, shares, unlabelled.row.length))
  weight.fill(1, labelled.row.length, labelled.row.length + rare.length)
  const isPositive = new Uint8Array(count).fill(1, labelled.row.length)
  for (let i = 0; i < unlabelled.row.length; i++) {
    const at = labelled.row.length + rare.length + i
    const named = unlabelled.known[i] ?? -1
    weight[at] = named < 0 ? (probabilities[i * columns + classes] ?? 0) : AUDIT_WEIGHT
    if (named >= 0 && named < classes) isPositive[at] = 0
  }
  for (let i = 0; i < count; i++) if (!isIn(i)) weight[i] = 0
  const row = new Uint32Array(count)
  row.set(labelled.row)
  row.set(rare, labelled.row.length)
  row.set(unlabelled.row, labelled.row.length + rare.length)
  return fitBinary({ rows, row, isPositive, weight }, start, {
    penalty: input.strictness.map((times) => OTHER_PENALTY * times),
    iterationsMax: OTHER_ITERATIONS_MAX,
    tolerance: TOLERANCE,
  })
}

/** Weights by which the labelled events of each class make up its share of the unlabelled traffic. */
export function labelledWeights(
  { labelled, classes }: ServedInput,
  mix: ArrayLike<number>,
  total: number,
): Float64Array {
  const counts = new Float64Array(classes)
  for (const [i, c] of labelled.label.entries()) counts[c] = (counts[c] ?? 0) + (labelled.weight[i] ?? 0)
  return Float64Array.from(
    labelled.label,
    (c, i) => (total * (mix[c] ?? 0) * (labelled.weight[i] ?? 0)) / (counts[c] || 1),
  )
}
