import type { ClickHouseClient } from '@clickhouse/client'
import { settledBefore } from './settling.js'

/** An older instant is as correct, but a page then sorts more records. */
const RENEWED_AFTER_MS = 1_000

/** `settledBefore` for pages: asked again at most once per second, and only while pages are read. */
export function followSettledBefore(store: ClickHouseClient, clock: () => number = Date.now): () => Promise<number> {
  let known: number | undefined
  let askedAtMs = Number.NEGATIVE_INFINITY
  let asking: Promise<number> | undefined
  const ask = (): Promise<number> => {
    askedAtMs = clock()
    asking ??= settledBefore(store)
      .then((ms) => (known = Math.max(ms, known ?? 0)))
      .finally(() => {
        asking = undefined
      })
    return asking
  }
  return async () => {
    if (known === undefined) return ask()
    // Nobody waits for a newer instant.
    if (clock() - askedAtMs > RENEWED_AFTER_MS) ask().catch(() => undefined)
    return known
  }
}
