import { binaryLogits } from './binary-regression.js'
import { seededShare } from './examples.js'
import { minimise } from './lbfgs.js'
import { logSumExp } from './logistic-regression.js'
import type { MixState, ServedInput } from './mix-state.js'
import { writeProbabilities } from './mix-steps.js'

/**
 * Shifts the mixes, first of all patterns and then of each, to agree with the events that people have audited. Because
 * the shift accounts for the probabilities of each audited event, the way in which events were selected does not
 * matter.
 */
export function correctByAudits(input: ServedInput, state: MixState): void {
  const { classes, unlabelled, contexts, patterns } = input
  const columns = classes + 1
  const audited = Array.from(unlabelled.known.keys()).filter((i) => (unlabelled.known[i] ?? -1) >= 0)
  if (audited.length === 0) return
  const unaudited = { ...input, unlabelled: { ...unlabelled, known: new Int16Array(unlabelled.known.length).fill(-1) } }
  const patternOf = new Uint8Array(contexts)
  for (const level of unlabelled.contexts) {
    for (let i = 0; i < level.length; i++) patternOf[level[i] ?? 0] = unlabelled.pattern[i] ?? 0
  }
  for (const ofPattern of [undefined, ...Array(patterns).keys()]) {
    writeProbabilities(unaudited, state, binaryLogits(state.other, input.rows))
    const own = audited.filter((i) => ofPattern === undefined || unlabelled.pattern[i] === ofPattern)
    if (own.length === 0) continue
    const logs = own.map((i) =>
      Float64Array.from(state.probabilities.subarray(i * columns, (i + 1) * columns), (p) => Math.log(p + 1e-6)),
    )
    const truth = own.map((i) => unlabelled.known[i] ?? 0)
    const shift = supportedShift({ logs, truth, columns }, input.seed)
    if (shift === undefined) continue
    for (let context = 0; context < contexts; context++) {
      if (ofPattern !== undefined && patternOf[context] !== ofPattern) continue
      const mix = state.mixes.subarray(context * columns, (context + 1) * columns)
      for (let c = 0; c < columns; c++) mix[c] = (mix[c] ?? 0) * Math.exp(shift[c] ?? 0)
      const total = mix.reduce((sum, one) => sum + one, 0)
      for (let c = 0; c < columns; c++) mix[c] = (mix[c] ?? 0) / total
    }
  }
  writeProbabilities(input, state, binaryLogits(state.other, input.rows))
}

/** Events with known answers. */
interface Audited {
  /** Per event: log of the probability of each class. */
  readonly logs: readonly Float64Array[]
  /** Per event: its class. */
  readonly truth: readonly number[]
  readonly columns: number
}

const FOLDS = 5
/** Inverse variances of the shift of the log of a share. */
const PENALTIES = [1, 2, 5, 10, 20, 50, 100] as const

/**
 * The shift of the log shares, with the penalty under which audits predict one another best. Where classes are many and
 * similar, a shift fitted to some hundreds of audits is mostly noise, and no shift is best.
 *
 * @returns undefined when no shift improves the prediction
 */
export function supportedShift(audited: Audited, seed: number): Float64Array | undefined {
  const { logs, columns } = audited
  const foldOf = Uint8Array.from(logs, (_, i) => Math.floor(FOLDS * seededShare(seed + 23, i)))
  const folds = Array.from({ length: FOLDS }, (_, fold) => ({
    learned: only(audited, (i) => foldOf[i] !== fold),
    left: only(audited, (i) => foldOf[i] === fold),
  }))
  let [best, least] = [undefined as number | undefined, lossOf(audited, new Float64Array(columns))]
  for (const penalty of PENALTIES) {
    const loss = folds.reduce((sum, { learned, left }) => sum + lossOf(left, likeliestShift(learned, penalty)), 0)
    if (loss < least) [best, least] = [penalty, loss]
  }
  return best === undefined ? undefined : likeliestShift(audited, best)
}

const only = ({ logs, truth, columns }: Audited, isIn: (i: number) => boolean): Audited => ({
  logs: logs.filter((_, i) => isIn(i)),
  truth: truth.filter((_, i) => isIn(i)),
  columns,
})

function lossOf({ logs, truth }: Audited, shift: Float64Array): number {
  return logs.reduce((sum, log, i) => {
    const logits = log.map((one, c) => one + (shift[c] ?? 0))
    return sum + logSumExp(logits) - (logits[truth[i] ?? 0] ?? 0)
  }, 0)
}

/** The shift of the log shares that maximises the likelihood of the truth. */
function likeliestShift({ logs, truth, columns }: Audited, penalty: number): Float64Array {
  const objective = (point: Float64Array, gradient: Float64Array): number => {
    let value = 0
    for (let c = 0; c < columns; c++) {
      const one = point[c] ?? 0
      value += 0.5 * penalty * one * one
      gradient[c] = penalty * one
    }
    for (const [i, log] of logs.entries()) {
      const logits = log.map((one, c) => one + (point[c] ?? 0))
      const normaliser = logSumExp(logits)
      const own = truth[i] ?? 0
      value += normaliser - (logits[own] ?? 0)
      for (let c = 0; c < columns; c++) {
        gradient[c] = (gradient[c] ?? 0) + Math.exp((logits[c] ?? 0) - normaliser) - (c === own ? 1 : 0)
      }
    }
    return value
  }
  return minimise(objective, new Float64Array(columns), { iterationsMax: 50, tolerance: 1e-6 }).point
}
