import { fitRegression, type LinearModel, logitsOf, logSumExp, zeroModel } from './logistic-regression.js'
import type { SparseRows } from './sparse-rows.js'

/**
 * Adapts a classifier trained on labelled traffic to traffic without labels.
 *
 * Assumptions: calls of a class have the same feature distribution with and without labels, but the share of the class
 * differs between the two and between capture contexts, and some unlabelled calls belong to no known class. This is
 * label shift with an unknown class (Saerens et al. 2002; Garg et al. 2022, open set label shift). Each round of
 * expectation maximisation does two things:
 *
 * - it fits one logistic regression over all classes. The labelled examples of a class are weighted to the estimated
 *   share of the class in the unlabelled traffic. Unlabelled events are examples of the unknown class, and of classes
 *   known only from overrides (open classes), weighted by their probability of belonging to that class;
 * - it estimates new shares from the probabilities on the unlabelled traffic, under one prior per context. Overrides
 *   count in addition.
 *
 * The unknown class starts with a very small share. Any mix of classes that nowhere exceeds the unlabelled traffic is a
 * fixed point, so the unknown class grows only where the known classes cannot explain the traffic. For the variants that
 * were evaluated and their results, see bench/eval/README.md.
 */
export interface AdaptInput {
  readonly rows: SparseRows
  readonly features: number
  readonly classes: number
  /** Rows of resolved events with their classes. */
  readonly resolved: { readonly row: Uint32Array; readonly label: Uint16Array }
  readonly unlabelled: {
    readonly row: Uint32Array
    /** Contexts of each event, from general to specific, as numbers below `contexts`. */
    readonly contexts: readonly Int32Array[]
    /** Class that an override assigns to each event (`classes`: none of the classes); -1: no override. */
    readonly known: Int16Array
    /** Class that a dispute rules out for each event; -1: no dispute. */
    readonly excluded: Int16Array
  }
  readonly contexts: number
}

export interface Adapted {
  /** The last class is the unknown class. The probabilities hold under the shares below. */
  readonly model: LinearModel
  /** Share of each class in the unlabelled traffic; the last is that of the unknown class. They sum to 1. */
  readonly shares: Float64Array
  /** Row-major, one row per context: share of each class in the unlabelled traffic of the context. */
  readonly mixes: Float64Array
}

/** Inverse variance of the weights: limits the effect of a single event on a logit to a few units. */
const PENALTY = 3
const FIRST_ITERATIONS_MAX = 40
const ITERATIONS_MAX = 8
const TOLERANCE = 1e-5
const ROUNDS_MAX = 15
/**
 * Subtracted from the logit of the unknown class. Density estimates are noisy, and noise alone would make the unknown
 * class grow in each round. With the discount, the known classes can exceed the traffic by about 15 % before the unknown
 * class replaces them.
 */
const UNKNOWN_DISCOUNT = 0.15
/** Initial share, in every context, of the unknown class and of each other open class. */
const FIRST_UNKNOWN = 0.03
/** Maximum of these initial shares together. */
const FIRST_OPEN_MAX = 0.5
/** Number of pseudo-events with which the mix of the parent context is added to the mix of a context. */
const CONTEXT_STRENGTH = 50
/** Weight of an overridden event relative to a resolved event: resolved events come from other traffic. */
const AUDIT_WEIGHT = 3
/** Number of overridden events that the shares estimated without overrides count as. */
const ESTIMATED_SHARES_WEIGHT = 100
/** An unlabelled event with a lower probability of a class is no example of that class. */
const RESPONSIBILITY_MIN = 1e-3

/** The estimate between two rounds. */
interface Estimate {
  readonly shares: Float64Array
  readonly mixes: Float64Array
  /** One row per unlabelled event: its probability of each class. */
  readonly probabilities: Float64Array
}

