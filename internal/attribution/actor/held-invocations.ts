import type { KV } from '@nats-io/kv'
import { INVOCATIONS, invocationsSubject } from '../../../streams/invocations.js'
import { readCheckpoint } from '../../broker/checkpoint.js'
import type { LogEntry, LogRange } from '../../broker/log.js'
import { type AdmittedInvocation, decodeGroup } from '../../invocations/invocation-group.js'
import type { Checkpoint } from './checkpoint.js'

export interface HeldDeps {
  readonly readLog: (range: LogRange) => Promise<LogEntry[]>
  readonly checkpoints: KV
  /** Of the log. */
  readonly partitions: number
}

/**
 * Events that the facts stage has handed over and that have no record yet, stage by stage in the order in which they
 * pass: one that moves on meanwhile is found in the next mailbox, or has its record.
 */
export async function* heldInvocations({
  readLog,
  checkpoints,
  partitions,
}: HeldDeps): AsyncGenerator<AdmittedInvocation> {
  for (const stage of ['t', 'b', 'c'] as const) {
    for (let partition = 0; partition < partitions; partition++) {
      const checkpoint = await readCheckpoint<Checkpoint>(checkpoints, `${stage}.${partition}`)
      const subject = invocationsSubject(stage, partition)
      for (let from = (checkpoint?.done ?? 0) + 1; ; ) {
        const range = { stream: INVOCATIONS.name, subject, from, messagesMax: 500, bytesMax: 8 * 1024 * 1024 }
        const entries = await readLog(range)
        const last = entries.at(-1)
        if (last === undefined) break
        for (const { data, sequence } of entries) yield* decodeOrSkip(data, sequence)
        from = last.sequence + 1
      }
    }
  }
}

/** The stage that reads the mailbox quarantines an unreadable message; a message with corrections holds no events. */
export function decodeOrSkip(data: Uint8Array, sequence: number): readonly AdmittedInvocation[] {
  try {
    return decodeGroup(data, sequence)
  } catch {
    return []
  }
}
