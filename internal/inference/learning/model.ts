import type { Confidence } from '../../records/interpretation.js'
import type { MODEL_FORM } from './features.js'
import type { Pattern } from './views.js'

/** Who a call is attributed to. Two labels are the same class when both members are equal. */
export interface ClassLabel {
  readonly service: string
  readonly owner: string
}

/**
 * A trained model of the inference stage with its card: everything that `predict` needs. Only `train` and `decodeModel`
 * create one.
 */
export interface Model {
  readonly card: ModelCard
  readonly parameters: ModelParameters
}

/**
 * Columns are the classes in the order of the card, then the unknown class. The logits of the known classes are linear;
 * the last column's is the logit of "none of the known classes", and open classes, which only overrides have named,
 * share what falls to that one.
 */
export interface ModelParameters {
  /** Feature slots that have weights, ascending. */
  readonly slots: Uint32Array
  /** Row-major: one row per slot, one column per class and one for the unknown class. */
  readonly weights: Float32Array
  /** One per column. */
  readonly intercepts: Float32Array
  /** Log prior of the capture context minus the overall log prior; one entry per column. */
  readonly contextOffsets: ReadonlyMap<string, Float32Array>
  /** Divisor of the logits. */
  readonly temperature: number
  /** Indices of the open classes. */
  readonly openClasses: readonly number[]
  /** Per context: number of unresolved events that it is the most specific context of. */
  readonly contextCounts: ReadonlyMap<string, number>
}

/** The model card that a tenant can read: serialisable as JSON, without data of any event. */
export interface ModelCard {
  /** The form of the version that the card describes. */
  readonly format: typeof MODEL_FORM
  readonly seed: number
  readonly classes: readonly CardClass[]
  /** Event times of the examples, in milliseconds since the epoch; both bounds are inclusive. */
  readonly dataWindow: { readonly fromMs: number; readonly toMs: number; readonly validationFromMs: number }
  readonly examples: {
    readonly resolved: number
    readonly unresolved: number
    readonly overrides: number
    readonly disputes: number
  }
  /** Share of the unresolved traffic that resembles no class, 0 to 1. */
  readonly unknownShare: number
  /** The same by what an event shows of its caller. */
  readonly patterns: readonly CardPattern[]
  /** Quality on held-out resolved events, weighted to the traffic that the model serves. */
  readonly weighted: Quality
  /** Quality on held-out overrides; absent when there were none. */
  readonly audited?: Quality | undefined
  readonly gate: Gate
  /** Ascending; computed on the weighted events. */
  readonly calibrationCurve: readonly CalibrationBin[]
  /** Loss of accuracy on the weighted validation data without the feature group, largest first. */
  readonly featureImportance: readonly { readonly feature: string; readonly accuracyLost: number }[]
}

export interface CardPattern {
  readonly pattern: Pattern
  /** Share of the unresolved traffic, 0 to 1. */
  readonly share: number
  readonly unknownShare: number
  /** Quality on the held-out resolved events of this pattern. */
  readonly quality?: Quality | undefined
}

export interface CardClass extends ClassLabel {
  /** Number of labelled training examples. */
  readonly examples: number
  /** Estimated share of the class in the unresolved traffic, 0 to 1. */
  readonly servedShare: number
}

export interface Quality {
  readonly n: number
  readonly accuracy: number
  /** Accuracy of the heuristic baseline on the same events. */
  readonly heuristicAccuracy: number
  /** Accuracy of always predicting the most frequent class of the served traffic. */
  readonly majorityAccuracy: number
  /** Expected calibration error, 0 to 1, minus the error expected by chance with this number of events. */
  readonly calibrationError: number
  /** Share of correct predictions among events with a probability of at least 0.80; absent when there are none. */
  readonly precisionAtFloor?: number | undefined
  readonly shareAtFloor: number
  /** Mean negative log-likelihood, in nats; absent where it was not asked for. */
  readonly logLoss?: number | undefined
  /** That of the capture context's shares alone, without any feature. */
  readonly contextLogLoss?: number | undefined
}

export interface Gate {
  /** Whether validation passed. If not, the confidence of the version stays below the chargeback floor. */
  readonly isPassed: boolean
  readonly reasons: readonly GateReason[]
  /** One per reason. Absent if there is none, or an older version of the service judged. */
  readonly findings?: readonly GateFinding[] | undefined
}

/** A figure that is not what it must be. */
export interface GateFinding {
  readonly reason: GateReason
  readonly figure: number
  readonly mustBe: (typeof COMPARISONS)[number]
  readonly bound: number
}
export const COMPARISONS = ['at_least', 'at_most', 'above'] as const

export const GATE_REASONS = [
  'beats_no_baseline',
  'imprecise',
  'miscalibrated',
  'beats_no_baseline_on_audits',
  'imprecise_on_audits',
  'miscalibrated_on_audits',
  'too_few_validation_examples',
  'names_fewer_than_serving',
  'more_unknown_than_serving',
] as const
export type GateReason = (typeof GATE_REASONS)[number]

export interface CalibrationBin {
  readonly from: number
  readonly to: number
  readonly n: number
  readonly meanProbability: number
  readonly accuracy: number
}

/** The prediction of a model for one event. */
export interface Prediction {
  readonly label: ClassLabel
  /** Calibrated, 0 to 1; lower when the event resembles no class. */
  readonly probability: number
  /** In ten-thousandths: the probability, capped by the policy, and below the floor when the gate has not passed. */
  readonly confidence: Confidence
  /** Calibrated probability that the event belongs to none of the classes. */
  readonly unknownProbability: number
  /** The next most probable classes, most probable first, at most `ALTERNATIVES_MAX`. */
  readonly alternatives: readonly Alternative[]
}

export interface Alternative {
  readonly label: ClassLabel
  readonly probability: number
}

export const ALTERNATIVES_MAX = 3
