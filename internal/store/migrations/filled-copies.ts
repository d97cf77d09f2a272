import type { ClickHouseClient } from '@clickhouse/client'
import { SORTED_COPIES } from '../tables/sorted-copies.js'
import { filledCopies } from './fill-copies.js'

export interface FilledCopies {
  /** Whether a record table holds all rows; incomplete tables are not read. */
  readonly isFilled: (table: string) => boolean
  close(): void
}

const EVERY_MS = 5_000

/** Polls which sorted copies are filled, until all are. The base always is. */
export function watchFilledCopies(store: ClickHouseClient): FilledCopies {
  let filled: ReadonlySet<string> = new Set()
  let timer: NodeJS.Timeout | undefined
  const look = async (): Promise<void> => {
    // If the store is unavailable or not set up yet, keep the last known state; reads then use the base.
    filled = await filledCopies(store).catch(() => filled)
    if (filled.size < SORTED_COPIES.length && !isClosed) timer = setTimeout(look, EVERY_MS)
  }
  let isClosed = false
  void look()
  return {
    isFilled: (table) => table === 'attributions' || filled.has(table),
    close() {
      isClosed = true
      clearTimeout(timer)
    },
  }
}
