import type { ClickHouseClient } from '@clickhouse/client'
import { notifySupervisor } from '../../internal/process/notice.js'
import { compactNowAndThen } from '../../internal/store/compaction.js'
import { dropNowAndThen } from '../../internal/store/old-copies.js'
import { settleNowAndThen } from '../../internal/store/settling.js'
import { setTableLevels, usedDiskShare } from '../../internal/store/store-metrics.js'
import { DISK_EVERY_MS, watchBound } from '../../internal/telemetry/bounds.js'
import type { Logger } from '../../internal/telemetry/log.js'
import { whenRead } from '../../internal/telemetry/metrics.js'

export interface ReadModelDeps {
  readonly store: ClickHouseClient
  /** Whether this process does a kind of work, which one of all attributors does. */
  readonly owns: (work: string) => boolean
  readonly newestSnapshot: () => Promise<number>
  /** Counts the progress of those that store records. */
  readonly progress: () => number
  readonly sortedCopiesDays: number
  readonly log: Logger
}

/** What keeps the read model fast and small, beside the records that come in. Resolves once all of it has stopped. */
export async function keepReadModel(
  { owns, sortedCopiesDays: days, ...deps }: ReadModelDeps,
  signal: AbortSignal,
): Promise<void> {
  const { store, log } = deps
  const isOwner = (): boolean => owns('compaction')
  const copies = { ...deps, isOwner: () => owns('settling') }
  whenRead(() => (isOwner() ? setTableLevels(store) : undefined))
  const used = async (): Promise<number | undefined> => (isOwner() ? usedDiskShare(store) : undefined)
  void watchBound({ bound: 'store', used, everyMs: DISK_EVERY_MS, notify: notifySupervisor, log }, signal)
  await Promise.all([
    compactNowAndThen({ ...deps, isOwner }, signal),
    settleNowAndThen(copies, signal),
    dropNowAndThen({ ...copies, days }, signal),
  ])
}
