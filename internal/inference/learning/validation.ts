import { CHARGEBACK_FLOOR, PROVISIONAL_FLOOR } from '../../records/interpretation.js'
import { bestTemperature, calibrationError, type Judged, type Scored } from './calibration.js'
import { type Examples, type Labelled, seededShare } from './examples.js'
import { type EventFacts, type FeatureGroup, featuresOf } from './features.js'
import { guessByHeuristic, type Heuristic } from './heuristic.js'
import type { ClassLabel, Gate, GateFinding, GateReason, Model, ModelParameters, Prediction, Quality } from './model.js'
import { familiarOf, offsetsOf, predict, toProbabilities, writeModelLogits } from './predict.js'
import { asUnresolved, contextNamed, type DirectoryFacts, type Pattern } from './views.js'

/** A validation event, in the form it would have in the served traffic. */
export interface ValidationEvent {
  readonly facts: EventFacts
  /** Index of the true class; the index of the unknown class when it belongs to none. */
  readonly truth: number
  /** Weight of the event in the served traffic. */
  readonly weight: number
}

/** Traffic shares by context and class that held-out events are weighted to. */
export interface ServedTraffic {
  readonly contexts: readonly ServedContext[]
  /** Number of unresolved events that the contexts were counted on. */
  readonly count: number
}

interface ServedContext {
  readonly pattern: Pattern
  readonly ingestionLayer: string
  readonly principal: string
  readonly count: number
  /** Share of each class; the last is that of the unknown class. */
  readonly mix: Float64Array
}

/** @param shares of each class, and of the unknown class, in the traffic that the model serves */
export function servedTraffic({ contextOffsets, contextCounts }: ModelParameters, shares: Float64Array): ServedTraffic {
  const contexts = [...contextCounts].map(([name, count]): ServedContext => {
    const offsets = contextOffsets.get(name)
    const mix = shares.map((share, c) => share * Math.exp(offsets?.[c] ?? 0))
    const total = mix.reduce((sum, one) => sum + one, 0)
    return { ...contextNamed(name), count, mix: mix.map((one) => one / total) }
  })
  return { contexts, count: contexts.reduce((sum, { count }) => sum + count, 0) }
}

/**
 * Held-out resolved events as they would reach the inference stage, with the weight and context of their class in the
 * served traffic; and held-out unresolved events, weighted by their probability of belonging to no class: every
 * prediction for these is wrong.
 */
export function weightedEvents(
  { resolved, unlabelled }: Examples,
  served: ServedTraffic,
  parameters: ModelParameters,
  directory: DirectoryFacts,
  seed: number,
): ValidationEvent[] {
  const unknownAt = parameters.intercepts.length - 1
  const unjudged = unlabelled.filter(({ override }) => override === undefined).map(({ facts }) => facts)
  const known = hiddenEvents(resolved, served, parameters, directory, rateOf(unjudged, hasNeighbours), seed)
  const all = logitsOfEvents(parameters, unjudged)
  return [
    ...known,
    ...unjudged.map((facts, i): ValidationEvent => {
      const probabilities = toProbabilities(all[i] as Float64Array, 1)
      return { facts, truth: unknownAt, weight: (probabilities[unknownAt] ?? 0) / unjudged.length }
    }),
  ]
}

/**
 * Resolved events with their labels hidden, as if the facts stage could not resolve them: without the facts that it
 * resolves them by, and in a capture context of the unresolved traffic of their class. Events of services without a
 * class are left out.
 *
 * @param neighboursRate share of the unresolved events that show other events of their trace
 */
