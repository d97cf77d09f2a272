import type { ClickHouseClient } from '@clickhouse/client'
import { isUnknownTable } from './failures.js'

/**
 * The instants of `valid_from` of which the sorted copies hold all records, in milliseconds since the epoch: from the
 * first (inclusive) to the second (exclusive). They hold none if the second is not after the first.
 */
export interface CopiedInstants {
  /** Months before it have been dropped from the copies, or will be (`old-copies.ts`). */
  readonly fromMs: number
  /** Records from it on are not copied yet (`settling.ts`). */
  readonly beforeMs: number
}

/** All instants 0 if nothing is copied, or if the attributor that creates the table has not started yet. */
export async function copiedInstants(store: ClickHouseClient): Promise<CopiedInstants> {
  try {
    const result = await store.query({
      query: `SELECT toUnixTimestamp64Milli(maxIf(ends_at, state = 'dropped')) AS from,
                toUnixTimestamp64Milli(maxIf(ends_at, state = 'settled')) AS before FROM settling`,
      format: 'JSONEachRow',
    })
    const [found] = await result.json<{ from: string; before: string }>()
    return { fromMs: Number(found?.from ?? 0), beforeMs: Number(found?.before ?? 0) }
  } catch (cause) {
    if (isUnknownTable(cause)) return { fromMs: 0, beforeMs: 0 }
    throw cause
  }
}

/** The instant before which all records have been copied, milliseconds since the epoch; 0: none. */
export const settledBefore = async (store: ClickHouseClient): Promise<number> => (await copiedInstants(store)).beforeMs

/** Older instants are as correct, but a page then sorts more records. */
const RENEWED_AFTER_MS = 1_000
/** Except for months dropped meanwhile, which happens `DROPPED_AFTER_MS` later. */
const OLD_AFTER_MS = 60_000

/** `copiedInstants` for pages: asked again at most once per second, and only while pages are read. */
export function followCopiedInstants(
  store: ClickHouseClient,
  clock: () => number = () => performance.now(),
): () => Promise<CopiedInstants> {
  let known: (CopiedInstants & { readonly askedAtMs: number }) | undefined
  let askedAtMs = Number.NEGATIVE_INFINITY
  let pending: Promise<CopiedInstants> | undefined
  const ask = async (): Promise<CopiedInstants> => {
    const atMs = clock()
    askedAtMs = atMs
    const { fromMs, beforeMs } = await copiedInstants(store)
    known = {
      fromMs: Math.max(fromMs, known?.fromMs ?? 0),
      beforeMs: Math.max(beforeMs, known?.beforeMs ?? 0),
      askedAtMs: atMs,
    }
    return known
  }
  const askOnce = (): Promise<CopiedInstants> => {
    pending ??= ask().finally(() => {
      pending = undefined
    })
    return pending
  }
  return async () => {
    if (known === undefined || clock() - known.askedAtMs > OLD_AFTER_MS) return askOnce()
    // Nobody waits for newer instants.
    if (clock() - askedAtMs > RENEWED_AFTER_MS) askOnce().catch(() => undefined)
    return known
  }
}
