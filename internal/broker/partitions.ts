import type { JetStreamManager } from '@nats-io/jetstream'
import { INVOCATIONS, INVOCATIONS_OF_ALL, partitionOfSubject } from '../../streams/invocations.js'

/**
 * The partitions that INVOCATIONS holds messages of, for whichever stage. There may be more than the setting says: it may
 * have been larger, or be larger for another process. What lies in them was accepted, and is to be read.
 */
export async function partitionsHeld(manager: JetStreamManager): Promise<ReadonlySet<number>> {
  const { state } = await manager.streams.info(INVOCATIONS.name, { subjects_filter: INVOCATIONS_OF_ALL })
  return new Set(Object.keys(state.subjects ?? {}).map(partitionOfSubject))
}
