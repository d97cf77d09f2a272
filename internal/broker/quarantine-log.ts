import { createHash } from 'node:crypto'
import type { JetStreamManager, StoredMsg } from '@nats-io/jetstream'
import { REPLAY_WINDOW_MS } from '../../streams/invocations.js'
import { logOfQuarantined, QUARANTINE, QUARANTINE_OF_ALL, type QuarantinedLog } from '../../streams/quarantine.js'
import { nineDigits, readLog, readMessages } from './log.js'
import { type Publisher, storedOrThrow } from './publisher.js'
import { LOG_HEADER, MESSAGE_ID_HEADER, REASON_HEADER } from './quarantine.js'
import type { Records } from './records.js'

/** A message of QUARANTINE. */
export interface Quarantined {
  readonly sequence: number
  /** RFC 3339 in UTC. */
  readonly quarantinedAt: string
  /** The reader that could not handle it: `l`, `a`, `t`, `b`, `c`, `observations`, `audit` or `changes`. */
  readonly reader: string
  /** Made by `poisonReason`. */
  readonly reason: string
  /** Subject that it came from. */
  readonly log: string
  /** Its original message id; undefined for a single event of a message. */
  readonly messageId: string | undefined
  /** Its message id in QUARANTINE. */
  readonly id: string
  readonly data: Uint8Array
}

const BATCH_BYTES_MAX = 8 * 1024 * 1024

/** The messages of QUARANTINE with at least the given sequence, in order. */
export async function* quarantinedFrom(manager: JetStreamManager, from: number): AsyncGenerator<Quarantined> {
  const range = { stream: QUARANTINE.name, subject: QUARANTINE_OF_ALL, messagesMax: 100, bytesMax: BATCH_BYTES_MAX }
  for (let next = from; ; ) {
    const found = await readMessages(manager, { ...range, from: next })
    const last = found.at(-1)
    if (last === undefined) return
    yield* found.map(quarantinedOf)
    next = last.seq + 1
  }
}

/** The message with a sequence; undefined when there is none. */
export async function findQuarantinedMessage(
  manager: JetStreamManager,
  sequence: number,
): Promise<Quarantined | undefined> {
  const found = await manager.direct.getMessage(QUARANTINE.name, { seq: sequence })
  return found === null ? undefined : quarantinedOf(found)
}

/** The number of messages, and the last sequence ever assigned. */
export async function quarantineState(manager: JetStreamManager): Promise<{ messages: number; lastSequence: number }> {
  const { state } = await manager.streams.info(QUARANTINE.name)
  return { messages: state.messages, lastSequence: state.last_seq }
}

const quarantinedOf = ({ seq, timestamp, subject, header, data }: StoredMsg): Quarantined => ({
  sequence: seq,
  quarantinedAt: nineDigits(timestamp),
  reader: subject.slice(QUARANTINE_OF_ALL.length - 1),
  reason: header.get(REASON_HEADER),
  log: header.get(LOG_HEADER),
  messageId: header.get(MESSAGE_ID_HEADER) || undefined,
  id: header.get('Nats-Msg-Id'),
  data,
})

/** The state of a replay; the value in the bucket `quarantine_replays` under the message's digest. */
export interface ReplayMark {
  /** The stream's last sequence before the replay, and when it was read, milliseconds since the epoch. */
  readonly after: number
  readonly at_ms: number
  /** The replayed message's sequence in the stream. */
  readonly stored?: number
}

export interface ReplayDeps {
  readonly manager: JetStreamManager
  readonly publish: Publisher['publish']
  readonly marks: Records<ReplayMark>
  readonly clock: () => number
}

/**
 * - unknown_log: the log that it came from cannot be determined
 * - doubtful: an earlier attempt was interrupted, and the log no longer shows whether the message was stored
 */
export type Replay =
  | { readonly kind: 'replayed'; readonly log: string; readonly stored: number }
  | { readonly kind: 'unknown_log' | 'doubtful' }

/**
 * Publishes a message once to the log that it came from, and then deletes it from QUARANTINE. It can be repeated after
 * an interruption at any point: the stream deduplicates by message id for two minutes, and after that the stored mark
 * says where to start searching for the message.
 *
 * @param statedLog subject to publish to, overriding the known origin and earlier attempts; one of its reader's
 * subjects
 */
export async function replayQuarantined(
  message: Quarantined,
  { manager, publish, marks, clock }: ReplayDeps,
  statedLog?: string,
): Promise<Replay> {
  const origin = logOfQuarantined(message.reader)
  const log = statedLog ?? message.log
  if (origin === undefined || log === '') return { kind: 'unknown_log' }

  const name = createHash('sha256').update(`${message.id}\n`).update(message.data).digest('hex')
  // Readers recognise a correction and a slice of a job by the prefix of its id, so the replay keeps the original id in
  // front.
  const messageId = `${message.messageId ?? 'quarantined'}.replay.${name.slice(0, 32)}`
  const { last_seq: after } = (await manager.streams.info(origin.stream)).state
  const mark = await marks.createOnce(name, { after, at_ms: clock() })
  let stored = mark.stored ?? (await sequenceOf(messageId, origin, mark.after, manager))
  if (stored === undefined) {
    if (statedLog === undefined && (await isDoubtful(mark, origin.stream, manager, clock())))
      return { kind: 'doubtful' }
    stored = await storedOrThrow(publish, log, message.data, messageId)
  }
  const arrived = stored
  await marks.change(name, (now) => ({ ...now, stored: arrived }))
  await remove(message.sequence, manager)
  return { kind: 'replayed', log, stored }
}

/** The sequence of the message with an id, among the log's messages after a sequence. */
async function sequenceOf(
  messageId: string,
  { stream, subjects }: QuarantinedLog,
  after: number,
  manager: JetStreamManager,
): Promise<number | undefined> {
  const range = { stream, subject: `${subjects}*`, messagesMax: 500, bytesMax: BATCH_BYTES_MAX }
  for (let from = after + 1; ; ) {
    const entries = await readLog(manager, { ...range, from })
    const found = entries.find((entry) => entry.messageId === messageId)
    const last = entries.at(-1)
    if (found !== undefined || last === undefined) return found?.sequence
    from = last.sequence + 1
  }
}

/** Processed messages are purged: after that the log no longer shows whether the message was stored. */
async function isDoubtful(
  { after, at_ms }: ReplayMark,
  stream: string,
  manager: JetStreamManager,
  nowMs: number,
): Promise<boolean> {
  return nowMs - at_ms > REPLAY_WINDOW_MS - DOUBT_MS || (await manager.streams.info(stream)).state.first_seq > after + 1
}

/** Allowance for clock differences. */
const DOUBT_MS = 60 * 60 * 1000

async function remove(sequence: number, manager: JetStreamManager): Promise<void> {
  try {
    // Securely erased: the bytes may contain personal data.
    await manager.streams.deleteMessage(QUARANTINE.name, sequence, true)
  } catch (cause) {
    if ((await manager.direct.getMessage(QUARANTINE.name, { seq: sequence })) !== null) throw cause
  }
}
