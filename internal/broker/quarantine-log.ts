import { createHash } from 'node:crypto'
import type { JetStreamManager, StoredMsg } from '@nats-io/jetstream'
import { INVOCATIONS, invocationsSubject, partitionOfSubject, REPLAY_WINDOW_MS } from '../../streams/invocations.js'
import { logOfQuarantined, QUARANTINE, QUARANTINE_OF_ALL, type QuarantinedLog } from '../../streams/quarantine.js'
import { nineDigits, readLog, readMessages } from './log.js'
import { type Publisher, storedOrThrow } from './publisher.js'
import { LOG_HEADER, MESSAGE_ID_HEADER, REASON_HEADER } from './quarantine.js'
import type { Records } from './records.js'

/** A message of QUARANTINE. What its headers would say is undefined where a version before them has put it there. */
export interface Quarantined {
  readonly sequence: number
  /** RFC 3339 in UTC. */
  readonly quarantinedAt: string
  /** Who could not handle it: `a`, `b`, `c`, `observations`, `audit` or `changes`. */
  readonly reader: string
  /** Made by `poisonReason`. */
  readonly reason: string | undefined
  /** Subject that it came from. */
  readonly log: string | undefined
  /** That it had there; undefined of a part of a message, too. */
  readonly messageId: string | undefined
  /** Under which it was quarantined. */
  readonly id: string
  readonly data: Uint8Array
}

const BATCH_BYTES_MAX = 8 * 1024 * 1024

/** The messages of QUARANTINE from a sequence on, in their order. */
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

/** One of them; undefined where there is none of that sequence. */
export async function findQuarantinedMessage(
  manager: JetStreamManager,
  sequence: number,
): Promise<Quarantined | undefined> {
  const found = await manager.direct.getMessage(QUARANTINE.name, { seq: sequence })
  return found === null ? undefined : quarantinedOf(found)
}

/** How many there are, and the last sequence that was given to any. */
export async function quarantineState(manager: JetStreamManager): Promise<{ messages: number; lastSequence: number }> {
  const { state } = await manager.streams.info(QUARANTINE.name)
  return { messages: state.messages, lastSequence: state.last_seq }
}

const quarantinedOf = ({ seq, timestamp, subject, header, data }: StoredMsg): Quarantined => ({
  sequence: seq,
  quarantinedAt: nineDigits(timestamp),
  reader: subject.slice(QUARANTINE_OF_ALL.length - 1),
  reason: header.get(REASON_HEADER) || undefined,
  log: header.get(LOG_HEADER) || undefined,
  messageId: header.get(MESSAGE_ID_HEADER) || undefined,
  id: header.get('Nats-Msg-Id'),
  data,
})

/** That a message is being put back; the value of its digest in the bucket `quarantine_replays`. */
export interface ReplayMark {
  /** The last sequence of the log's stream before, and when that was, milliseconds since the epoch. */
  readonly after: number
  readonly at_ms: number
  /** Sequence that it has there. */
  readonly stored?: number
}

export interface ReplayDeps {
  readonly manager: JetStreamManager
  readonly publish: Publisher['publish']
  readonly marks: Records<ReplayMark>
  readonly clock: () => number
}

/**
 * - unknown_log: nothing tells which log it came from
 * - doubtful: an earlier attempt was broken off, and the log no longer tells whether it has arrived
 */
export type Replay =
  | { readonly kind: 'replayed'; readonly log: string; readonly stored: number }
  | { readonly kind: 'unknown_log' | 'doubtful' }

/**
 * Puts a message back into the log that it came from, once, and then takes it out of QUARANTINE. Broken off anywhere, it
 * can be repeated: the log knows the message's id for two minutes, and the mark tells from where on to look for it later.
 *
 * @param statedLog subject to put it into, whatever is known of it and of earlier attempts; one of its reader's
 */
export async function replayQuarantined(
  message: Quarantined,
  { manager, publish, marks, clock }: ReplayDeps,
  statedLog?: string,
): Promise<Replay> {
  const origin = logOfQuarantined(message.reader)
  const log = statedLog ?? message.log ?? (await logByPosition(message, manager))
  if (origin === undefined || log === undefined) return { kind: 'unknown_log' }

  const name = createHash('sha256').update(`${message.id}\n`).update(message.data).digest('hex')
  // Readers know a correction and a slice of a job by how its id begins, and so does a repeat.
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

/** The message with an id that a log has taken behind a sequence. */
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

/** What is done is purged from logs: then it cannot be told any more whether something has arrived. */
async function isDoubtful(
  { after, at_ms }: ReplayMark,
  stream: string,
  manager: JetStreamManager,
  nowMs: number,
): Promise<boolean> {
  return nowMs - at_ms > REPLAY_WINDOW_MS - DOUBT_MS || (await manager.streams.info(stream)).state.first_seq > after + 1
}

/** Of clocks that differ. */
const DOUBT_MS = 60 * 60 * 1000

/**
 * Of a message without headers: its id has the sequence that it, or the message of stage A that it is an event of, has in
 * its stream; which holds it for a day.
 */
async function logByPosition({ id, reader }: Quarantined, manager: JetStreamManager): Promise<string | undefined> {
  const match = /^quarantine\.([a-z]+)\.(\d+)(?:\.\d+)?$/.exec(id)
  const origin = logOfQuarantined(reader)
  if (match === null || match[1] !== reader || origin === undefined) return undefined
  const found = await manager.direct.getMessage(origin.stream, { seq: Number(match[2]) })
  if (found === null) return undefined
  if (origin.stream !== INVOCATIONS.name) return found.subject
  return invocationsSubject(reader as Parameters<typeof invocationsSubject>[0], partitionOfSubject(found.subject))
}

async function remove(sequence: number, manager: JetStreamManager): Promise<void> {
  try {
    // With its bytes: they may tell of a person.
    await manager.streams.deleteMessage(QUARANTINE.name, sequence, true)
  } catch (cause) {
    if ((await manager.direct.getMessage(QUARANTINE.name, { seq: sequence })) !== null) throw cause
  }
}
