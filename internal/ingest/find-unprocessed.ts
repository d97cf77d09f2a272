import type { JetStreamManager } from '@nats-io/jetstream'
import type { KV } from '@nats-io/kv'
import { INVOCATIONS, invocationsSubject, mailboxes } from '../../streams/invocations.js'
import { readCheckpoint } from '../broker/checkpoint.js'
import { readLog } from '../broker/log.js'
import { identifyEntries } from '../invocations/invocation-group.js'

/** Of one mailbox: an event is usually in it for less than a second. */
const SEARCHED_BYTES_MAX = 8 * 1024 * 1024
const SEARCHED_MESSAGES_MAX = 1_000

export interface FindUnprocessedDeps {
  readonly manager: JetStreamManager
  readonly checkpoints: KV
  /** Of the log. */
  readonly partitions: number
}

/**
 * Whether an event is in the mailboxes of the stages: admitted, and not processed yet.
 *
 * @returns undefined when a mailbox holds more than is searched and the event was not in what was
 */
export async function isUnprocessed(
  id: Uint8Array,
  { manager, checkpoints, partitions }: FindUnprocessedDeps,
): Promise<boolean | undefined> {
  let isComplete = true
  // In the order in which events pass: one that moves on meanwhile is found in the next mailbox.
  for (const { stage, partition } of mailboxes(partitions)) {
    const checkpoint = await readCheckpoint(checkpoints, `${stage}.${partition}`)
    const entries = await readLog(manager, {
      stream: INVOCATIONS.name,
      subject: invocationsSubject(stage, partition),
      from: (checkpoint?.done ?? 0) + 1,
      messagesMax: SEARCHED_MESSAGES_MAX,
      bytesMax: SEARCHED_BYTES_MAX,
    })
    if (entries.some(({ data }) => identifyEntries(data).some((event) => Buffer.compare(event.id, id) === 0)))
      return true
    const bytes = entries.reduce((sum, { data }) => sum + data.length, 0)
    if (entries.length >= SEARCHED_MESSAGES_MAX || bytes >= SEARCHED_BYTES_MAX) isComplete = false
  }
  return isComplete ? false : undefined
}
