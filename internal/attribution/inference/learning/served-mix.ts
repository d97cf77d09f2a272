import { binaryLogits, fitBinary } from './binary-regression.js'
import { seededShare } from './examples.js'
import { minimise } from './lbfgs.js'
import { logSumExp } from './logistic-regression.js'
import type { SparseRows } from './sparse-rows.js'

/**
 * Estimates the mix of services in the traffic that the model serves, and how much of it belongs to no known class.
 *
 * Assumptions: calls of a class look the same with and without labels, but the share of the class differs between the two,
 * between patterns and between capture contexts, and some unlabelled calls belong to no known class. This is label shift with
 * an unknown class (Saerens et al. 2002; Garg et al. 2022, open set label shift), solved by expectation maximisation:
 *
 * - the shares of the classes come from their probabilities on the unlabelled traffic, under one prior per context;
 * - what tells the unknown class from the known ones is a logistic regression of unlabelled events, weighted by their
 *   probability of being unknown, against labelled events, weighted to the estimated shares.
 *
 * Any noise by which the two differ looks like unknown traffic. So the share of the unknown class is bounded, per pattern, by
 * the likelihood of events that the regression has not seen (two folds).
 */
export interface ServedInput {
  /** Number of known classes. The column after them is that of all other classes together. */
  readonly classes: number
  /** The share of each known class for which the known logits hold; they sum to 1. */
  readonly baseShares: Float64Array
  /** The look of all events; the other members name their rows. */
  readonly rows: SparseRows
  readonly features: number
  readonly labelled: {
    readonly row: Uint32Array
    readonly label: Uint16Array
    readonly weight: Float64Array
  }
  /** Rows of labelled events whose classes have too few events to be known. */
  readonly rare: Uint32Array
  readonly unlabelled: {
    readonly row: Uint32Array
    /** Row-major: the logits of the known classes, with all that the event shows but its identity. */
    readonly logits: Float32Array
    /** Number of the familiar identity of each event; -1: none. */
    readonly identity: Int32Array
    /** Contexts of each event, from general (the pattern) to specific, as numbers below `contexts`. */
    readonly contexts: readonly Int32Array[]
    /** Number of the pattern of each event. */
    readonly pattern: Uint8Array
    /** Class that an override assigns to each event (`classes`: another one); -1: no override. */
    readonly known: Int16Array
    /** Class that a dispute rules out for each event; -1: no dispute. */
    readonly excluded: Int16Array
  }
  /** Per familiar identity: log of how much likelier the events of each known class are to state it than those of all. */
  readonly identities: readonly Float64Array[]
  readonly contexts: number
  /** Per context: log of how much likelier each class is to be captured there, given its parent, from labelled events. */
  readonly likelier: (context: number) => Float64Array | undefined
  readonly patterns: number
  readonly seed: number
  /** The bounds of an earlier estimate, in place of ones from this data. */
  readonly bounds?: readonly number[] | undefined
}

export interface ServedMix {
  /** The shares that the logits and the mixes refer to; the last is that of all other classes. They sum to 1. */
  readonly shares: Float64Array
  /** Share of each class in the unlabelled traffic, with what audits say. */
  readonly served: Float64Array
  /** Row-major, one row per context. */
  readonly mixes: Float64Array
  /** Intercept and weights of the logit of "none of the known classes" under `shares`. */
  readonly other: Float64Array
  /** Per pattern: subtracted from that logit. */
  readonly discounts: Float64Array
  /** Per familiar identity: the same log for events of no known class. */
  readonly identityOthers: Float64Array
  /** Per pattern: the largest share of the unknown that the evidence bears. */
  readonly bounds: readonly number[]
  /** Per pattern: the share of the unknown class. */
  readonly unknown: Float64Array
}

const ROUNDS = 5
const PASSES = 4
const OTHER_PENALTY = 4
const OTHER_ITERATIONS_MAX = 25
const TOLERANCE = 1e-5
/** Initial share of the unknown class. */
const FIRST_OTHER = 0.05
/** Number of pseudo-events with which the mix of the parent context is added to the mix of a context. */
const CONTEXT_STRENGTH = 200
/** Weight of an overridden event relative to an unlabelled one. */
export const AUDIT_WEIGHT = 5
const OTHER_MIN = 1e-3

interface State {
  shares: Float64Array
  mixes: Float64Array
  other: Float64Array
  /** Per pattern: subtracted from the logit of the unknown class, so that its share keeps to its bound. */
  discounts: Float64Array
  identityOthers: Float64Array
  /** One row per unlabelled event. */
  probabilities: Float32Array
}

