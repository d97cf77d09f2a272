import type { JetStreamManager } from '@nats-io/jetstream'
import { INVOCATIONS } from '../../../streams/invocations.js'
import { firstSequenceSince, lastSequenceOf, readLogToItsEnd } from '../../broker/log.js'
import { type AdmissionKey, keysOfGroup } from '../../invocations/invocation-group.js'

/** What gateways write: the lane, which hands on to the partitions, first. Behind stage A events have no keys. */
const WRITTEN_BY_GATEWAYS = ['invocations.l.*', 'invocations.a.*']
const BATCH_MESSAGES_MAX = 1_000
/** Of JSON, which is parsed in one turn. */
const BATCH_BYTES_MAX = 512 * 1024

/** @returns when the log got the newest event of a gateway; 0 when it has none */
export async function newestEventAtMs({ streams }: JetStreamManager): Promise<number> {
  const newest = await Promise.all(
    WRITTEN_BY_GATEWAYS.map((subject) => streams.getMessage(INVOCATIONS.name, { last_by_subj: subject })),
  )
  return Math.max(...newest.map((message) => message?.time.getTime() ?? 0))
}

/**
 * The Idempotency-Keys of the events that the log got from an instant on, and has at the call; by batch of messages.
 *
 * @throws Error when the broker does not reply
 */
export async function* keysInLogSince(
  manager: JetStreamManager,
  sinceMs: number,
): AsyncGenerator<readonly LoggedKeys[]> {
  const last = await lastSequenceOf(manager, INVOCATIONS.name)
  const first = await firstSequenceSince(manager, INVOCATIONS.name, sinceMs)
  for (const subject of WRITTEN_BY_GATEWAYS) {
    for (let from = first; from <= last; ) {
      const range = { stream: INVOCATIONS.name, subject, from }
      const limits = { messagesMax: BATCH_MESSAGES_MAX, bytesMax: BATCH_BYTES_MAX }
      const entries = await readLogToItsEnd(manager, { ...range, ...limits })
      from = (entries.at(-1)?.sequence ?? last) + 1
      yield entries.map(({ data, storedAt }) => ({ keys: keysOfGroup(data), storedAtMs: Date.parse(storedAt) }))
    }
  }
}

/** Of one message. */
export interface LoggedKeys {
  readonly keys: readonly AdmissionKey[]
  readonly storedAtMs: number
}
