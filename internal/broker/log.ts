import type { JetStreamManager } from '@nats-io/jetstream'
import { brokerErrorCode } from './errors.js'

/** One message of a stream: its place, the id its publisher gave it, and its bytes. */
export interface LogEntry {
  readonly sequence: number
  readonly messageId: string
  readonly data: Uint8Array
}

export interface LogRange {
  readonly stream: string
  readonly subject: string
  /** The first sequence that may be returned. */
  readonly from: number
  readonly messagesMax: number
  readonly bytesMax: number
}

/**
 * Reads a part of a stream by sequence, without a consumer (direct get, ADR-31): the same range gives the same
 * messages, whoever asks and however often. Empty when the subject has nothing at or after `from` yet.
 *
 * @throws Error when the broker does not answer
 */
export async function readLog(manager: JetStreamManager, range: LogRange): Promise<LogEntry[]> {
  const { stream, subject, from, messagesMax, bytesMax } = range
  const entries: LogEntry[] = []
  try {
    const query = { seq: from, batch: messagesMax, max_bytes: bytesMax, next_by_subj: subject }
    for await (const message of await manager.direct.getBatch(stream, query)) {
      entries.push({ sequence: message.seq, messageId: message.header.get('Nats-Msg-Id'), data: message.data })
    }
  } catch (cause) {
    if (brokerErrorCode(cause) === 404) return entries
    throw cause
  }
  return entries
}
