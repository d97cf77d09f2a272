import { createHash } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import type { Cell } from './lattice.js'

const BYTES_MAX = 64 * 1024 * 1024

/** Which groups are hidden, by rollup and place; or that telling takes too long. */
export type Fold = readonly Uint8Array[] | 'too much'

/**
 * Earlier folds, by which people appear in which cells: reports on a month that is over are requested again and again with
 * other groupings and filters, and its groups stay the same.
 */
export type FoldMemory = LRUCache<string, Fold>

/** @param bytesMax for tests */
export const createFoldMemory = (bytesMax: number = BYTES_MAX): FoldMemory =>
  new LRUCache({ maxSize: bytesMax, sizeCalculation: bytesOf })

const ENTRY_BYTES = 200
const bytesOf = (fold: Fold): number =>
  fold === 'too much' ? ENTRY_BYTES : fold.reduce((sum, { length }) => sum + length, ENTRY_BYTES)

/** The same for the same cells in the same order, of so many dimensions. */
export function foldKeyOf(cells: readonly Cell[], dimensionCount: number): string {
  const hash = createHash('sha256').update(`${dimensionCount}`)
  for (const { values, people } of cells) hash.update(JSON.stringify([values, people]))
  return hash.digest('base64')
}
