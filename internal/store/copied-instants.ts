import type { ClickHouseClient } from '@clickhouse/client'
import type { Watermark } from '../broker/watermark.js'
import { isUnknownTable } from './failures.js'
import { storedRows } from './stored-rows.js'

/**
 * The instants of `valid_from` of which the sorted copies hold all records, in milliseconds since the epoch: from the
 * first (inclusive) to the second (exclusive). They hold none if the second is not after the first.
 */
export interface CopiedInstants {
  /** Months before it have been dropped from the copies, or will be (`old-copies.ts`). */
  readonly fromMs: number
  /** Records from it on are not copied yet (`settling.ts`). */
  readonly beforeMs: number
  /** Of the newest record. */
  readonly newestMs: number
}

/** All instants 0 if nothing is copied, or if the attributor that creates the table has not started yet. */
export async function copiedInstants(store: ClickHouseClient): Promise<CopiedInstants> {
  try {
    const [found] = await storedRows<{ from: string; before: string; newest: string }>(
      store,
      `SELECT toUnixTimestamp64Milli(maxIf(ends_at, state = 'dropped')) AS from,
         toUnixTimestamp64Milli(maxIf(ends_at, state = 'settled')) AS before,
         (SELECT toUnixTimestamp64Milli(max(valid_from)) FROM attributions) AS newest FROM settling`,
    )
    return { fromMs: Number(found?.from), beforeMs: Number(found?.before), newestMs: Number(found?.newest) }
  } catch (cause) {
    if (isUnknownTable(cause)) return { fromMs: 0, beforeMs: 0, newestMs: 0 }
    throw cause
  }
}

/** The instant before which all records have been copied, milliseconds since the epoch; 0: none. */
export const settledBefore = async (store: ClickHouseClient): Promise<number> => (await copiedInstants(store)).beforeMs

/** Older instants are as correct, but a page then sorts more records. */
const RENEWED_AFTER_MS = 1_000
/** Except for months dropped meanwhile, which happens `DROPPED_AFTER_MS` later. */
const OLD_AFTER_MS = 60_000

/** With the progress of writers before the store was asked. */
type Known = CopiedInstants & { readonly askedAtMs: number; readonly progress: number }

/** What pages know of the copies. */
export interface CopiedForPages extends Pick<CopiedInstants, 'fromMs' | 'beforeMs'> {
  /** Whether no record of the page's snapshot is newer than `beforeMs`, so that a page need not ask for any. */
  readonly hasNewest?: boolean
}

/** `copiedInstants` for pages: asked again at most once per second, and only while pages are read. */
export function followCopiedInstants(
  store: ClickHouseClient,
  watermark: Pick<Watermark, 'known' | 'progress'>,
  clock: () => number = () => performance.now(),
): (snapshotMs: number) => Promise<CopiedForPages> {
  let known: Known | undefined
  let pending: Promise<Known> | undefined
  const ask = async (): Promise<Known> => {
    const asOf = { askedAtMs: clock(), progress: watermark.progress() }
    const { fromMs, beforeMs, newestMs } = await copiedInstants(store)
    known = {
      fromMs: Math.max(fromMs, known?.fromMs ?? 0),
      beforeMs: Math.max(beforeMs, known?.beforeMs ?? 0),
      newestMs,
      ...asOf,
    }
    return known
  }
  const askOnce = (): Promise<Known> => {
    pending ??= ask().finally(() => {
      pending = undefined
    })
    return pending
  }
  return async (snapshotMs) => {
    let copied = known
    if (copied === undefined || clock() - copied.askedAtMs > OLD_AFTER_MS) copied = await askOnce()
    // Nobody waits for newer instants.
    else if (clock() - copied.askedAtMs > RENEWED_AFTER_MS) askOnce().catch(() => undefined)
    // What is stored since is complete as of a newer snapshot only, and that this process knows by its writer's progress.
    const isAtRest = snapshotMs <= watermark.known() && watermark.progress() === copied.progress
    return { ...copied, hasNewest: isAtRest && copied.newestMs < copied.beforeMs }
  }
}