/** @throws Error when the parameters are not finite: such a model must not be published */
export function adapt(input: AdaptInput): Adapted {
  const { rows, classes, resolved, unlabelled } = input
  const columns = classes + 1
  const counts = countsOf(resolved.label, columns)
  // Classes without resolved events: they are learned from the unlabelled traffic, like the unknown class.
  const open = Array.from({ length: columns }, (_, c) => c).filter((c) => counts[c] === 0)
  const audited = Uint32Array.from(unlabelled.known.keys()).filter((i) => (unlabelled.known[i] ?? -1) >= 0)
  const examples = {
    rows,
    row: join(
      resolved.row,
      audited.map((i) => unlabelled.row[i] ?? 0),
      ...open.map(() => unlabelled.row),
    ),
    label: Uint16Array.from(
      join(
        resolved.label,
        audited.map((i) => unlabelled.known[i] ?? 0),
        ...open.map((c) => new Uint32Array(unlabelled.row.length).fill(c)),
      ),
    ),
  }
  let estimate = firstEstimate(input, counts, open)
  let model = zeroModel(columns, input.features)
  for (let round = 0; round < ROUNDS_MAX; round++) {
    const weight = weightsOf(examples.label, resolved.label.length, audited.length, estimate, open, columns)
    model = fitRegression({ ...examples, weight }, model, {
      penalty: PENALTY,
      iterationsMax: round === 0 ? FIRST_ITERATIONS_MAX : ITERATIONS_MAX,
      tolerance: TOLERANCE,
    })
    const next = nextEstimate(input, model, estimate)
    for (let c = 0; c < columns; c++) {
      model.parameters[c] = (model.parameters[c] ?? 0) + logRatio(next.shares[c] ?? 0, estimate.shares[c] ?? 0)
    }
    estimate = next
  }
  if (!model.parameters.every(Number.isFinite)) throw new Error('the model has non-finite parameters')
  return { model, shares: estimate.shares, mixes: estimate.mixes }
}

/** Weights such that the examples of each class sum to the estimated number of unlabelled events of the class. */
function weightsOf(
  label: Uint16Array,
  resolved: number,
  audited: number,
  { shares, probabilities }: Estimate,
  open: readonly number[],
  columns: number,
): Float64Array {
  const events = probabilities.length / columns
  const weight = new Float64Array(label.length).fill(1, 0, resolved)
  weight.fill(AUDIT_WEIGHT, resolved, resolved + audited)
  for (const [place, c] of open.entries()) {
    const base = resolved + audited + place * events
    for (let i = 0; i < events; i++) {
      const probability = probabilities[i * columns + c] ?? 0
      weight[base + i] = probability < RESPONSIBILITY_MIN ? 0 : probability
    }
  }
  const totals = new Float64Array(columns)
  for (let i = 0; i < label.length; i++) totals[label[i] ?? 0] = (totals[label[i] ?? 0] ?? 0) + (weight[i] ?? 0)
  for (let i = 0; i < label.length; i++) {
    const c = label[i] ?? 0
    weight[i] = ((weight[i] ?? 0) * events * (shares[c] ?? 0)) / (totals[c] || 1)
  }
  return weight
}

/** The shares among the resolved events, and a small share for each open class. */
function firstEstimate({ unlabelled, contexts }: AdaptInput, counts: Float64Array, open: readonly number[]): Estimate {
  const columns = counts.length
  const total = counts.reduce((sum, count) => sum + count, 0)
  const ofEach = Math.min(FIRST_UNKNOWN, FIRST_OPEN_MAX / open.length)
  const left = 1 - open.length * ofEach
  const shares = counts.map((count) => (count === 0 ? ofEach : (left * count) / total))
  const probabilities = new Float64Array(unlabelled.row.length * columns)
  const mixes = new Float64Array(contexts * columns)
  for (let at = 0; at < probabilities.length; at++) probabilities[at] = shares[at % columns] ?? 0
  for (let at = 0; at < mixes.length; at++) mixes[at] = shares[at % columns] ?? 0
  return { shares, mixes, probabilities }
}

const PASSES = 3

function nextEstimate(input: AdaptInput, model: LinearModel, from: Estimate): Estimate {
  const logits = logitsOf(model, input.rows)
  let estimate = from
  for (let pass = 0; pass < PASSES; pass++) {
    const probabilities = probabilitiesOf(input, logits, from.shares, estimate.mixes)
    const shares = sharesOf(input, probabilities)
    estimate = { probabilities, shares, mixes: mixesOf(input, probabilities, shares) }
  }
  return estimate
}

/**
 * Class probabilities of each unlabelled event under the prior of its context. Overrides and disputes take precedence.
 *
 * @param shares the shares that the logits were fitted to
 */
