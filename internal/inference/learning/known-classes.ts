import { bestTemperature } from './calibration.js'
import { type EventFacts, type FeatureGroup, featuresOf } from './features.js'
import { fitRegression, type LinearModel, logitsOf, logSumExp, zeroModel } from './logistic-regression.js'
import { type Look, lookOf } from './look.js'
import { compact, renumber, type SparseRows } from './sparse-rows.js'

/**
 * A model of the classes that have enough labelled events. The look of a call (model, sizes, hours) is learned first,
 * from all labelled events with all else hidden. The weights of what is added to it are learned on top, with the look
 * fixed: if all were learned together, the identity of a labelled event, or a tag that only labelled events have, would
 * explain its label, and the look, which alone distinguishes most events of the inference stage, would stay half
 * learned.
 */
export interface KnownClasses {
  /** Feature slots that have weights, ascending. */
  readonly slots: Uint32Array
  /** Row-major: one row per slot, one column per class. */
  readonly weights: Float64Array
  readonly intercepts: Float64Array
}

const ITERATIONS_MAX = 60
const TOLERANCE = 1e-5
/** Inverse variance of the weights of the look, and of an addition to it. */
const LOOK_PENALTY = 2
const ADDED_PENALTY = 1

/** Groups with many features, each seen in few events: a class needs many events before they are evidence. */
const FINE: ReadonlySet<FeatureGroup> = new Set(['hour', 'token_shape', 'model_and_tokens', 'model_and_hour'])
/** Multiple of the penalty of the other groups. */
const FINE_PENALTY = 10

/** Per slot of the look: the multiple of the penalty that it gets. */
export function strictnessOf(events: readonly EventFacts[], slots: Uint32Array): Float64Array {
  const fine = new Set(featuresOf(events, { leftOut: (group) => !FINE.has(group) }).columns)
  return Float64Array.from(slots, (slot) => (fine.has(slot) ? FINE_PENALTY : 1))
}

export interface LabelledExamples {
  readonly facts: readonly EventFacts[]
  /** Below `classes`. */
  readonly label: Uint16Array
  readonly weight: Float64Array
}

/**
 * @param groups of the look
 * @param temperatureOf the divisor of the look's logits; it may be below 1
 * @param start weights to start from, of an earlier fit
 */
export function learnKnownClasses(
  { facts, label, weight }: LabelledExamples,
  classes: number,
  groups: Look,
  temperatureOf: (look: KnownClasses) => number,
  start?: KnownClasses,
): KnownClasses {
  const { columns: slots, rows } = compact(lookOf(facts, groups))
  const look = fitRegression({ rows, row: indices(facts.length), label, weight }, startOf(start, slots, classes), {
    penalty: strictnessOf(facts, slots).map((times) => LOOK_PENALTY * times),
    iterationsMax: ITERATIONS_MAX,
    tolerance: TOLERANCE,
  })
  const uncalibrated = knownFrom(look, slots)
  const temperature = temperatureOf(uncalibrated)
  const calibrated: KnownClasses = {
    slots,
    weights: uncalibrated.weights.map((one) => one / temperature),
    intercepts: uncalibrated.intercepts.map((one) => one / temperature),
  }
  const examples = { facts, label, weight }
  return withAdded(withLabelledShares(calibrated, examples, classes, groups), examples, classes, groups)
}

/**
 * Intercepts with which the mean probability of each class over the labelled events equals its share of them. A fit has
 * such intercepts, but a temperature breaks them: a frequent class then seems more or less frequent in any traffic
 * whose shares are estimated with these logits (Alexandari et al. 2020, bias-corrected calibration).
 */
function withLabelledShares(
  known: KnownClasses,
  { facts, label, weight }: LabelledExamples,
  classes: number,
  groups: Look,
): KnownClasses {
  const count = facts.length
  const { parameters } = fitRegression(
    {
      rows: { ...NO_FEATURES, count, starts: new Uint32Array(count + 1) },
      row: indices(count),
      label,
      weight,
      offsets: knownLogits(known, lookOf(facts, groups)),
    },
    zeroModel(classes, 0),
    { penalty: 0, iterationsMax: ITERATIONS_MAX, tolerance: TOLERANCE },
  )
  return { ...known, intercepts: known.intercepts.map((intercept, c) => intercept + (parameters[c] ?? 0)) }
}

const NO_FEATURES = { columns: new Uint32Array(0), values: new Float32Array(0) }

/** Number of pseudo-events per class that are spread over identities as the events of all classes are. */
const IDENTITY_STRENGTH = 5

/**
 * Per identity of labelled events: log of the ratio at which each class's events state it, compared with those of all
 * classes. Counted, not fitted: a fit would credit an identity only with what the look and the shares of the labelled
 * events do not explain, and shares differ where the model serves.
 */
export function identityLogs({ facts, label, weight }: LabelledExamples, classes: number): Map<string, Float64Array> {
  const counts = new Map<string, Float64Array>()
  const totals = new Float64Array(classes)
  let all = 0
  for (const [i, { identityHash }] of facts.entries()) {
    if (!identityHash) continue
    const own = counts.get(identityHash) ?? new Float64Array(classes)
    counts.set(identityHash, own)
    const c = label[i] ?? 0
    own[c] = (own[c] ?? 0) + (weight[i] ?? 0)
    totals[c] = (totals[c] ?? 0) + (weight[i] ?? 0)
    all += weight[i] ?? 0
  }
  for (const own of counts.values()) {
    const share = own.reduce((sum, one) => sum + one, 0) / all
    for (let c = 0; c < classes; c++) {
      own[c] = Math.log(((own[c] ?? 0) / share + IDENTITY_STRENGTH) / ((totals[c] ?? 0) + IDENTITY_STRENGTH))
    }
  }
  return counts
}

