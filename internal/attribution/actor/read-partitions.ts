import { setTimeout as sleep } from 'node:timers/promises'
import type { Logger } from '../../telemetry/log.js'

export interface ReadPartitionsDeps {
  /** Of the setting: where new events go. */
  readonly partitions: number
  /** The partitions that hold messages now. */
  readonly held: () => Promise<Iterable<number>>
  readonly log: Logger
}

/** So long may the first events of a partition wait that only another process's setting knows. */
const LOOK_EVERY_MS = 2_000

/**
 * Begins to read partitions: those of the setting at once, any other as soon as it is seen to hold messages. So nothing
 * that was accepted is left behind where the setting becomes smaller, or gateways have a larger one.
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
      if (others.length > 0) log.warn({ partitions, others }, 'other partitions than the setting says hold events')
      for (const partition of others) begin(partition)
    } catch (cause) {
      log.debug({ err: cause }, 'the log does not say which partitions it holds')
    }
    await sleep(LOOK_EVERY_MS, undefined, { signal }).catch(() => undefined)
  }
}