function probabilitiesOf(
  { classes, unlabelled }: AdaptInput,
  logits: Float64Array,
  shares: Float64Array,
  mixes: Float64Array,
): Float64Array {
  const columns = classes + 1
  const special = unlabelled.contexts.at(-1)
  const all = new Float64Array(unlabelled.row.length * columns)
  for (let i = 0; i < unlabelled.row.length; i++) {
    const p = all.subarray(i * columns, (i + 1) * columns)
    const known = unlabelled.known[i] ?? -1
    if (known >= 0) {
      p[known] = 1
      continue
    }
    const row = (unlabelled.row[i] ?? 0) * columns
    const context = (special?.[i] ?? 0) * columns
    for (let c = 0; c < columns; c++) {
      p[c] = (logits[row + c] ?? 0) + logRatio(mixes[context + c] ?? 0, shares[c] ?? 0)
    }
    p[classes] = (p[classes] ?? 0) - UNKNOWN_DISCOUNT
    const excluded = unlabelled.excluded[i] ?? -1
    if (excluded >= 0) p[excluded] = Number.NEGATIVE_INFINITY
    const normaliser = logSumExp(p)
    for (let c = 0; c < columns; c++) p[c] = Math.exp((p[c] ?? 0) - normaliser)
  }
  return all
}

const SHARE_MIN = 1e-9
/** Bounded, so that a class without events in a context stays possible there. */
export const logRatio = (share: number, overall: number): number =>
  Math.log((share + SHARE_MIN) / (overall + SHARE_MIN))

function sharesOf({ classes, unlabelled }: AdaptInput, probabilities: Float64Array): Float64Array {
  const columns = classes + 1
  const events = unlabelled.row.length
  const estimated = new Float64Array(columns)
  const found = new Float64Array(columns)
  let audits = 0
  for (let i = 0; i < events; i++) {
    for (let c = 0; c < columns; c++) estimated[c] = (estimated[c] ?? 0) + (probabilities[i * columns + c] ?? 0)
    const known = unlabelled.known[i] ?? -1
    if (known < 0) continue
    found[known] = (found[known] ?? 0) + 1
    audits++
  }
  return estimated.map(
    (sum, c) => ((ESTIMATED_SHARES_WEIGHT * sum) / events + (found[c] ?? 0)) / (ESTIMATED_SHARES_WEIGHT + audits),
  )
}

/** The mix of each context, smoothed towards the mix of its parent context. */
function mixesOf({ classes, unlabelled, contexts }: AdaptInput, probabilities: Float64Array, shares: Float64Array) {
  const columns = classes + 1
  const mixes = new Float64Array(contexts * columns)
  for (const [level, of] of unlabelled.contexts.entries()) {
    const above = unlabelled.contexts[level - 1]
    const sums = new Float64Array(contexts * columns)
    const parents = new Map<number, number | undefined>()
    for (let i = 0; i < of.length; i++) {
      const context = of[i] ?? 0
      parents.set(context, above?.[i])
      const weight = (unlabelled.known[i] ?? -1) >= 0 ? AUDIT_WEIGHT : 1
      for (let c = 0; c < columns; c++) {
        const at = context * columns + c
        sums[at] = (sums[at] ?? 0) + weight * (probabilities[i * columns + c] ?? 0)
      }
    }
    for (const [context, parent] of parents) {
      const own = sums.subarray(context * columns, (context + 1) * columns)
      const count = own.reduce((sum, part) => sum + part, 0)
      for (let c = 0; c < columns; c++) {
        const prior = parent === undefined ? (shares[c] ?? 0) : (mixes[parent * columns + c] ?? 0)
        mixes[context * columns + c] = ((own[c] ?? 0) + CONTEXT_STRENGTH * prior) / (count + CONTEXT_STRENGTH)
      }
    }
  }
  return mixes
}

function countsOf(labels: Uint16Array, columns: number): Float64Array {
  const counts = new Float64Array(columns)
  for (const label of labels) counts[label] = (counts[label] ?? 0) + 1
  return counts
}

function join(...parts: readonly (Uint32Array | Uint16Array | Int16Array)[]): Uint32Array {
  const all = new Uint32Array(parts.reduce((sum, { length }) => sum + length, 0))
  let at = 0
  for (const part of parts) {
    all.set(part, at)
    at += part.length
  }
  return all
}
