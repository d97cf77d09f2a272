import type { Extent, Progress } from '../../broker/checkpoint.js'
import type { Routing } from './routing.js'

/** Progress of a (stage, partition); the value of `<stage>.<partition>` in the bucket `checkpoints`. */
export interface Checkpoint extends Progress {
  readonly plan?: Plan
  /** The last hand-over from the previous stage that took effect; repeated hand-overs are skipped. */
  readonly handedOver?: HandOver
}

/** `atMs` becomes the `valid_from` of the batch's rows. */
export interface Plan extends Extent {
  readonly routing: Routing
  /** The basis of the stage's rule, if it can change between two attempts. */
  readonly basis?: string
}

/** Identifies a message from a batch of the previous stage, by the batch's last sequence and the part. Both only increase. */
export interface HandOver {
  readonly last: number
  readonly part: number
}
