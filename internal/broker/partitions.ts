import type { JetStreamManager } from '@nats-io/jetstream'
import { INVOCATIONS, INVOCATIONS_OF_ALL, partitionOfSubject } from '../../streams/invocations.js'

/**
 * The partitions that may hold events, of any stage: those of the log, and others of which INVOCATIONS has messages.
 * Their events were accepted, and must be read and found, too: the setting may have been larger, or be larger in
 * another process, and the lane of 0.3.0 was the partition behind the last one.
 */
export async function partitionsHeld(manager: JetStreamManager, partitions: number): Promise<readonly number[]> {
  const { state } = await manager.streams.info(INVOCATIONS.name, { subjects_filter: INVOCATIONS_OF_ALL })
  const held = Object.keys(state.subjects ?? {}).map(partitionOfSubject)
  return [...new Set([...Array(partitions).keys(), ...held])]
}
