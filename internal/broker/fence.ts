import type { JetStreamManager } from '@nats-io/jetstream'
import { CHECKPOINTS } from '../../streams/buckets.js'
import { FENCE } from '../../streams/records.js'

/** The value of `fence` in the bucket `checkpoints`. It only rises. */
export interface Fence {
  /** Milliseconds since the epoch. Whatever is reserved later lies behind it. */
  readonly fencedMs: number
}

/**
 * The fence as it is now, 0 where there is none yet. The stream's leader is asked: one that follows it may not know the
 * newest yet.
 */
export async function readFence(manager: JetStreamManager): Promise<number> {
  const message = await manager.streams.getMessage(`KV_${CHECKPOINTS.name}`, {
    last_by_subj: `$KV.${CHECKPOINTS.name}.${FENCE}`,
  })
  return message === null || message.data.length === 0 ? 0 : message.json<Fence>().fencedMs
}
