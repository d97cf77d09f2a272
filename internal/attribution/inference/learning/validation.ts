import { CHARGEBACK_FLOOR } from '../../../records/interpretation.js'
import { bestTemperature, calibrationError, type Judged, type Scored } from './calibration.js'
import { type Examples, seededShare } from './examples.js'
import { type EventFacts, type FeatureGroup, featuresOf } from './features.js'
import { guessByHeuristic, type Heuristic } from './heuristic.js'
import type { ClassLabel, Gate, GateReason, ModelParameters, Quality } from './model.js'
import { offsetsOf, toProbabilities, writeModelLogits } from './predict.js'

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
  readonly shares: Float64Array
  /** Row-major, one row per context. */
  readonly mixes: Float64Array
  /** Per context: the facts of one event, for its layer and principal, and the number of events. */
  readonly contexts: readonly { readonly number: number; readonly facts: EventFacts; readonly count: number }[]
}

/**
 * Held-out resolved events, with the weight and context that their class has in the served traffic; and held-out
 * unresolved events, weighted by their probability of belonging to no class: every prediction for these is wrong.
 */
export function weightedEvents(
  { resolved, unlabelled }: Examples,
  served: ServedTraffic,
  parameters: ModelParameters,
  seed: number,
): ValidationEvent[] {
  const unknownAt = served.shares.length - 1
  const counts = new Float64Array(served.shares.length)
  for (const { label } of resolved) if (label >= 0) counts[label] = (counts[label] ?? 0) + 1
  const draw = contextDraw(served)
  const events = resolved
    .filter(({ label }) => label >= 0)
    .map(({ facts, label }, i): ValidationEvent => {
      const { ingestionLayer, principal } = draw(label, seededShare(seed, i)) ?? facts
      const weight = (served.shares[label] ?? 0) / (counts[label] ?? 1)
      return { facts: { ...facts, ingestionLayer, principal }, truth: label, weight }
    })
  const unjudged = unlabelled.filter(({ override }) => override === undefined).map(({ facts }) => facts)
  const all = logitsOfEvents(parameters, unjudged)
  return [
    ...events,
    ...unjudged.map((facts, i): ValidationEvent => {
      const probabilities = toProbabilities(all[i] as Float64Array, 1)
      return { facts, truth: unknownAt, weight: (probabilities[unknownAt] ?? 0) / unjudged.length }
    }),
  ]
}

/** Held-out events with an override: unweighted samples of the served traffic. */
export const auditedEvents = ({ unlabelled }: Examples, unknownAt: number): ValidationEvent[] =>
  unlabelled.flatMap(({ facts, override }) =>
    override === undefined ? [] : [{ facts, truth: override < 0 ? unknownAt : override, weight: 1 }],
  )

/** Maps a number from 0 to 1 to a context of a class; more frequent contexts cover a larger part of that range. */
function contextDraw({ mixes, contexts, shares }: ServedTraffic) {
  return (label: number, share: number): EventFacts | undefined => {
    const weights = contexts.map(({ number, count }) => count * (mixes[number * shares.length + label] ?? 0))
    let rest = share * weights.reduce((sum, weight) => sum + weight, 0)
    for (const [i, weight] of weights.entries()) {
      rest -= weight
      if (rest < 0) return contexts[i]?.facts
    }
    return undefined
  }
}

export function logitsOfEvents(
  parameters: ModelParameters,
  events: readonly EventFacts[],
  leftOut?: FeatureGroup | 'capture_context',
): Float64Array[] {
  const rows = featuresOf(events, (group) => group === leftOut)
  return events.map((event, row) => {
    const logits = new Float64Array(parameters.intercepts.length)
    const offsets = leftOut === 'capture_context' ? undefined : offsetsOf(parameters, event)
    writeModelLogits(parameters, rows, row, offsets, logits)
    return logits
  })
}

/** Number of audits from which they count as much as the weighted events. */
const AUDITS_MIN = 50

/** The best temperature on the weighted events, and also on the audits when there are enough. */
export function calibrate(
  parameters: ModelParameters,
  weighted: readonly ValidationEvent[],
  audited: readonly ValidationEvent[],
): number {
  return bestTemperature([
    ...scored(parameters, weighted),
    ...(audited.length < AUDITS_MIN ? [] : scored(parameters, audited)),
  ])
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

export function qualityOf(
  parameters: ModelParameters,
  events: readonly ValidationEvent[],
  baselines: Baselines,
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
  }
}

/** The baselines that a version must beat. */
export interface Baselines {
  readonly heuristic: Heuristic
  readonly classes: readonly ClassLabel[]
  /** Index of the most frequent class of the served traffic. */
  readonly majority: number
}

/** Design section 5: a version may be promoted only when its calibration error on served traffic is at most this. */
const CALIBRATION_ERROR_MAX = 0.05
const VALIDATION_MIN = 100

/**
 * Whether a version may be promoted: it must beat the heuristic baseline and the majority class by more than chance, and
 * be calibrated, on the weighted events and also on the audits when there are enough.
 */
export function gateOf(weighted: Quality, effectiveN: number, audited: Quality | undefined): Gate {
  const reasons: GateReason[] = []
  if (effectiveN < VALIDATION_MIN) reasons.push('too_few_validation_examples')
  if (!beatsBaselines(weighted, effectiveN)) reasons.push('beats_no_baseline')
  if (weighted.calibrationError > CALIBRATION_ERROR_MAX) reasons.push('miscalibrated')
  if (audited !== undefined && audited.n >= AUDITS_MIN) {
    if (!beatsBaselines(audited, audited.n)) reasons.push('beats_no_baseline_on_audits')
    if (audited.calibrationError > CALIBRATION_ERROR_MAX) reasons.push('miscalibrated_on_audits')
  }
  return { isPassed: reasons.length === 0, reasons }
}

/** By more than two standard errors of the difference of two shares. */
function beatsBaselines({ accuracy, heuristicAccuracy, majorityAccuracy }: Quality, n: number): boolean {
  const best = Math.max(heuristicAccuracy, majorityAccuracy)
  const variance = (share: number): number => (share * (1 - share)) / Math.max(1, n)
  return accuracy - best > 2 * Math.sqrt(variance(accuracy) + variance(best))
}

/** Kish's effective sample size: the number of events of equal weight with the same variance. */
export function effectiveCount(events: readonly ValidationEvent[]): number {
  const sum = events.reduce((total, { weight }) => total + weight, 0)
  const squares = events.reduce((total, { weight }) => total + weight * weight, 0)
  return squares === 0 ? 0 : (sum * sum) / squares
}
