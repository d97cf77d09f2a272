import { setTimeout as sleep } from 'node:timers/promises'
import type { JetStreamManager, StoredMsg } from '@nats-io/jetstream'
import { brokerErrorCode } from './errors.js'

/** One message of a stream: its sequence, the message id that its publisher set, and its bytes. */
export interface LogEntry {
  readonly sequence: number
  readonly messageId: string
  readonly data: Uint8Array
}

/** A message with its subject and timestamp. */
export interface StoredEntry extends LogEntry {
  readonly subject: string
  /** When it was stored, RFC 3339 in UTC with nine fractional digits: the texts sort like the times. */
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
 * Reads a range of a stream by sequence, without a consumer (direct get, ADR-31): the same range always gives the same
 * messages. Empty when the subject has nothing at or after `from` yet.
 *
 * @throws Error when the broker does not reply
 */
export async function readLog(manager: JetStreamManager, range: LogRange): Promise<StoredEntry[]> {
  return (await readMessages(manager, range)).map(entryOf)
}

/**
 * Like `readLog`, but empty only if the stream's leader has nothing either: any server answers a direct get, and a
 * follower that does not reach the leader lacks the newest messages. What it returns has no gaps, so only the end needs
 * the leader.
 *
 * @throws Error when the broker does not reply
 */
export async function readLogToItsEnd(manager: JetStreamManager, range: LogRange): Promise<StoredEntry[]> {
  const entries = await readLog(manager, range)
  if (entries.length > 0) return entries
  const next = await nextAtLeader(manager, range)
  return next === undefined ? [] : [next]
}

/**
 * The first message of a subject at or after a sequence, as the stream's leader has it.
 *
 * @throws Error when the broker does not reply
 */
export async function nextAtLeader(
  manager: JetStreamManager,
  { stream, subject, from }: Pick<LogRange, 'stream' | 'subject' | 'from'>,
): Promise<StoredEntry | undefined> {
  // The client's type lacks the subject, with which the broker passes over sequences that are gone.
  const query = { seq: from, next_by_subj: subject } as { readonly seq: number }
  const next = await manager.streams.getMessage(stream, query)
  return next === null ? undefined : entryOf(next)
}

/** Like `readLog`, with all headers. */
export function readMessages(manager: JetStreamManager, range: LogRange): Promise<StoredMsg[]> {
  const { stream, subject, from, messagesMax, bytesMax } = range
  return readBatch(manager, stream, { seq: from, batch: messagesMax, max_bytes: bytesMax, next_by_subj: subject })
}

/**
 * A batch is requested again when neither a message nor its end arrives for this long: the replies were lost with a
 * broker. Each attempt waits longer, since a busy broker is only slow.
 */
const STALLED_MS = [800, 1_600, 3_200]
/** While a leader is elected (two seconds, measured) no server answers: how often a batch is requested again. */
const NO_LEADER_PAUSE_MS = 200
/** From then on the caller decides. A stream that does not exist has no leader either. */
const NO_LEADER_MS_MAX = 5_000
const NO_RESPONDERS = 503

type BatchQuery = Parameters<JetStreamManager['direct']['getBatch']>[1]

/** @throws Error when the broker does not reply to any attempt */
async function readBatch(manager: JetStreamManager, stream: string, query: BatchQuery): Promise<StoredMsg[]> {
  const found: StoredMsg[] = []
  const startedAt = performance.now()
  for (let stalls = 0; stalls < STALLED_MS.length; ) {
    const rest = restOf(query, found)
    try {
      if (rest === undefined || (await readOnce(manager, stream, rest, found, STALLED_MS[stalls] ?? 0))) return found
      stalls++
    } catch (cause) {
      const isTooLong = performance.now() - startedAt > NO_LEADER_MS_MAX
      if (brokerErrorCode(cause) !== NO_RESPONDERS || isTooLong) throw cause
      await sleep(NO_LEADER_PAUSE_MS)
    }
  }
  throw new Error(`reading a batch of stream ${stream} stalled`)
}

/** What a query has yet to return; undefined when nothing. */
function restOf(query: BatchQuery, found: readonly StoredMsg[]): BatchQuery | undefined {
  const last = found.at(-1)
  if (last === undefined) return query
  const {
    batch,
    max_bytes: bytesMax,
    start_time: _,
    ...others
  } = query as BatchQuery & {
    readonly batch?: number
    readonly max_bytes?: number
    readonly start_time?: Date
  }
  const bytes = found.reduce((sum, { data }) => sum + data.length, 0)
  if ((batch !== undefined && found.length >= batch) || (bytesMax !== undefined && bytes >= bytesMax)) return undefined
  return {
    ...others,
    seq: last.seq + 1,
    ...(batch !== undefined && { batch: batch - found.length }),
    ...(bytesMax !== undefined && { max_bytes: bytesMax - bytes }),
  } as BatchQuery
}

/**
 * Reads a batch by direct get. Not with the client's iterator: it leaks a subscription per batch, and waits for ever
 * for the end of a batch whose broker died in the middle (observed in @nats-io/jetstream 3.4).
 *
 * @param found takes the messages as they arrive
 * @returns whether the batch is complete; false when it stalled
 */
function readOnce(
  manager: JetStreamManager,
  stream: string,
  query: BatchQuery,
  found: StoredMsg[],
  stalledMs: number,
): Promise<boolean> {
  return new Promise((resolve, reject) => {
    let isOver = false
    let stop: () => void = () => undefined
    const stalled = setTimeout(() => {
      isOver = true
      stop()
      resolve(false)
    }, stalledMs)
    const callback = (done: { readonly err?: Error } | null, message: StoredMsg): void => {
      if (isOver) return
      if (done === null) {
        found.push(message)
        stalled.refresh()
        return
      }
      isOver = true
      clearTimeout(stalled)
      if (done.err === undefined || brokerErrorCode(done.err) === 404) resolve(true)
      else reject(done.err)
    }
    manager.direct.getBatch(stream, { ...query, callback }).then((batch) => {
      stop = () => batch.stop()
      if (isOver) stop()
    }, reject)
  })
}

const entryOf = ({ seq, subject, timestamp, header, data }: StoredMsg): StoredEntry => ({
  sequence: seq,
  subject,
  storedAt: nineDigits(timestamp),
  messageId: header.get('Nats-Msg-Id'),
  data,
})

/** The broker omits trailing zeros of a timestamp. */
export function nineDigits(time: string): string {
  const [seconds = '', digits = ''] = time.slice(0, -1).split('.')
  return `${seconds}.${digits.padEnd(9, '0')}Z`
}

/** The sequence of the first message at or after an instant; `MAX_SAFE_INTEGER` when there is none. */
export async function firstSequenceSince(manager: JetStreamManager, stream: string, sinceMs: number): Promise<number> {
  const [first] = await readBatch(manager, stream, { start_time: new Date(sinceMs), batch: 1 })
  return first?.seq ?? Number.MAX_SAFE_INTEGER
}

/** The sequence of a stream's newest message; 0 when it never had one. */
export const lastSequenceOf = async (manager: JetStreamManager, stream: string): Promise<number> =>
  (await manager.streams.info(stream)).state.last_seq
