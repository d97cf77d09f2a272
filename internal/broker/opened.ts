import { setTimeout as sleep } from 'node:timers/promises'
import { errors } from '@nats-io/transport-node'
import { isBrokerUnavailable } from './errors.js'

/** A start that is not over by then fails: what starts it again also shows that it does not get on. */
const OPENED_MS_MAX = 60_000
const AGAIN_MS = 250

/**
 * Opens what a process needs from its start on; tries again while servers of the broker restart or elect a leader, and
 * says why it waits. A process that ended instead would begin from nothing, and a supervisor would wait longer each time.
 *
 * @param attempt may be repeated
 */
export async function opened<T>(
  attempt: () => Promise<T>,
  write: (line: string) => void = (line) => void process.stderr.write(`${line}\n`),
): Promise<T> {
  const startedAt = performance.now()
  for (let failures = 0; ; failures++) {
    try {
      return await attempt()
    } catch (cause) {
      const isForGood = !isBrokerUnavailable(cause) || CLOSED.some((kind) => cause instanceof kind)
      if (isForGood || performance.now() - startedAt > OPENED_MS_MAX) throw cause
      if (failures === 0) write(`waiting for JetStream: ${(cause as Error).message}`)
    }
    await sleep(AGAIN_MS)
  }
}

const CLOSED = [errors.ClosedConnectionError, errors.DrainingConnectionError]