export function hiddenEvents(
  resolved: readonly Labelled[],
  served: ServedTraffic,
  parameters: ModelParameters,
  directory: DirectoryFacts,
  neighboursRate: number,
  seed: number,
): ValidationEvent[] {
  const isFamiliar = familiarOf(parameters)
  const own = resolved
    .filter(({ label }) => label >= 0)
    .map(({ facts, label }) => ({ facts: asUnresolved(facts, directory), label }))
  const shown =
    neighboursRate /
    Math.max(
      1e-9,
      rateOf(
        own.map(({ facts }) => facts),
        hasNeighbours,
      ),
    )
  const mass = (isFamiliarOne: boolean, label: number): number =>
    served.contexts.reduce(
      (sum, { pattern, count, mix }) =>
        (pattern === 'familiar') === isFamiliarOne ? sum + count * (mix[label] ?? 0) : sum,
      0,
    )
  const counts = new Map<string, number>()
  const viewed = own.map(({ facts, label }, i) => {
    const [shown, not] = [mass(true, label), mass(false, label)]
    const canBeShown = shown > 0 && facts.identityHash !== undefined && isFamiliar(facts.identityHash)
    const isShown = canBeShown && seededShare(seed + 31, i) < Math.max(0.5, shown / (shown + not))
    const key = `${isShown} ${label}`
    counts.set(key, (counts.get(key) ?? 0) + 1)
    return { facts, label, isShown, mass: isShown ? shown : not, key }
  })
  return viewed.flatMap(({ facts, label, isShown, mass, key }, i): ValidationEvent[] => {
    const context = drawn(served, isShown, label, seededShare(seed, i))
    if (context === undefined) return []
    const { pattern, ingestionLayer, principal } = context
    const identityHash = isShown ? facts.identityHash : pattern === 'unfamiliar' ? UNFAMILIAR : undefined
    const neighbours = seededShare(seed + 29, i) < shown ? facts.neighbours : undefined
    return [
      {
        facts: { ...facts, ingestionLayer, principal, identityHash, neighbours },
        truth: label,
        weight: mass / served.count / (counts.get(key) ?? 1),
      },
    ]
  })
}

/** Not the hash of any identity. */
const UNFAMILIAR = 'unfamiliar'

const hasNeighbours = ({ neighbours }: EventFacts): boolean => (neighbours?.length ?? 0) > 0
const rateOf = (events: readonly EventFacts[], is: (event: EventFacts) => boolean): number =>
  events.filter(is).length / Math.max(1, events.length)

/** Maps a number from 0 to 1 to a context of a class; more frequent contexts cover a larger part of that range. */
function drawn({ contexts }: ServedTraffic, isFamiliarOne: boolean, label: number, share: number) {
  const weights = contexts.map(({ pattern, count, mix }) =>
    (pattern === 'familiar') === isFamiliarOne ? count * (mix[label] ?? 0) : 0,
  )
  let rest = share * weights.reduce((sum, weight) => sum + weight, 0)
  for (const [i, weight] of weights.entries()) {
    rest -= weight
    if (rest < 0) return contexts[i]
  }
  return undefined
}

/** Held-out events with an override: unweighted samples of the served traffic. */
export const auditedEvents = ({ unlabelled }: Examples, unknownAt: number): ValidationEvent[] =>
  unlabelled.flatMap(({ facts, override }) =>
    override === undefined ? [] : [{ facts, truth: override < 0 ? unknownAt : override, weight: 1 }],
  )

function logitsOfEvents(
  parameters: ModelParameters,
  events: readonly EventFacts[],
  leftOut?: FeatureGroup | 'capture_context',
): Float64Array[] {
  const rows = featuresOf(events, { leftOut: (group) => group === leftOut })
  return events.map((event, row) => {
    const logits = new Float64Array(parameters.intercepts.length)
    const offsets = leftOut === 'capture_context' ? undefined : offsetsOf(parameters, event)
    writeModelLogits(parameters, rows, row, event, offsets, logits)
    return logits
  })
}

/** Number of audits from which they count as much as the weighted events. */
const AUDITS_MIN = 50

/**
 * Between 1 and the best temperature on the weighted events of known classes, and also on the audits when there are
 * enough: the weights exaggerate the few events of rare classes, and the look has a temperature of its own. How much is
 * unknown is estimated elsewhere, and no divisor of logits makes up for a wrong estimate of it.
 */
