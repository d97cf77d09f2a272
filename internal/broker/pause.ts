import type { NatsConnection } from '@nats-io/transport-node'
import { PAUSE } from '../../streams/subjects.js'

/**
 * A pause of all readers of logs, for a backup (`local/backup/consistent-point.ts`): each ends its batch, saves its
 * checkpoint and begins none until the pause is over. Producers and gateways go on.
 *
 * It is asked for by an ordinary message, and ends by itself: a process that did not get it, or started meanwhile, does
 * not pause, which who asked must find out from the checkpoints.
 */
export const askForPause = async (connection: NatsConnection, ms: number): Promise<void> => {
  connection.publish(PAUSE, JSON.stringify({ ms } satisfies Pause))
  await connection.flush()
}

interface Pause {
  /** From now on; 0 ends it. */
  readonly ms: number
}

/** No pause is longer: readers that nobody would end it for go on by then. */
const PAUSE_MS_MAX = 60_000

/** @returns whether a pause is in force, for each time it is called */
export function followPauses(connection: NatsConnection, now: () => number = () => performance.now()): () => boolean {
  let until = Number.NEGATIVE_INFINITY
  connection.subscribe(PAUSE, {
    callback(failure, message) {
      if (failure !== null) return
      const { ms } = message.json<Pause>()
      if (typeof ms === 'number') until = now() + Math.min(ms, PAUSE_MS_MAX)
    },
  })
  return () => now() < until
}
