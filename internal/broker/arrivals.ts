import { setTimeout as sleep } from 'node:timers/promises'
import type { NatsConnection } from '@nats-io/transport-node'

/** Reports the next message that is published on a subject. */
export interface Arrival {
  /**
   * Resolves when a message has been published since this was made, after `ms`, or when `signal` aborts.
   *
   * @returns whether a message has been published
   */
  within(ms: number, signal: AbortSignal): Promise<boolean>
  stop(): void
}

/**
 * Waits for the next message of a subject by a core NATS subscription, which ends with that message. It reports
 * messages that publishers send, not those that the broker writes by itself (schedules), and one that is on its way at
 * the call may be missed: the caller still looks by itself now and then. A reconnection counts as a message, since one
 * may have been published before it.
 *
 * @param isAwaited which messages count, by their ids
 */
export function nextArrival(
  connection: NatsConnection,
  subject: string,
  isAwaited: (messageId: string) => boolean = () => true,
): Arrival {
  let hasArrived = false
  let wake = (): void => undefined
  const arrived = (): void => {
    hasArrived = true
    wake()
  }
  const subscription = connection.subscribe(subject, {
    // Without the right to subscribe nothing ever arrives.
    callback: (cause, message) => {
      if (cause !== null || !isAwaited(message.headers?.get('Nats-Msg-Id') ?? '')) return
      subscription.unsubscribe()
      arrived()
    },
  })
  const reconnections = reconnectionsOf(connection)
  reconnections.add(arrived)
  return {
    // Not with `AbortSignal.any`, which keeps what it makes for as long as the process's signal lives.
    within: (ms, signal) =>
      new Promise((resolve) => {
        const settle = (): void => {
          clearTimeout(timer)
          signal.removeEventListener('abort', settle)
          resolve(hasArrived)
        }
        const timer = setTimeout(settle, ms)
        wake = settle
        if (hasArrived || signal.aborted) return settle()
        signal.addEventListener('abort', settle)
      }),
    stop() {
      reconnections.delete(arrived)
      subscription.unsubscribe()
    },
  }
}

const RECONNECTIONS = new WeakMap<NatsConnection, Set<() => void>>()

/** What is called after each reconnection. */
function reconnectionsOf(connection: NatsConnection): Set<() => void> {
  const known = RECONNECTIONS.get(connection)
  if (known !== undefined) return known
  const listeners = new Set<() => void>()
  RECONNECTIONS.set(connection, listeners)
  void (async () => {
    for await (const { type } of connection.status()) {
      if (type === 'reconnect') for (const listener of listeners) listener()
    }
  })()
  return listeners
}

/** Pause before a log that was empty is read again. */
const IDLE_MS = 50
/** That of a log whose messages the broker writes by itself: schedules fire in sweeps of a quarter of a second. */
const SCHEDULED_MS = 200
/** A log that was empty this many times in a row is quiet: its reader waits for the next message instead of reading. */
export const EMPTY_READS_MAX = 10
/**
 * Pauses of a quiet log, each twice as long as the one before: a message that is stored late, after it was heard, is
 * read late by as much; one that nobody heard, within the longest. The next message that is heard ends them.
 */
const QUIET_MS_MIN = 500
const QUIET_MS_MAX = 30_000

/**
 * Paces the reads of a log that has nothing to read. Ten readers that each looked twenty times per second kept an idle
 * instance at a fifth of a processor.
 */
export class IdleReader {
  private readonly listen: () => Arrival
  private readonly isScheduled: boolean
  private arrival: Arrival | undefined
  private emptyReads = 0
  private quietMs = QUIET_MS_MIN

  /**
   * @param listen waits for the next message of the log
   * @param isScheduled whether the broker writes some of them by itself
   */
  constructor(listen: () => Arrival, isScheduled: boolean) {
    this.listen = listen
    this.isScheduled = isScheduled
  }

  /** To be awaited after a read that found nothing. */
  async pause(signal: AbortSignal): Promise<void> {
    this.emptyReads++
    if (this.emptyReads <= EMPTY_READS_MAX) return pause(this.isScheduled ? SCHEDULED_MS : IDLE_MS, signal)
    // The read that follows the subscription finds what was published before it.
    const ms = this.arrival === undefined ? IDLE_MS : this.quietMs
    if (this.arrival !== undefined) this.quietMs = Math.min(2 * this.quietMs, QUIET_MS_MAX)
    this.arrival ??= this.listen()
    if (await this.arrival.within(ms, signal)) this.wake()
  }

  /** To be called when the log is not idle, and when its reader ends. */
  wake(): void {
    this.arrival?.stop()
    this.arrival = undefined
    this.emptyReads = 0
    this.quietMs = QUIET_MS_MIN
  }
}

const pause = (ms: number, signal: AbortSignal): Promise<void> =>
  sleep(ms, undefined, { signal }).catch(() => undefined)
