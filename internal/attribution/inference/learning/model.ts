import type { Confidence } from '../../../records/interpretation.js'

/** Who a call is attributed to. Two labels are the same class when both members are equal. */
export interface ClassLabel {
  readonly service: string
  readonly owner: string
}

/** A trained Stage-B model: everything that `predict` needs, and its card. Made by `train` or `decodeModel` only. */
export interface Model {
  readonly card: ModelCard
  readonly parameters: ModelParameters
}

/** Columns are the card's classes in their order, then one for what is none of them. */
export interface ModelParameters {
  /** Feature slots that have weights, ascending. */
  readonly slots: Uint32Array
  /** Row-major: one row a slot, one column a class and one for the unknown. */
  readonly weights: Float32Array
  /** One a column. */
  readonly intercepts: Float32Array
  /** Log prior by capture context less the log prior overall; one entry a column. */
  readonly contextOffsets: ReadonlyMap<string, Float32Array>
  /** Logits are divided by it. */
  readonly temperature: number
}

/** What a tenant can read about a version (design section 5): JSON-able, no event's data in it. */
export interface ModelCard {
  readonly format: 1
  readonly seed: number
  readonly classes: readonly CardClass[]
  /** Event times of the examples, milliseconds since the epoch, both included. */
  readonly dataWindow: { readonly fromMs: number; readonly toMs: number; readonly validationFromMs: number }
  readonly examples: {
    readonly resolved: number
    readonly unresolved: number
    readonly overrides: number
    readonly disputes: number
  }
  /** Share of the unresolved traffic that looks like no class, 0 to 1. */
  readonly unknownShare: number
  /** On held-out resolved events weighted to the traffic that is served. */
  readonly weighted: Quality
  /** On held-out overrides; absent when there were none. */
  readonly audited?: Quality | undefined
  readonly gate: Gate
  /** Ascending; of the same examples as the calibration errors above. */
  readonly calibrationCurve: readonly CalibrationBin[]
  /** Accuracy lost on the weighted validation data without the group, largest first. */
  readonly featureImportance: readonly { readonly feature: string; readonly accuracyLost: number }[]
}

export interface CardClass extends ClassLabel {
  /** Labelled examples it was trained on. */
  readonly examples: number
  /** Its estimated share of the unresolved traffic, 0 to 1. */
  readonly servedShare: number
}

export interface Quality {
  readonly n: number
  readonly accuracy: number
  /** Of the heuristic baseline on the same events. */
  readonly heuristicAccuracy: number
  /** Of always saying the class that is most frequent in the served traffic. */
  readonly majorityAccuracy: number
  /** Expected calibration error, 0 to 1; less what chance would show with so many events. */
  readonly calibrationError: number
  /** Of the events with a probability of at least 0.80, the share that is right; absent when there are none. */
  readonly precisionAtFloor?: number | undefined
  readonly shareAtFloor: number
}

export interface Gate {
  /** Whether the version may be promoted; until then its confidence stays below the chargeback floor. */
  readonly isPassed: boolean
  readonly reasons: readonly GateReason[]
}

export type GateReason =
  | 'beats_no_baseline'
  | 'miscalibrated'
  | 'beats_no_baseline_on_audits'
  | 'miscalibrated_on_audits'
  | 'too_few_validation_examples'

export interface CalibrationBin {
  readonly from: number
  readonly to: number
  readonly n: number
  readonly meanProbability: number
  readonly accuracy: number
}

/** What a model says of one event. */
export interface Prediction {
  readonly label: ClassLabel
  /** Calibrated, 0 to 1; what looks like no class lowers it. */
  readonly probability: number
  /** Ten-thousandths: the probability under the policy's cap, and below the floor while the gate is not passed. */
  readonly confidence: Confidence
  /** Calibrated probability that it is none of the classes. */
  readonly unknownProbability: number
  /** The next best, best first, at most `ALTERNATIVES_MAX`. */
  readonly alternatives: readonly Alternative[]
}

export interface Alternative {
  readonly label: ClassLabel
  readonly probability: number
}

export const ALTERNATIVES_MAX = 3
