import { setTimeout as sleep } from 'node:timers/promises'
import type { Logger } from '../../telemetry/log.js'

export interface ReadPartitionsDeps {
  /** The configured number of partitions, which new events are published to. */
  readonly partitions: number
  /** The partitions that may hold messages. */
  readonly held: () => Promise<Iterable<number>>
  readonly log: Logger
}

/** Maximum delay before the first events of a partition beyond the configured number are read. */
const POLL_MS = 10_000

/**
 * Starts reading partitions: the configured ones immediately, any other as soon as it holds messages: those that are
 * left when the setting is reduced, or that a gateway with a larger one writes to.
 *
 * @param read called once for each partition
 * @returns when `signal` has aborted; `read` is not called after that
 */
export async function readPartitions(
  { partitions, held, log }: ReadPartitionsDeps,
  read: (partition: number) => void,
  signal: AbortSignal,
): Promise<void> {
  const known = new Set<number>()
  const begin = (partition: number): void => {
    known.add(partition)
    read(partition)
  }
  for (let partition = 0; partition < partitions; partition++) begin(partition)
  while (!signal.aborted) {
    try {
      const others = [...(await held())].filter((partition) => !known.has(partition))
      if (signal.aborted) return
      if (others.length > 0)
        log.warn(
          { partitions, unexpected: others },
          'partitions beyond the configured number hold events; reading them too',
        )
      for (const partition of others) begin(partition)
    } catch (cause) {
      log.debug({ err: cause }, 'could not list the partitions that hold events; will retry')
    }
    await sleep(POLL_MS, undefined, { signal }).catch(() => undefined)
  }
}
