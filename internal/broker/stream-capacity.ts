import { setTimeout as sleep } from 'node:timers/promises'
import type { JetStreamManager } from '@nats-io/jetstream'
import { PAYLOAD_BYTES_MIN } from '../../streams/invocations.js'
import type { Logger } from '../telemetry/log.js'
import { type GroupPublisher, type Publisher, type PublishResult, STREAM_FULL } from './publisher.js'

/**
 * The share of a stream's bytes that new work from outside may fill. The rest is reserved for the stream's own readers,
 * which publish a batch to the next stage before they finish it, and only finished batches are purged. If new work
 * could fill the stream, the readers could no longer make progress.
 */
export const admittableBytes = (bytesMax: number): number => bytesMax - keptBytes(bytesMax)

const keptBytes = (bytesMax: number): number =>
  Math.min(bytesMax * KEPT_SHARE_MAX, Math.max(bytesMax * KEPT_SHARE, KEPT_BYTES_MIN))

/** How many batches may be published to their next stages at once: of the lane, and of A, T and B of each partition. */
export const batchesAtOnce = (partitions: number): number => 1 + 3 * partitions

/**
 * The least bytes of a log whose reserve has capacity for one largest message of each of these batches: a batch has at
 * least one. While `KEPT_BYTES_MIN` is enough for that, with up to 27 partitions, any log will do: a small one admits so
 * little that all mailboxes together have capacity for it (`KEPT_SHARE_MAX`).
 */
export function leastLogBytes(batches: number): number {
  const copies = batches * COPY_TO_BATCH * PAYLOAD_BYTES_MIN
  return copies <= KEPT_BYTES_MIN ? 0 : Math.ceil(copies / KEPT_SHARE)
}

/**
 * Maximum bytes per batch for which the reserve has capacity, if this many batches are published to their next stages
 * at once: with less, none of them might ever be finished.
 */
export const batchBytesWithin = (bytesMax: number, batches: number): number =>
  Math.floor(keptBytes(bytesMax) / (batches * COPY_TO_BATCH))

/** A batch ends with the message that passes its limit; in the next mailbox each event states its position, too. */
const COPY_TO_BATCH = 7 / 6

const KEPT_SHARE = 0.1
/** The largest batches of thirteen readers, in the next mailboxes: the stages A, T and B of four partitions, the lane. */
const KEPT_BYTES_MIN = 96 * 1024 * 1024
/** Upper limit of the reserve in small streams: each byte may be in five mailboxes. */
const KEPT_SHARE_MAX = 0.8

/** A stream's capacity for new work. */
export interface StreamCapacity {
  /** Whether a message of this size may be published now; if so, it is counted. */
  take(bytes: number): boolean
  /** Like `take`, without counting. */
  has(bytes: number): boolean
  /** The share of the capacity that is filled. */
  readonly fill: number
}

/** Messages that other processes publish between two polls are not counted: they are far smaller than the reserve. */
const POLL_EVERY_MS = 500
/**
 * While nobody here wants capacity of a stream that was more than half full: the next one who does must not be refused
 * for a level of the past.
 */
const POLL_QUIET_EVERY_MS = 5_000

/**
 * Follows the fill level of a stream. Messages of this process count at once, those of others within a second. While
 * nobody here wants capacity, it is not read, and the first who does is served by the last known level. While the
 * broker does not reply, that applies, too.
 *
 * @param signal stops following
 * @throws Error when the broker does not reply the first time
 */
export async function followStreamCapacity(
  manager: JetStreamManager,
  stream: string,
  { log, signal }: { readonly log: Logger; readonly signal: AbortSignal },
): Promise<StreamCapacity> {
  let limit = 0
  /** Bytes in the stream at the last poll; bytes taken until that poll, and until now. */
  let found = 0
  let takenBefore = 0
  let taken = 0
  const poll = async (): Promise<void> => {
    const takenNow = taken
    const { config, state } = await manager.streams.info(stream)
    limit = config.max_bytes > 0 ? admittableBytes(config.max_bytes) : Number.POSITIVE_INFINITY
    found = state.bytes
    takenBefore = takenNow
  }
  let isWanted = false
  let wake = (): void => undefined
  const want = (): void => {
    isWanted = true
    wake()
  }
  /** Until capacity is wanted, or the level has to be read in any case. */
  const quiet = (): Promise<void> =>
    new Promise((resolve) => {
      const end = (): void => {
        clearTimeout(timer)
        signal.removeEventListener('abort', end)
        wake = () => undefined
        resolve()
      }
      const timer = found > limit / 2 ? setTimeout(end, POLL_QUIET_EVERY_MS) : undefined
      wake = end
      signal.addEventListener('abort', end)
    })
  const follow = async (): Promise<void> => {
    while (!signal.aborted) {
      if (!isWanted) await quiet()
      if (isWanted) {
        isWanted = false
        await sleep(POLL_EVERY_MS, undefined, { signal }).catch(() => undefined)
      }
      if (signal.aborted) return
      await poll().catch((cause: unknown) => log.debug({ err: cause, stream }, "could not read a stream's fill level"))
    }
  }
  await poll()
  void follow()
  const has = (bytes: number): boolean => {
    want()
    return found + taken - takenBefore + bytes <= limit
  }
  return {
    has,
    get fill() {
      return (found + taken - takenBefore) / limit
    },
    take(bytes) {
      if (!has(bytes)) return false
      taken += bytes
      return true
    },
  }
}

/** A publisher of new work: it reports a stream without capacity for new work as full. */
export const withinStreamCapacity =
  (
    publish: Publisher['publish'],
    capacity: StreamCapacity,
    isNewWork: (subject: string) => boolean = () => true,
  ): Publisher['publish'] =>
  (subject, payload, ...others) =>
    isNewWork(subject) && !capacity.take(payload.length)
      ? Promise.resolve(NO_CAPACITY)
      : publish(subject, payload, ...others)

/** The same for messages that are stored together. */
export const groupsWithinStreamCapacity = (publisher: GroupPublisher, capacity: StreamCapacity): GroupPublisher => ({
  publish: withinStreamCapacity(publisher.publish, capacity),
  publishTogether: (messages, timeoutMs) =>
    capacity.take(messages.reduce((sum, { payload }) => sum + payload.length, 0))
      ? publisher.publishTogether(messages, timeoutMs)
      : Promise.resolve(NO_CAPACITY),
})

const NO_CAPACITY: PublishResult = {
  kind: 'refused',
  errorCode: STREAM_FULL,
  description: 'the rest of the stream is reserved for work in flight',
}
