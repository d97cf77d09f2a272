import type { StreamState } from '@nats-io/jetstream'
import { DELIVERIES, DELIVERY_PARTITIONS, deliveriesWake } from '../../../streams/deliveries.js'
import { RETRIES, RETRIES_OF_ALL } from '../../../streams/retries.js'
import { nextArrival } from '../../broker/arrivals.js'
import type { Broker } from '../../broker/connect.js'
import type { Logger } from '../../telemetry/log.js'
import { sleepUntilAborted } from './pauses.js'

/** Reports that a delivery partition has something to read. */
export interface Wakeups {
  /** How many wake-ups the partition has had. */
  count(partition: number): number
  /** Resolves when the partition has had more wake-ups than `seen`, after a timeout, or on abort. */
  wait(partition: number, seen: number, signal: AbortSignal): Promise<void>
  stop(): void
}

/**
 * One request looks for new deliveries of all partitions this often, since a wake-up is a core NATS message and may be
 * lost.
 */
const LOOK_EVERY_MS = 15_000
/**
 * Nothing reports that a schedule has fired. While there are schedules: they fire in sweeps of a quarter of a second.
 */
const DUE_EVERY_MS = 200
/** A reader reads this often without a wake-up. */
const READ_EVERY_MS = 60_000

export function subscribeWakeups({ connection, manager }: Broker, log: Logger): Wakeups {
  const partitions = Array.from({ length: DELIVERY_PARTITIONS }, (_, partition) => new Wakeup(partition, connection))
  const stopping = new AbortController()
  const wakeAll = (): void => {
    for (const wakeup of partitions) wakeup.wake()
  }
  const { signal } = stopping
  const stateOf = async (stream: string): Promise<StreamState> => (await manager.streams.info(stream)).state
  void onGrowth(
    () => stateOf(DELIVERIES.name),
    () => sleepUntilAborted(LOOK_EVERY_MS, signal),
    wakeAll,
    log,
    signal,
  )
  // One message is enough: an endpoint that is down makes one schedule per delivery.
  let next = nextArrival(connection, RETRIES_OF_ALL)
  const scheduleOrDue = async ({ messages }: StreamState): Promise<void> => {
    if (messages > 0) return sleepUntilAborted(DUE_EVERY_MS, signal)
    await next.within(LOOK_EVERY_MS, signal)
    next.stop()
    // Subscribed before the stream is read, so that a schedule made in between is noticed by one of the two.
    next = nextArrival(connection, RETRIES_OF_ALL)
  }
  void onGrowth(() => stateOf(RETRIES.name), scheduleOrDue, wakeAll, log, signal)
  return {
    count: (partition) => partitions[partition]?.count ?? 0,
    wait: async (partition, seen, signal) => partitions[partition]?.wait(READ_EVERY_MS, seen, signal),
    stop() {
      stopping.abort()
      next.stop()
      for (const wakeup of partitions) wakeup.stop()
    },
  }
}

/** Calls back whenever a stream has grown, and when that is unknown. */
async function onGrowth(
  look: () => Promise<StreamState>,
  pauseAfter: (state: StreamState) => Promise<unknown>,
  listener: () => void,
  log: Logger,
  signal: AbortSignal,
): Promise<void> {
  let seen: number | undefined
  while (!signal.aborted) {
    let state: StreamState | undefined
    try {
      state = await look()
      if (state.last_seq !== seen) listener()
      seen = state.last_seq
    } catch (cause) {
      log.debug({ err: cause }, 'could not look for deliveries; will retry')
      listener()
    }
    await (state === undefined ? sleepUntilAborted(DUE_EVERY_MS, signal) : pauseAfter(state))
  }
}

class Wakeup {
  count = 0
  private readonly subscription: { unsubscribe(): void }
  private readonly listeners = new Set<() => void>()

  constructor(partition: number, connection: Broker['connection']) {
    this.subscription = connection.subscribe(deliveriesWake(partition), {
      callback: () => this.wake(),
    })
  }

  wake(): void {
    this.count++
    for (const listener of this.listeners) listener()
  }

  wait(ms: number, seen: number, signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      if (signal.aborted || this.count !== seen) return resolve()
      const done = (): void => {
        clearTimeout(timer)
        this.listeners.delete(done)
        signal.removeEventListener('abort', done)
        resolve()
      }
      const timer = setTimeout(done, ms)
      this.listeners.add(done)
      signal.addEventListener('abort', done)
    })
  }

  stop(): void {
    this.subscription.unsubscribe()
  }
}
