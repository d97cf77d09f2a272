import { createHash } from 'node:crypto'
import type { Cell } from './lattice.js'

const BYTES_MAX = 64 * 1024 * 1024

/** Which groups are hidden, by rollup and place; or that telling takes too long. */
export type Fold = readonly Uint8Array[] | 'too much'

/**
 * What was folded before, by who appears where: a month that is over is asked about again and again, by other groupings and
 * filters, and its groups stay the same. What was not asked for longest is forgotten first.
 */
export class FoldMemory {
  private readonly folds = new Map<string, Fold>()
  private bytes = 0
  private readonly bytesMax: number

  constructor(bytesMax: number = BYTES_MAX) {
    this.bytesMax = bytesMax
  }

  recall(key: string): Fold | undefined {
    const fold = this.folds.get(key)
    if (fold === undefined) return undefined
    this.folds.delete(key)
    this.folds.set(key, fold)
    return fold
  }

  keep(key: string, fold: Fold): void {
    this.forget(key)
    this.folds.set(key, fold)
    this.bytes += bytesOf(fold)
    for (const oldest of this.folds.keys()) {
      if (this.bytes <= this.bytesMax) break
      this.forget(oldest)
    }
  }

  private forget(key: string): void {
    const fold = this.folds.get(key)
    if (fold === undefined) return
    this.bytes -= bytesOf(fold)
    this.folds.delete(key)
  }
}

const ENTRY_BYTES = 200
const bytesOf = (fold: Fold): number =>
  fold === 'too much' ? ENTRY_BYTES : fold.reduce((sum, { length }) => sum + length, ENTRY_BYTES)

/** The same for the same cells in the same order, of so many dimensions. */
export function foldKeyOf(cells: readonly Cell[], dimensionCount: number): string {
  const hash = createHash('sha256').update(`${dimensionCount}`)
  for (const { values, people } of cells) hash.update(JSON.stringify([values, people]))
  return hash.digest('base64')
}