export function calibrate(
  parameters: ModelParameters,
  weighted: readonly ValidationEvent[],
  audited: readonly ValidationEvent[],
): number {
  const unknownAt = parameters.intercepts.length - 1
  return Math.sqrt(
    bestTemperature([
      ...scored(
        parameters,
        weighted.filter(({ truth }) => truth !== unknownAt),
      ),
      ...(audited.length < AUDITS_MIN ? [] : scored(parameters, audited)),
    ]),
  )
}

function scored(parameters: ModelParameters, events: readonly ValidationEvent[]): Scored[] {
  const total = events.reduce((sum, { weight }) => sum + weight, 0)
  const all = logitsOfEvents(
    parameters,
    events.map(({ facts }) => facts),
  )
  return events.map(({ truth, weight }, i) => ({ logits: all[i] as Float64Array, truth, weight: weight / total }))
}

/** The most probable class of each event, and whether it is correct. */
export function judge(
  parameters: ModelParameters,
  events: readonly ValidationEvent[],
  leftOut?: FeatureGroup | 'capture_context',
): Judged[] {
  const classes = parameters.intercepts.length - 1
  const all = logitsOfEvents(
    parameters,
    events.map(({ facts }) => facts),
    leftOut,
  )
  return events.map(({ truth, weight }, i) => {
    const probabilities = toProbabilities(all[i] as Float64Array, parameters.temperature)
    let best = 0
    for (let c = 1; c < classes; c++) if ((probabilities[c] ?? 0) > (probabilities[best] ?? 0)) best = c
    return { probability: probabilities[best] ?? 0, isRight: best === truth, weight }
  })
}

/** Share of correct predictions, by weight. */
export function accuracyOf(judged: readonly { readonly isRight: boolean; readonly weight: number }[]): number {
  let [right, total] = [0, 0]
  for (const { isRight, weight } of judged) {
    total += weight
    if (isRight) right += weight
  }
  return total === 0 ? 0 : right / total
}

function judgeHeuristic(
  heuristic: Heuristic,
  events: readonly ValidationEvent[],
  classes: readonly ClassLabel[],
): { readonly isRight: boolean; readonly weight: number }[] {
  return events.map(({ facts, truth, weight }) => {
    const guess = guessByHeuristic(heuristic, facts)?.label
    const is = classes[truth]
    return { isRight: is !== undefined && guess?.service === is.service && guess.owner === is.owner, weight }
  })
}

/** Log-likelihoods of the truth: under the model, and under the shares of the capture context alone. */
export interface Losses {
  readonly mean: number
  readonly ofContext: number
  /** How much lower the model's loss is, in standard errors of the mean difference. */
  readonly gainInErrors: number
}

/** Losses are capped, so that a single event cannot decide. */
const LOSS_MAX = 8

export function lossesOf(
  parameters: ModelParameters,
  shares: Float64Array,
  events: readonly ValidationEvent[],
): Losses | undefined {
  const total = events.reduce((sum, { weight }) => sum + weight, 0)
  if (total === 0) return undefined
  const all = logitsOfEvents(
    parameters,
    events.map(({ facts }) => facts),
  )
  let [mean, ofContext, squares] = [0, 0, 0]
  const gains = events.map(({ facts, truth, weight }, i) => {
    const probability = toProbabilities(all[i] as Float64Array, parameters.temperature)[truth] ?? 0
    const offsets = offsetsOf(parameters, facts)
    const mix = shares.map((share, c) => share * Math.exp(offsets?.[c] ?? 0))
    const context = (mix[truth] ?? 0) / mix.reduce((sum, one) => sum + one, 0)
    const [own, other] = [lossOf(probability), lossOf(context)]
    mean += (weight / total) * own
    ofContext += (weight / total) * other
    return other - own
  })
  for (const [i, gain] of gains.entries()) {
    const weight = (events[i]?.weight ?? 0) / total
    squares += weight * weight * (gain - (ofContext - mean)) ** 2
  }
  return { mean, ofContext, gainInErrors: (ofContext - mean) / Math.max(1e-9, Math.sqrt(squares)) }
}

