import type { ClickHouseClient } from '@clickhouse/client'
import { findPricedKinds } from '../prices/priced-kinds.js'
import * as folds from './export-folds.js'
import { stageGroups } from './export-groups.js'
import * as records from './export-records.js'
import { streamFocusRows } from './focus-rows.js'
import * as staged from './staged-groups.js'

/** The queries that an exporter runs on the read model. */
export const exportSource = (store: ClickHouseClient) => {
  const on =
    <A extends readonly unknown[], R>(question: (store: ClickHouseClient, ...args: A) => R) =>
    (...args: A): R =>
      question(store, ...args)
  return {
    hasClosedVersions: on(records.hasClosedVersions),
    changedDays: on(records.changedDays),
    summarizeRecords: on(records.summarizeRecords),
    findPricedKinds: on(findPricedKinds),
    stageGroups: on(stageGroups),
    countStaged: on(staged.countStaged),
    countHoldingFilters: on(records.countHoldingFilters),
    foldGroups: on(folds.foldGroups),
    countFolded: on(folds.countFolded),
    sumStaged: on(staged.sumStaged),
    clearStaged: on(staged.clearStaged),
    streamRows: on(streamFocusRows),
  }
}
export type ExportSource = ReturnType<typeof exportSource>
