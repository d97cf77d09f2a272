import type { Presence } from './presence.js'
import type { SparseRows } from './sparse-rows.js'

/** The data from which the mix of the served traffic is estimated. */
export interface ServedInput {
  /** Number of known classes. The column after them is that of all other classes together. */
  readonly classes: number
  /** The shares of the known classes that the known logits assume; they sum to 1. */
  readonly baseShares: Float64Array
  readonly presence: Presence
  /** The look of all events; the other members refer to its rows. */
  readonly rows: SparseRows
  /** Per feature of the look: the multiple of the penalty that it gets. */
  readonly strictness: Float64Array
  readonly labelled: {
    readonly row: Uint32Array
    readonly label: Uint16Array
    readonly weight: Float64Array
  }
  /** Rows of labelled events whose classes have too few events to be known. */
  readonly rare: Uint32Array
  readonly unlabelled: {
    readonly row: Uint32Array
    /** Row-major: the logits of the known classes, from all facts of the event except its identity. */
    readonly logits: Float32Array
    /** Number of the familiar identity of each event; -1: none. */
    readonly identity: Int32Array
    /** Contexts of each event, from general (the pattern) to specific, as numbers below `contexts`. */
    readonly contexts: readonly Int32Array[]
    /** Number of the pattern of each event. */
    readonly pattern: Uint8Array
    readonly atMs: Float64Array
    /** Class that an override assigns to each event (`classes`: another one); -1: no override. */
    readonly known: Int16Array
    /** Class that a dispute rules out for each event; -1: no dispute. */
    readonly excluded: Int16Array
  }
  /** Per familiar identity: log of the ratio at which events of each known class state it, compared with all events. */
  readonly identities: readonly Float64Array[]
  readonly contexts: number
  /**
   * Per context: log of the ratio at which each class is captured there, compared with all classes, given its parent;
   * from labelled events.
   */
  readonly likelier: (context: number) => Float64Array | undefined
  readonly patterns: number
  readonly seed: number
  /** The bounds of an earlier estimate, in place of ones from this data. */
  readonly bounds?: readonly number[] | undefined
}

/** The estimate between two rounds. */
export interface MixState {
  shares: Float64Array
  mixes: Float64Array
  other: Float64Array
  /** Per pattern: subtracted from the logit of the unknown class, so that its share stays within its bound. */
  discounts: Float64Array
  identityOthers: Float64Array
  /** One row per unlabelled event. */
  probabilities: Float32Array
}

/** Initial share of the unknown class. */
export const FIRST_OTHER = 0.05
/** Smallest share of the unknown class that odds and bounds are computed with. */
export const OTHER_MIN = 1e-3

/** Weight of an overridden event relative to an unlabelled one. */
export const AUDIT_WEIGHT = 5

export const weightOf = ({ unlabelled }: ServedInput, i: number): number =>
  (unlabelled.known[i] ?? -1) >= 0 ? AUDIT_WEIGHT : 1

const SHARE_MIN = 1e-9
/** Bounded, so that a class without events in a context remains possible there. */
export const logRatio = (share: number, overall: number): number =>
  Math.log((share + SHARE_MIN) / (overall + SHARE_MIN))

/** Per pattern: share of the unknown class. */
export function unknownShares(input: ServedInput, { probabilities }: MixState): Float64Array {
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
