import type { KV } from '@nats-io/kv'
import type { StageName } from '../../../streams/invocations.js'
import { isLostRace } from '../../broker/errors.js'
import type { Routing } from './routing.js'

/**
 * How far a (stage, partition) has come. It is written before a batch takes effect, by compare-and-set: whoever
 * loses the race is no longer the owner and must not act.
 */
export interface Checkpoint {
  /** Everything up to this sequence has taken effect. */
  readonly done: number
  /** The batch that is about to take effect: exactly these messages, whoever forms it again. */
  readonly plan?: Plan
  /** The last hand-over of the stage before that has taken effect; a repeated one is passed over. */
  readonly handedOver?: HandOver
}

export interface Plan {
  readonly first: number
  readonly last: number
  /** The `valid_from` of its rows, milliseconds since the epoch. */
  readonly atMs: number
  readonly routing: Routing
}

/** A batch of the stage before, by its last sequence, and which of its messages. Both only rise. */
export interface HandOver {
  readonly last: number
  readonly part: number
}

/** Somebody else has moved the checkpoint since it was read. */
export class OwnershipLost extends Error {}

/** One owner's hold of a checkpoint. */
export class CheckpointHold {
  private readonly bucket: KV
  private readonly key: string
  private current: Checkpoint
  private revision: number

  private constructor(bucket: KV, key: string, current: Checkpoint, revision: number) {
    this.bucket = bucket
    this.key = key
    this.current = current
    this.revision = revision
  }

  static async take(bucket: KV, stage: StageName, partition: number): Promise<CheckpointHold> {
    const key = `${stage}.${partition}`
    const entry = await bucket.get(key)
    if (entry !== null) return new CheckpointHold(bucket, key, entry.json<Checkpoint>(), entry.revision)
    const initial: Checkpoint = { done: 0 }
    try {
      return new CheckpointHold(bucket, key, initial, await bucket.create(key, JSON.stringify(initial)))
    } catch (cause) {
      throw isLostRace(cause) ? new OwnershipLost(`${key} was created by another owner`, { cause }) : cause
    }
  }

  get value(): Checkpoint {
    return this.current
  }

  /** Moves on without writing; the next `save` writes it. Until then a new owner carries the last plan out again. */
  advance(next: Checkpoint): void {
    this.current = next
  }

  /** @throws OwnershipLost when another owner has written since */
  async save(next: Checkpoint): Promise<void> {
    try {
      this.revision = await this.bucket.update(this.key, JSON.stringify(next), this.revision)
      this.current = next
    } catch (cause) {
      throw isLostRace(cause) ? new OwnershipLost(`${this.key} was moved by another owner`, { cause }) : cause
    }
  }
}
