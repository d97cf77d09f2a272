import { AckPolicy, DeliverPolicy, type JetStreamManager } from '@nats-io/jetstream'
import { brokerErrorCode } from './errors.js'
import { readLog } from './log.js'

/** A log that one owner at a time reads, named by its checkpoint. */
export interface ReadLogOf {
  readonly key: string
  readonly stream: string
  readonly subject: string
}

/** What the owner of a log has not processed. */
export interface LogLag {
  /** Age of the oldest message in seconds; 0: none waits. */
  readonly oldestS: number
  /** Each message holds many events. */
  readonly messages: number
}

/** @param done the sequence up to which the log's messages have taken effect */
export async function lagOf(manager: JetStreamManager, log: ReadLogOf, done: number, nowMs: number): Promise<LogLag> {
  const from = done + 1
  const [oldest] = await readLog(manager, { ...log, from, messagesMax: 1, bytesMax: MESSAGE_BYTES_MAX })
  if (oldest === undefined) return { oldestS: 0, messages: 0 }
  const oldestS = Math.max(0, nowMs - Date.parse(oldest.storedAt)) / 1_000
  return { oldestS, messages: await messagesFrom(manager, log, from) }
}

const MESSAGE_BYTES_MAX = 8 * 1024 * 1024
/** In nanoseconds; the broker removes a consumer that could not be deleted. */
const FORGOTTEN_NS = 5_000_000_000
const NO_SUCH_CONSUMER = 10_014

/** A consumer that reads nothing: the broker counts what it would read. */
async function messagesFrom(manager: JetStreamManager, { stream, subject }: ReadLogOf, from: number): Promise<number> {
  const { name, num_pending: pending } = await manager.consumers.add(stream, {
    filter_subject: subject,
    deliver_policy: DeliverPolicy.StartSequence,
    opt_start_seq: from,
    ack_policy: AckPolicy.None,
    mem_storage: true,
    inactive_threshold: FORGOTTEN_NS,
  })
  await manager.consumers.delete(stream, name).catch((cause: unknown) => {
    if (brokerErrorCode(cause) !== NO_SUCH_CONSUMER) throw cause
  })
  return pending
}
