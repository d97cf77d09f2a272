import type { ClickHouseClient } from '@clickhouse/client'
import * as groups from './export-groups.js'
import * as records from './export-records.js'
import { streamFocusRows } from './focus-rows.js'

/** Everything that an exporter asks of the read model. */
export const exportSource = (store: ClickHouseClient) => {
  const on =
    <A extends readonly unknown[], R>(question: (store: ClickHouseClient, ...args: A) => R) =>
    (...args: A): R =>
      question(store, ...args)
  return {
    hasClosedVersions: on(records.hasClosedVersions),
    summarizeRecords: on(records.summarizeRecords),
    findPricedKinds: on(records.findPricedKinds),
    stageGroups: on(groups.stageGroups),
    countStaged: on(groups.countStaged),
    findRoots: on(groups.findRoots),
    sumStaged: on(groups.sumStaged),
    clearStaged: on(groups.clearStaged),
    streamRows: on(streamFocusRows),
  }
}
export type ExportSource = ReturnType<typeof exportSource>