const lossOf = (probability: number): number => Math.min(LOSS_MAX, -Math.log(Math.max(1e-12, probability)))

export function qualityOf(
  parameters: ModelParameters,
  events: readonly ValidationEvent[],
  baselines: Baselines,
  losses: Losses | undefined,
  judged: readonly Judged[] = judge(parameters, events),
): Quality {
  const floor = CHARGEBACK_FLOOR / 10_000
  const ready = judged.filter(({ probability }) => probability >= floor)
  const weightOf = (list: readonly Judged[]): number => list.reduce((sum, { weight }) => sum + weight, 0)
  return {
    n: judged.length,
    accuracy: accuracyOf(judged),
    heuristicAccuracy: accuracyOf(judgeHeuristic(baselines.heuristic, events, baselines.classes)),
    majorityAccuracy: accuracyOf(
      events.map(({ truth, weight }) => ({ isRight: truth === baselines.majority, weight })),
    ),
    calibrationError: calibrationError(judged),
    precisionAtFloor: ready.length === 0 ? undefined : accuracyOf(ready),
    shareAtFloor: judged.length === 0 ? 0 : weightOf(ready) / weightOf(judged),
    ...(losses && { logLoss: losses.mean, contextLogLoss: losses.ofContext }),
  }
}

/** The baselines that a card compares a version with. */
export interface Baselines {
  readonly heuristic: Heuristic
  readonly classes: readonly ClassLabel[]
  /** Index of the most frequent class of the served traffic. */
  readonly majority: number
}

/** The gate's input for one set of events. */
export interface Evidence {
  readonly quality: Quality
  readonly gainInErrors: number
}

/** How a version predicts the newest unresolved events, which have no labels. */
export interface Answers {
  /** Share of events that it names a service for. */
  readonly named: number
  /** Mean probability of belonging to no class. */
  readonly unknown: number
}

/** The candidate's and the serving version's answers to the same events. */
export interface AgainstServing {
  readonly candidate: Answers
  readonly serving: Answers
  /** Whether enough audits show that the candidate is better. */
  readonly auditsPreferCandidate: boolean
}

/** A version may be promoted only when its calibration error on served traffic is at most this. */
const CALIBRATION_ERROR_MAX = 0.05
const VALIDATION_MIN = 100
/** Of what it claims at the floor of chargeback. */
const PRECISION_MIN = CHARGEBACK_FLOOR / 10_000
const NAMED_KEPT_MIN = 2 / 3
const UNKNOWN_RISE_MAX = 0.1
/** In standard errors. */
const BEYOND_CHANCE = 2

/**
 * Whether a version may be promoted: on the weighted events, and also on the audits when there are enough, its features
 * must lower the log-loss by more than chance against the capture context alone, and it must be calibrated, and precise
 * enough above the floor. The labels must also gain: a model that separates labelled from unlabelled traffic lowers the
 * log-loss of the weighted events even with meaningless labels.
 *
 * @param labelGain the gain in likelihood of later labels from their events' features, in standard errors
 */
export function gateOf(
  weighted: Evidence,
  effectiveN: number,
  audited: Evidence | undefined,
  labelGain = Number.POSITIVE_INFINITY,
): Gate {
  const least = Math.min(weighted.gainInErrors, labelGain)
  const findings = [
    finding('too_few_validation_examples', effectiveN, 'at_least', VALIDATION_MIN),
    finding('beats_no_baseline', least, 'above', BEYOND_CHANCE),
    finding('imprecise', weighted.quality.precisionAtFloor, 'at_least', PRECISION_MIN),
    finding('miscalibrated', weighted.quality.calibrationError, 'at_most', CALIBRATION_ERROR_MAX),
  ]
  if (audited !== undefined && audited.quality.n >= AUDITS_MIN) {
    findings.push(
      finding('beats_no_baseline_on_audits', audited.gainInErrors, 'above', BEYOND_CHANCE),
      finding('imprecise_on_audits', audited.quality.precisionAtFloor, 'at_least', PRECISION_MIN),
      finding('miscalibrated_on_audits', audited.quality.calibrationError, 'at_most', CALIBRATION_ERROR_MAX),
    )
  }
  return gateFrom(findings.flat())
}

