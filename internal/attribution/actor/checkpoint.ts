import type { Extent, Progress } from '../../broker/checkpoint.js'
import type { Routing } from './routing.js'

/** How far a (stage, partition) has come; the value of `<stage>.<partition>` in the bucket `checkpoints`. */
export interface Checkpoint extends Progress {
  readonly plan?: Plan
  /** The last hand-over of the stage before that has taken effect; a repeated one is passed over. */
  readonly handedOver?: HandOver
}

/** `atMs` is the `valid_from` of its rows. */
export interface Plan extends Extent {
  readonly routing: Routing
  /** What the stage's rule rested on, where that can change between two attempts. */
  readonly basis?: string
}

/** A batch of the stage before, by its last sequence, and which of its messages. Both only rise. */
export interface HandOver {
  readonly last: number
  readonly part: number
}