export function estimateServedMix(input: ServedInput): ServedMix {
  const { classes, unlabelled } = input
  const columns = classes + 1
  const shares = new Float64Array(columns)
  for (let c = 0; c < classes; c++) shares[c] = (1 - FIRST_OTHER) * (input.baseShares[c] ?? 0)
  shares[classes] = FIRST_OTHER
  const mixes = new Float64Array(input.contexts * columns)
  for (let at = 0; at < mixes.length; at++) mixes[at] = shares[at % columns] ?? 0
  const state: State = {
    shares,
    mixes,
    other: new Float64Array(input.features + 1),
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

/** The density of the unlabelled traffic relative to the known classes: where it exceeds theirs, something else must be. */
function firstOther(input: ServedInput, state: State): Float64Array {
  const { unlabelled, classes, rows } = input
  const columns = classes + 1
  const kept = state.probabilities
  state.probabilities = kept.slice()
  for (let i = 0; i < unlabelled.row.length; i++) {
    if ((unlabelled.known[i] ?? -1) < 0) state.probabilities[i * columns + classes] = 1
  }
  const ratio = fitOther(input, state, () => true, new Float64Array(input.features + 1))
  const logits = binaryLogits(ratio, rows)
  for (let i = 0; i < unlabelled.row.length; i++) {
    if ((unlabelled.known[i] ?? -1) >= 0) continue
    const excess = 1 - Math.exp(-(logits[unlabelled.row[i] ?? 0] ?? 0))
    state.probabilities[i * columns + classes] = Math.max(FIRST_OTHER / 2, Math.min(1, excess))
  }
  return fitOther(input, state, () => true, ratio)
}

/** Expectation and maximisation of shares and mixes, with the look of the unknown class as it is. */
function update(input: ServedInput, state: State, bounds: readonly number[] | undefined, passes: number): void {
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

/** Class probabilities of each unlabelled event under the prior of its context. Overrides and disputes take precedence. */
function writeProbabilities(
  { classes, unlabelled, baseShares, identities }: ServedInput,
  { shares, mixes, probabilities, discounts, identityOthers }: State,
  others: Float64Array,
): void {
  const columns = classes + 1
  const special = unlabelled.contexts.at(-1)
  const known = 1 - (shares[classes] ?? 0)
  const shift = Float64Array.from({ length: classes }, (_, c) => logRatio((shares[c] ?? 0) / known, baseShares[c] ?? 0))
  const logits = new Float64Array(classes)
  for (let i = 0; i < unlabelled.row.length; i++) {
    const p = probabilities.subarray(i * columns, (i + 1) * columns)
    p.fill(0)
    const named = unlabelled.known[i] ?? -1
    if (named >= 0) {
      p[named] = 1
      continue
    }
    const context = (special?.[i] ?? 0) * columns
    for (let c = 0; c < classes; c++) logits[c] = (unlabelled.logits[i * classes + c] ?? 0) + (shift[c] ?? 0)
    const normaliser = logSumExp(logits)
    const identity = unlabelled.identity[i] ?? -1
    const stated = identities[identity]
    let total = 0
    for (let c = 0; c < classes; c++) {
      if (c === unlabelled.excluded[i]) continue
      const ratio = logRatio(mixes[context + c] ?? 0, shares[c] ?? 0)
      const term = Math.exp((logits[c] ?? 0) - normaliser + ratio + (stated?.[c] ?? 0))
      p[c] = term
      total += term
    }
    const term = Math.exp(
      (others[unlabelled.row[i] ?? 0] ?? 0) +
        logRatio(mixes[context + classes] ?? 0, shares[classes] ?? 0) +
        (identityOthers[identity] ?? 0) -
        (discounts[unlabelled.pattern[i] ?? 0] ?? 0),
    )
    p[classes] = term
    total += term
    for (let c = 0; c < columns; c++) p[c] = (p[c] ?? 0) / total
  }
}

/** Number of pseudo-events by which events of no known class are taken to have the identities of all. */
const IDENTITY_STRENGTH = 20

function identityOthersOf({ classes, unlabelled, identities }: ServedInput, { probabilities }: State): Float64Array {
  const columns = classes + 1
  const [others, counts] = [new Float64Array(identities.length), new Float64Array(identities.length)]
  let [ofOthers, all] = [0, 0]
  for (const [i, identity] of unlabelled.identity.entries()) {
    if (identity < 0) continue
    const other = probabilities[i * columns + classes] ?? 0
    others[identity] = (others[identity] ?? 0) + other
    counts[identity] = (counts[identity] ?? 0) + 1
    ofOthers += other
    all++
  }
  return others.map((other, identity) => {
    const count = counts[identity] ?? 0
    if (count === 0) return 0
    return Math.log(((other * all) / count + IDENTITY_STRENGTH) / (ofOthers + IDENTITY_STRENGTH))
  })
}

const SHARE_MIN = 1e-9
/** Bounded, so that a class without events in a context stays possible there. */
export const logRatio = (share: number, overall: number): number =>
  Math.log((share + SHARE_MIN) / (overall + SHARE_MIN))

const weightOf = ({ unlabelled }: ServedInput, i: number): number =>
  (unlabelled.known[i] ?? -1) >= 0 ? AUDIT_WEIGHT : 1

function sharesOf(input: ServedInput, probabilities: Float32Array): Float64Array {
  const columns = input.classes + 1
  const sums = new Float64Array(columns)
  let total = 0
  for (let i = 0; i < input.unlabelled.row.length; i++) {
    const weight = weightOf(input, i)
    total += weight
    for (let c = 0; c < columns; c++) sums[c] = (sums[c] ?? 0) + weight * (probabilities[i * columns + c] ?? 0)
  }
  const known = sums.subarray(0, input.classes).reduce((sum, one) => sum + one, 0)
  return sums.map((sum, c) =>
    c === input.classes ? sum / total : (sum + ANCHOR * known * (input.baseShares[c] ?? 0)) / (1 + ANCHOR) / total,
  )
}

/**
 * Weight of the labelled shares relative to those that the unlabelled traffic shows. Where looks tell services apart it matters
 * little; where they do not, it keeps a class from growing only because it resembles what is unknown.
 */
const ANCHOR = 0.05

/** The mix of each context, smoothed towards what its parent's mix and the labelled events of the context make likely. */
function mixesOf(input: ServedInput, { shares, probabilities }: State): Float64Array {
  const { classes, unlabelled, contexts } = input
  const columns = classes + 1
  const mixes = new Float64Array(contexts * columns)
  for (const [level, of] of unlabelled.contexts.entries()) {
    const above = unlabelled.contexts[level - 1]
    const sums = new Float64Array(contexts * columns)
    const parents = new Map<number, number | undefined>()
    for (let i = 0; i < of.length; i++) {
      const context = of[i] ?? 0
      parents.set(context, above?.[i])
      const weight = weightOf(input, i)
      for (let c = 0; c < columns; c++) {
        const at = context * columns + c
        sums[at] = (sums[at] ?? 0) + weight * (probabilities[i * columns + c] ?? 0)
      }
    }
    for (const [context, parent] of parents) {
      const prior = parent === undefined ? shares : mixes.subarray(parent * columns, (parent + 1) * columns)
      const expected = expectedMix(prior, input.likelier(context))
      const own = sums.subarray(context * columns, (context + 1) * columns)
      const count = own.reduce((sum, part) => sum + part, 0)
      for (let c = 0; c < columns; c++) {
        mixes[context * columns + c] =
          ((own[c] ?? 0) + CONTEXT_STRENGTH * (expected[c] ?? 0)) / (count + CONTEXT_STRENGTH)
      }
    }
  }
  return mixes
}

function expectedMix(prior: Float64Array, likelier: Float64Array | undefined): Float64Array {
  if (likelier === undefined) return prior
  const mix = prior.map((share, c) => share * Math.exp(likelier[c] ?? 0))
  const total = mix.reduce((sum, one) => sum + one, 0)
  return total > 0 ? mix.map((one) => one / total) : prior
}

/** Raises the discounts of patterns whose events are unknown more often than their bounds allow, and lowers the others'. */
function adjustDiscounts(input: ServedInput, state: State, bounds: readonly number[]): void {
  const shares = unknownShares(input, state)
  for (const [pattern, most] of bounds.entries()) {
    const excess = Math.log(((shares[pattern] ?? 0) + OTHER_MIN) / (Math.max(most, OTHER_MIN) + OTHER_MIN))
    state.discounts[pattern] = Math.max(0, (state.discounts[pattern] ?? 0) + excess)
  }
}

/**
 * Moves the mixes of each pattern by what people said of some of its events. Given how likely each class already was for those
 * events, it does not matter how they were chosen.
 */
function correctByAudits(input: ServedInput, state: State): void {
  const { classes, unlabelled, contexts, patterns } = input
  const columns = classes + 1
  const audited = Array.from(unlabelled.known.keys()).filter((i) => (unlabelled.known[i] ?? -1) >= 0)
  if (audited.length === 0) return
  const unaudited = { ...input, unlabelled: { ...unlabelled, known: new Int16Array(unlabelled.known.length).fill(-1) } }
  const patternOf = new Uint8Array(contexts)
  for (const level of unlabelled.contexts) {
    for (let i = 0; i < level.length; i++) patternOf[level[i] ?? 0] = unlabelled.pattern[i] ?? 0
  }
  for (const [ofPattern, penalty] of [
    [undefined, AUDIT_PENALTY],
    ...Array.from({ length: patterns }, (_, pattern) => [pattern, 2 * AUDIT_PENALTY] as const),
  ] as const) {
    writeProbabilities(unaudited, state, binaryLogits(state.other, input.rows))
    const own = audited.filter((i) => ofPattern === undefined || unlabelled.pattern[i] === ofPattern)
    if (own.length === 0) continue
    const logs = own.map((i) =>
      Float64Array.from(state.probabilities.subarray(i * columns, (i + 1) * columns), (p) => Math.log(p + 1e-6)),
    )
    const shift = likeliestShift(
      logs,
      own.map((i) => unlabelled.known[i] ?? 0),
      columns,
      penalty,
    )
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

/** Inverse variance of what audits add to the log of a share. */
const AUDIT_PENALTY = 1

/** What to add to log probabilities so that the truth is likeliest. */
function likeliestShift(
  logs: readonly Float64Array[],
  truth: readonly number[],
  columns: number,
  penalty: number,
): Float64Array {
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

/** Per pattern. */
function unknownShares(input: ServedInput, { probabilities }: State): Float64Array {
  const { classes, unlabelled, patterns } = input
  const columns = classes + 1
  const others = new Float64Array(patterns)
  const totals = new Float64Array(patterns)
  for (let i = 0; i < unlabelled.row.length; i++) {
    const pattern = unlabelled.pattern[i] ?? 0
    const weight = weightOf(input, i)
    totals[pattern] = (totals[pattern] ?? 0) + weight
    others[pattern] = (others[pattern] ?? 0) + weight * (probabilities[i * columns + classes] ?? 0)
  }
  return others.map((other, pattern) => other / Math.max(1, totals[pattern] ?? 0))
}

/** Weights by which the labelled events of each class make up its share of the unlabelled traffic. */
function labelledWeights({ labelled, classes }: ServedInput, mix: ArrayLike<number>, total: number): Float64Array {
  const counts = new Float64Array(classes)
  for (const [i, c] of labelled.label.entries()) counts[c] = (counts[c] ?? 0) + (labelled.weight[i] ?? 0)
  return Float64Array.from(
    labelled.label,
    (c, i) => (total * (mix[c] ?? 0) * (labelled.weight[i] ?? 0)) / (counts[c] || 1),
  )
}

/** @param isIn whether to learn from the example with this index: labelled, then rare, then unlabelled events */
function fitOther(
  input: ServedInput,
  { shares, probabilities }: State,
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
    penalty: OTHER_PENALTY,
    iterationsMax: OTHER_ITERATIONS_MAX,
    tolerance: TOLERANCE,
  })
}

const FOLDS = 2

/** Per pattern: the share of the unknown class under which unseen unlabelled events are likeliest. */
function boundsOf(input: ServedInput, state: State): number[] {
  const { classes, labelled, rare, unlabelled, rows } = input
  const columns = classes + 1
  const foldOf = (index: number): number => Math.floor(FOLDS * seededShare(input.seed + 17, index))
  const ofLabelled = new Float64Array(labelled.row.length)
  const ofUnlabelled = new Float64Array(unlabelled.row.length)
  for (let fold = 0; fold < FOLDS; fold++) {
    const fitted = fitOther(input, state, (i) => foldOf(i) !== fold, new Float64Array(input.features + 1))
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

const probabilitiesAt = ({ probabilities }: State, i: number, columns: number, c: number): number =>
  probabilities[i * columns + c] ?? 0

/**
 * The share of a sample that cannot come from the rest: by how much more of it than of the rest lies where the component is
 * likeliest, by more than chance. Where both merely differ a little everywhere, that is little.
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
/** What is unknown and looks like known classes does not show as excess: the bound is so many times the excess. */
const OVERLAP = 1.5
const BOUND_MAX = 0.95
/** In standard errors. */
const CHANCE = 1
