/** What a run writes to `bench/results/prices.json`, and the guide shows. */
import type { Provenance } from '../machine.js'
import type { Books, ComparedVector, Comparison, Outcome } from './comparison.js'

export const SHARE_MIN = 0.97
export const UNPRICED_MAX = 0

export interface PricesResult extends Provenance {
  readonly question: string
  /** Of our book. */
  readonly book_as_of: string
  readonly books: readonly { readonly file: string; readonly sha256: string }[]
  readonly comparison: Omit<Comparison, 'rest'>
  readonly bars: { readonly share_min: number; readonly unpriced_max: number }
  readonly cells: readonly Cell[]
  readonly rest: readonly Rest[]
  readonly tier_calls: readonly TierCallResult[]
}

/** Of a provider and vector: the models on which both books agree. */
export interface Cell {
  readonly provider: string
  readonly vector: string
  readonly compared: number
  readonly as_both_say: number
  readonly otherwise: number
  readonly unpriced: number
}

export interface Rest {
  readonly provider: string
  readonly model: string
  readonly vector: string
  readonly books: Books
  readonly outcome: Outcome
  readonly ours: number | null
  readonly genai: number | null
  readonly litellm: number | null
  readonly remarks: readonly string[]
  /** Empty: nobody has written down why. */
  readonly reason: string
}

export interface TierCallResult {
  readonly provider: string
  readonly model: string
  readonly tier: string
  /** USD as a record shows it; null when unpriced. */
  readonly ours: string | null
  readonly genai: number | null
  readonly litellm: number | null
  readonly remarks: readonly string[]
}

export function cellsOf(compared: readonly ComparedVector[]): readonly Cell[] {
  const cells = new Map<string, Cell>()
  for (const { provider, vector, books, outcome } of compared) {
    if (books !== 'agree') continue
    const id = `${provider}\n${vector}`
    const cell = cells.get(id) ?? { provider, vector, compared: 0, as_both_say: 0, otherwise: 0, unpriced: 0 }
    const field = outcome === 'as they say' ? 'as_both_say' : outcome
    cells.set(id, { ...cell, compared: cell.compared + 1, [field]: cell[field] + 1 })
  }
  return [...cells.values()]
}

/** Providers down, vectors across: how many of those compared are as both say. */
export function shareText(cells: readonly Cell[]): string {
  const compared = totalOf(cells, 'compared')
  return compared === 0 ? '' : `${totalOf(cells, 'as_both_say')}/${compared}`
}

export const totalOf = (cells: readonly Cell[], field: 'compared' | 'as_both_say' | 'otherwise' | 'unpriced'): number =>
  cells.reduce((sum, cell) => sum + cell[field], 0)