function startOf(start: KnownClasses | undefined, slots: Uint32Array, classes: number): LinearModel {
  const model = zeroModel(classes, slots.length)
  if (start === undefined || start.intercepts.length !== classes) return model
  const places = new Map<number, number>()
  for (const [place, slot] of start.slots.entries()) places.set(slot, place)
  model.parameters.set(start.intercepts)
  for (const [feature, slot] of slots.entries()) {
    const place = places.get(slot)
    if (place === undefined) continue
    model.parameters.set(start.weights.subarray(place * classes, (place + 1) * classes), classes * (feature + 1))
  }
  return model
}

const knownFrom = ({ classes, parameters }: LinearModel, slots: Uint32Array): KnownClasses => ({
  slots,
  weights: parameters.slice(classes),
  intercepts: parameters.slice(0, classes),
})

/**
 * Learns what is added to the look, identities aside, from the labelled events that have any of it; the look is fixed.
 */
function withAdded(
  known: KnownClasses,
  { facts, label, weight }: LabelledExamples,
  classes: number,
  groups: Look,
): KnownClasses {
  const leftOut = (group: FeatureGroup): boolean => group === 'identity' || groups.has(group)
  const all = featuresOf(facts, { leftOut })
  const own = facts.flatMap((_, i) => ((all.starts[i] ?? 0) < (all.starts[i + 1] ?? 0) ? [i] : []))
  if (own.length === 0) return known
  const some = own.map((i) => facts[i] as EventFacts)
  const { columns: slots, rows } = compact(featuresOf(some, { leftOut }))
  const fitted = fitRegression(
    {
      rows,
      row: indices(some.length),
      label: Uint16Array.from(own, (i) => label[i] ?? 0),
      weight: Float64Array.from(own, (i) => weight[i] ?? 0),
      offsets: knownLogits(known, lookOf(some, groups)),
      hasFixedIntercepts: true,
    },
    zeroModel(classes, slots.length),
    { penalty: ADDED_PENALTY, iterationsMax: ITERATIONS_MAX, tolerance: TOLERANCE },
  )
  return merged(known, { ...knownFrom(fitted, slots), intercepts: known.intercepts })
}

/** The slots of both; a slot that both have because of a collision gets the sum. */
function merged(one: KnownClasses, other: KnownClasses): KnownClasses {
  const classes = one.intercepts.length
  const slots = Uint32Array.from(new Set([...one.slots, ...other.slots])).sort()
  const weights = new Float64Array(slots.length * classes)
  const places = new Map<number, number>()
  for (const [place, slot] of slots.entries()) places.set(slot, place)
  for (const part of [one, other]) {
    for (const [from, slot] of part.slots.entries()) {
      const to = places.get(slot) ?? 0
      for (let c = 0; c < classes; c++) {
        const at = to * classes + c
        weights[at] = (weights[at] ?? 0) + (part.weights[from * classes + c] ?? 0)
      }
    }
  }
  return { slots, weights, intercepts: one.intercepts }
}

/** Row-major logits of the known classes, one row per event. */
export function knownLogits({ slots, weights, intercepts }: KnownClasses, rows: SparseRows): Float32Array {
  const classes = intercepts.length
  const parameters = new Float64Array(classes + weights.length)
  parameters.set(intercepts)
  parameters.set(weights, classes)
  return logitsOf({ classes, features: slots.length, parameters }, renumber(rows, slots))
}

/** The divisor of the look's logits that fits later events best. */
export function lookTemperature(look: KnownClasses, later: LabelledExamples, groups: Look): number {
  const classes = look.intercepts.length
  const logits = knownLogits(look, lookOf(later.facts, groups))
  return bestTemperature(
    later.facts.map((_, i) => ({
      logits: Float64Array.from(logits.subarray(i * classes, (i + 1) * classes)),
      truth: later.label[i] ?? 0,
      weight: later.weight[i] ?? 0,
    })),
  )
}

/**
 * For events that were not learned from: the gain in the log-likelihood of their labels from the events' features,
 * compared with the shares of the classes alone, in standard errors of the mean. Meaningless labels gain nothing,
 * however frequent one of them is.
 */
export function gainInErrorsOf(
  known: KnownClasses,
  identities: ReadonlyMap<string, Float64Array>,
  { facts, label }: LabelledExamples,
  shares: Float64Array,
): number {
  const classes = shares.length
  const logits = knownLogits(known, featuresOf(facts, { leftOut: (group) => group === 'identity' }))
  const gains = facts.map(({ identityHash }, i) => {
    const stated = identities.get(identityHash ?? '')
    const own = Float64Array.from(
      logits.subarray(i * classes, (i + 1) * classes),
      (logit, c) => logit + (stated?.[c] ?? 0),
    )
    const truth = label[i] ?? 0
    return (own[truth] ?? 0) - logSumExp(own) - Math.log(shares[truth] ?? 0)
  })
  const mean = gains.reduce((sum, gain) => sum + gain, 0) / Math.max(1, gains.length)
  const squares = gains.reduce((sum, gain) => sum + (gain - mean) ** 2, 0)
  return (mean * gains.length) / Math.max(1e-9, Math.sqrt(squares))
}

export const indices = (count: number): Uint32Array => Uint32Array.from({ length: count }, (_, i) => i)
