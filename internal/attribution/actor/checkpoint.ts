import type { Extent, Progress } from '../../broker/checkpoint.js'

/** Progress of a (stage, partition); the value of `<stage>.<partition>` in the bucket `checkpoints`. */
export interface Checkpoint extends Progress {
  readonly plan?: Plan
  /** By mailbox that hands over: its last hand-over that took effect. Repeated ones are skipped. */
  readonly handedOver?: Readonly<Record<string, HandOver>>
  /** What the next owner reads again, oldest first, to know what this one knew; only of the trace stage. */
  readonly recent?: readonly RecentMessages[]
  /** Milliseconds that the stage took to decide on its last batch: neither its effects nor the pause after it. */
  readonly decidedMs?: number
}

/** The messages of some batches that were done lately: those after one sequence, up to where the next entry begins. */
export interface RecentMessages {
  readonly after: number
  /** The time of the first batch, epoch milliseconds. */
  readonly atMs: number
  readonly bytes: number
}

/** `atMs` becomes the `valid_from` of the batch's rows. */
export interface Plan extends Extent {
  readonly routing: Routing
  /** The basis of the stage's rule, if it can change between two attempts. */
  readonly basis?: string
  /**
   * Ids of the messages with facts of traces. A repeat sends no others, which would contradict these if the directory
   * has changed.
   */
  readonly facts?: readonly string[]
}

/**
 * Identifies a message from a batch of the previous stage, by the batch's last sequence and the part. Both only
 * increase.
 */
export interface HandOver {
  readonly last: number
  readonly part: number
}

/**
 * Which events of a batch are handed to the next stage; part of the batch's plan. When a batch is repeated after a
 * crash, the directory or model may have changed. Its events must still be routed as before; otherwise an event could
 * get two records or none.
 *
 * Base64 of one bit per event, least significant first; empty if no event is handed over. A later attempt that hands
 * over more events appends them after a comma, so that earlier messages keep their order and their ids.
 */
export type Routing = string
