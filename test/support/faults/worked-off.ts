import { setTimeout as sleep } from 'node:timers/promises'
import { readCheckpoint } from '../../../internal/broker/checkpoint.js'
import type { Broker } from '../../../internal/broker/connect.js'
import { readLayout } from '../../../internal/broker/layout.js'
import { lagOf } from '../../../internal/broker/log-lag.js'
import { invocationLogs } from '../../../internal/broker/unprocessed.js'
import { CHECKPOINTS } from '../../../streams/buckets.js'

/**
 * Until every mailbox is read to its end, at most `msMax`: a report can have as many calls as are accepted before, by
 * unclear ones, and a busy machine may make no record for half a minute.
 *
 * @returns how long it took, or what still waits
 */
export async function untilWorkedOff(broker: Broker, msMax: number): Promise<string> {
  const startedAt = performance.now()
  for (;;) {
    // A broker that has just started again may not answer yet.
    const waiting = await waitingIn(broker).catch((cause: unknown) => [String(cause)])
    const ms = performance.now() - startedAt
    if (waiting.length === 0) return `all is worked off ${Math.round(ms)} ms after the load`
    if (ms > msMax) return `not worked off: ${waiting.join(', ')}`
    await sleep(250)
  }
}

async function waitingIn(broker: Broker): Promise<string[]> {
  const { layout } = (await readLayout(broker)) ?? {}
  const checkpoints = await broker.bucket(CHECKPOINTS)
  const waiting: string[] = []
  for (const log of await invocationLogs(broker.manager, layout?.partitions ?? 1)) {
    const done = (await readCheckpoint(checkpoints, log.key))?.done ?? 0
    const { messages } = await lagOf(broker.manager, log, done, Date.now())
    if (messages > 0) waiting.push(`${messages} of ${log.key}`)
  }
  return waiting
}
