import type { LogRange, StoredEntry } from '../../broker/log.js'
import type { Logger } from '../../telemetry/log.js'
import { GROUP_DELIVERIES_MAX } from '../delivery-group.js'
import type { PartitionLog } from './partition-log.js'
import type { PartitionSession } from './partition-session.js'
import { RETRY_MS, sleepUntilAborted } from './pauses.js'
import type { Wakeups } from './wakeups.js'

export interface ReaderDeps {
  readonly readLog: (range: LogRange) => Promise<StoredEntry[]>
  readonly wakeups: Pick<Wakeups, 'count' | 'wait'>
  readonly log: Logger
}

const READ_MESSAGES_MAX = 500
const READ_BYTES_MAX = 4 * 1024 * 1024

/**
 * Reads one log of a partition into a session until `signal` aborts. Read errors are logged and retried.
 *
 * @param mayStart whether this process's ownership is confirmed recently enough to start attempts
 */
export async function readPartitionLog(
  partition: number,
  log: PartitionLog,
  session: PartitionSession,
  mayStart: () => boolean,
  deps: ReaderDeps,
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted) {
    try {
      const readable = log.readableCount
      if (readable === 0) {
        // While no attempt may start, a stalled log is no endpoint's fault.
        if (mayStart()) session.parkIfStalled(log)
        else log.stalledSince = undefined
        await session.capacity(signal)
        continue
      }
      // Counted before the read, which may miss what a wake-up during it reports.
      const wakeups = deps.wakeups.count(partition)
      const entries = await deps.readLog({
        stream: log.stream,
        subject: log.subject,
        from: log.window.next,
        messagesMax: Math.min(Math.ceil(readable / GROUP_DELIVERIES_MAX), READ_MESSAGES_MAX),
        bytesMax: READ_BYTES_MAX,
      })
      if (signal.aborted) return
      for (const entry of entries) session.accept(log, entry, mayStart)
      if (entries.length > 0) continue
      log.stalledSince = undefined
      await deps.wakeups.wait(partition, wakeups, signal)
    } catch (cause) {
      if (signal.aborted) return
      log.stalledSince = undefined
      deps.log.warn({ err: cause, subject: log.subject }, 'could not read deliveries; will retry')
      await sleepUntilAborted(RETRY_MS, signal)
    }
  }
}
