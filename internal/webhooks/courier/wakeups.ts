import { DELIVERY_PARTITIONS, deliveriesWake } from '../../../streams/deliveries.js'
import type { Broker } from '../../broker/connect.js'

/** Wake-up messages of the delivery partitions. */
export interface Wakeups {
  /** Resolves when a partition's wake-up subject gets a message, after a timeout, or on abort. */
  wait(partition: number, signal: AbortSignal): Promise<void>
  stop(): void
}

/**
 * A reader looks for new deliveries this often without a wake-up: schedules fire in sweeps of a quarter of a second, and a
 * core NATS message may be lost.
 */
const POLL_EVERY_MS = 200

export function subscribeWakeups(connection: Broker['connection']): Wakeups {
  const partitions = Array.from({ length: DELIVERY_PARTITIONS }, (_, partition) => new Wakeup(partition, connection))
  return {
    wait: async (partition, signal) => partitions[partition]?.wait(POLL_EVERY_MS, signal),
    stop() {
      for (const wakeup of partitions) wakeup.stop()
    },
  }
}

class Wakeup {
  private readonly subscription: { unsubscribe(): void }
  private readonly listeners = new Set<() => void>()

  constructor(partition: number, connection: Broker['connection']) {
    this.subscription = connection.subscribe(deliveriesWake(partition), {
      callback: () => {
        for (const listener of this.listeners) listener()
      },
    })
  }

  wait(ms: number, signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      if (signal.aborted) return resolve()
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
