import type { JetStreamManager, StoredMsg } from '@nats-io/jetstream'
import { brokerErrorCode } from './errors.js'

/** One message of a stream: its place, the id its publisher gave it, and its bytes. */
export interface LogEntry {
  readonly sequence: number
  readonly messageId: string
  readonly data: Uint8Array
}

/** With all that its stream knows of it. */
export interface StoredEntry extends LogEntry {
  readonly subject: string
  /** When the stream took it, RFC 3339 in UTC with nine digits behind the point: texts in the order of their times. */
  readonly storedAt: string
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
export async function readLog(manager: JetStreamManager, range: LogRange): Promise<StoredEntry[]> {
  const { stream, subject, from, messagesMax, bytesMax } = range
  const entries: StoredEntry[] = []
  try {
    const query = { seq: from, batch: messagesMax, max_bytes: bytesMax, next_by_subj: subject }
    for await (const message of await manager.direct.getBatch(stream, query)) {
      entries.push(entryOf(message))
    }
  } catch (cause) {
    if (brokerErrorCode(cause) === 404) return entries
    throw cause
  }
  return entries
}

const entryOf = ({ seq, subject, timestamp, header, data }: StoredMsg): StoredEntry => ({
  sequence: seq,
  subject,
  storedAt: nineDigits(timestamp),
  messageId: header.get('Nats-Msg-Id'),
  data,
})

/** The broker leaves zeros at the end of a time away. */
export function nineDigits(time: string): string {
  const [seconds = '', digits = ''] = time.slice(0, -1).split('.')
  return `${seconds}.${digits.padEnd(9, '0')}Z`
}

/** The sequence of the first message at or after an instant; beyond all when there is none. */
export async function firstSequenceSince(manager: JetStreamManager, stream: string, sinceMs: number): Promise<number> {
  try {
    for await (const message of await manager.direct.getBatch(stream, { start_time: new Date(sinceMs), batch: 1 })) {
      return message.seq
    }
  } catch (cause) {
    if (brokerErrorCode(cause) !== 404) throw cause
  }
  return Number.MAX_SAFE_INTEGER
}
