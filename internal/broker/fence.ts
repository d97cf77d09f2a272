import type { JetStreamManager } from '@nats-io/jetstream'
import { CHECKPOINTS } from '../../streams/buckets.js'
import { FENCE } from '../../streams/records.js'

/** The value of `fence` in the bucket `checkpoints`. It never decreases. */
export interface Fence {
  /** Milliseconds since the epoch. Instants reserved after it was set are later. */
  readonly fencedMs: number
}

/**
 * The current fence; 0 when there is none yet. Reads from the stream's leader, since a follower may not have the newest
 * value yet.
 */
export async function readFence(manager: JetStreamManager): Promise<number> {
  const message = await manager.streams.getMessage(`KV_${CHECKPOINTS.name}`, {
    last_by_subj: `$KV.${CHECKPOINTS.name}.${FENCE}`,
  })
  return message === null || message.data.length === 0 ? 0 : message.json<Fence>().fencedMs
}