/** @returns a finding unless the figure is what it must be; none of a figure that there is not */
function finding(
  reason: GateReason,
  figure: number | undefined,
  mustBe: GateFinding['mustBe'],
  bound: number,
): GateFinding[] {
  if (figure === undefined) return []
  const isRight = mustBe === 'at_least' ? figure >= bound : mustBe === 'at_most' ? figure <= bound : figure > bound
  return isRight ? [] : [{ reason, figure, mustBe, bound }]
}

export const gateFrom = (findings: readonly GateFinding[]): Gate =>
  findings.length === 0
    ? { isPassed: true, reasons: [] }
    : { isPassed: false, reasons: findings.map(({ reason }) => reason), findings }

/**
 * Compared with the serving version, a candidate must not name far fewer events or call far more unknown, unless audits
 * prefer it: labelled events alone do not show whether the rest of the traffic has changed.
 */
export function findingsAgainst({ candidate, serving, auditsPreferCandidate }: AgainstServing): GateFinding[] {
  if (auditsPreferCandidate) return []
  return [
    ...finding('names_fewer_than_serving', candidate.named, 'at_least', NAMED_KEPT_MIN * serving.named),
    ...finding('more_unknown_than_serving', candidate.unknown, 'at_most', serving.unknown + UNKNOWN_RISE_MAX),
  ]
}

/** Shares of events that a version names, and considers unknown. */
export function answersOf(model: Model, events: readonly EventFacts[]): Answers {
  const predictions = predict(model, events)
  const mean = (of: (prediction: Prediction) => number): number =>
    predictions.reduce((sum, one) => sum + of(one), 0) / Math.max(1, predictions.length)
  return {
    named: mean(({ probability }) => Number(probability >= PROVISIONAL_FLOOR / 10_000)),
    unknown: mean(({ unknownProbability }) => unknownProbability),
  }
}

/** Whether the candidate is right for more of the audits than the serving version, by more than chance. */
export function prefersCandidate(
  candidate: Model,
  serving: Model,
  audits: readonly { readonly facts: EventFacts; readonly label: ClassLabel }[],
): boolean {
  if (audits.length < AUDITS_MIN) return false
  const facts = audits.map((audit) => audit.facts)
  const [own, other] = [predict(candidate, facts), predict(serving, facts)]
  const gains = audits.map(({ label }, i) => Number(isOf(own[i], label)) - Number(isOf(other[i], label)))
  const mean = gains.reduce((sum, gain) => sum + gain, 0) / gains.length
  const variance = gains.reduce((sum, gain) => sum + (gain - mean) ** 2, 0) / gains.length
  return mean > BEYOND_CHANCE * Math.sqrt(variance / gains.length)
}

/** The prediction has this label, or is below the floor and thus names nobody. */
const isOf = (prediction: Prediction | undefined, { service, owner }: ClassLabel): boolean => {
  if (prediction === undefined) return false
  if (prediction.label.service === service && prediction.label.owner === owner) return true
  return prediction.probability < PROVISIONAL_FLOOR / 10_000
}

/** Kish's effective sample size: the number of events of equal weight with the same variance. */
export function effectiveCount(events: readonly { readonly weight: number }[]): number {
  const sum = events.reduce((total, { weight }) => total + weight, 0)
  const squares = events.reduce((total, { weight }) => total + weight * weight, 0)
  return squares === 0 ? 0 : (sum * sum) / squares
}
