import type { JetStreamManager } from '@nats-io/jetstream'
import { INVOCATIONS, INVOCATIONS_OF_ALL, partitionOfSubject } from '../../streams/invocations.js'

/**
 * The partitions of which INVOCATIONS has messages, of any stage. There may be more than configured: the setting may
 * have been larger, or be larger in another process. Their events were accepted and must be read.
 */
export async function partitionsHeld(manager: JetStreamManager): Promise<ReadonlySet<number>> {
  const { state } = await manager.streams.info(INVOCATIONS.name, { subjects_filter: INVOCATIONS_OF_ALL })
  return new Set(Object.keys(state.subjects ?? {}).map(partitionOfSubject))
}
