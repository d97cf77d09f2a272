import { DELIVERY_PARTITIONS, deliveriesWake } from '../../../streams/deliveries.js'
import { RETRIES } from '../../../streams/retries.js'
import type { Broker } from '../../broker/connect.js'
import { lastSequenceOf } from '../../broker/log.js'
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

/** A reader looks for new deliveries this often without a wake-up, since a core NATS message may be lost. */
const POLL_EVERY_MS = 1_000
/** Nothing reports that a schedule has fired, so one request looks for all partitions. Schedules fire in sweeps of a quarter of a second. */
const DUE_EVERY_MS = 200

export function subscribeWakeups({ connection, manager }: Broker, log: Logger): Wakeups {
  const partitions = Array.from({ length: DELIVERY_PARTITIONS }, (_, partition) => new Wakeup(partition, connection))
  const stopping = new AbortController()
  const wakeAll = (): void => {
    for (const wakeup of partitions) wakeup.wake()
  }
  void onGrowth(() => lastSequenceOf(manager, RETRIES.name), wakeAll, log, stopping.signal)
  return {
    count: (partition) => partitions[partition]?.count ?? 0,
    wait: async (partition, seen, signal) => partitions[partition]?.wait(POLL_EVERY_MS, seen, signal),
    stop() {
      stopping.abort()
      for (const wakeup of partitions) wakeup.stop()
    },
  }
}

/** Calls back whenever a stream has grown, and when that is unknown. */
async function onGrowth(
  lastSequence: () => Promise<number>,
  listener: () => void,
  log: Logger,
  signal: AbortSignal,
): Promise<void> {
  let seen: number | undefined
  while (!signal.aborted) {
    try {
      const last = await lastSequence()
      if (last !== seen) listener()
      seen = last
    } catch (cause) {
      log.debug({ err: cause }, 'could not look for due retries; will retry')
      listener()
    }
    await sleepUntilAborted(DUE_EVERY_MS, signal)
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
