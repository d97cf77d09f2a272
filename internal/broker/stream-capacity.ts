import { setTimeout as sleep } from 'node:timers/promises'
import type { JetStreamManager } from '@nats-io/jetstream'
import type { Logger } from '../telemetry/log.js'
import { type Publisher, type PublishResult, STREAM_FULL } from './publisher.js'

/**
 * Bytes of a stream, of those that it may hold, which are for work that comes from outside. The rest is for what its own
 * readers put into it: they hand a batch on before it is done, and only what is done makes room. In a stream that new work
 * could fill nothing would be done any more.
 */
export function admittableBytes(bytesMax: number): number {
  return bytesMax - Math.min(bytesMax * KEPT_SHARE_MAX, Math.max(bytesMax * KEPT_SHARE, KEPT_BYTES_MIN))
}

const KEPT_SHARE = 0.1
/** A batch of stage A that is in stage B's mailbox too, and one of stage B in stage C's: 7 MiB each, in four partitions. */
const KEPT_BYTES_MIN = 64 * 1024 * 1024
/** Where a stream is smaller than that: each of its bytes may be in three mailboxes. */
const KEPT_SHARE_MAX = 0.7

/** How much new work a stream takes. */
export interface StreamCapacity {
  /** Whether a message of so many bytes may go in now; it is counted then. */
  take(bytes: number): boolean
  /** The same without counting it. */
  has(bytes: number): boolean
}

/** What other processes have put in since is not counted: far less than the bytes that are kept. */
const LOOK_EVERY_MS = 500

/**
 * Follows how full a stream is. What this process puts in counts at once, what others do after half a second; while the
 * broker does not answer, what was known stands.
 *
 * @param signal ends it
 * @throws Error when the broker does not answer the first time
 */
export async function followStreamCapacity(
  manager: JetStreamManager,
  stream: string,
  { log, signal }: { readonly log: Logger; readonly signal: AbortSignal },
): Promise<StreamCapacity> {
  let limit = 0
  /** As of the last look, and what was taken by then, and in all. */
  let found = 0
  let takenBefore = 0
  let taken = 0
  const look = async (): Promise<void> => {
    const takenNow = taken
    const { config, state } = await manager.streams.info(stream)
    limit = config.max_bytes > 0 ? admittableBytes(config.max_bytes) : Number.POSITIVE_INFINITY
    found = state.bytes
    takenBefore = takenNow
  }
  const follow = async (): Promise<void> => {
    while (!signal.aborted) {
      await sleep(LOOK_EVERY_MS, undefined, { signal }).catch(() => undefined)
      if (signal.aborted) return
      await look().catch((cause: unknown) => log.debug({ err: cause, stream }, 'a stream does not say how full it is'))
    }
  }
  await look()
  void follow()
  const has = (bytes: number): boolean => found + taken - takenBefore + bytes <= limit
  return {
    has,
    take(bytes) {
      if (!has(bytes)) return false
      taken += bytes
      return true
    },
  }
}

/** A publisher for those who bring new work: a stream without room for it is to them what a full one is. */
export const withinStreamCapacity =
  (
    publish: Publisher['publish'],
    room: StreamCapacity,
    isNewWork: (subject: string) => boolean = () => true,
  ): Publisher['publish'] =>
  (subject, payload, ...others) =>
    isNewWork(subject) && !room.take(payload.length) ? Promise.resolve(NO_ROOM) : publish(subject, payload, ...others)

const NO_ROOM: PublishResult = {
  kind: 'refused',
  errorCode: STREAM_FULL,
  description: 'what is left is for work that is under way',
}
