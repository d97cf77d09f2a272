import { type FlatSheet, isPerUnit, thresholdOf, thresholdsOf } from './flat-sheet.js'
import type { SourceName } from './sources/source-book.js'

/**
 * What becomes of the prices of a model when other books say otherwise. Pure.
 *
 * A price changes only where every given book that has the model says the same: between two books that disagree nothing
 * tells which is right, and ours has been reviewed before.
 */
export interface Said {
  readonly source: SourceName
  readonly rates: FlatSheet
}

export interface Disagreement {
  /** Path of the price, or `thresholds`, `tokens or units`. */
  readonly price: string
  readonly ours: string | undefined
  readonly said: Readonly<Partial<Record<SourceName, string>>>
}

export interface MergedRates {
  readonly rates: FlatSheet
  readonly disagreements: readonly Disagreement[]
  /** Whether the books disagree on the model as a whole, so that nothing of it changes. */
  readonly isUndecided: boolean
}

/** @param ours empty for a model that our book does not have */
export function mergedRates(ours: FlatSheet, said: readonly Said[]): MergedRates {
  const undecided = undecidedBy(ours, said)
  if (undecided.length > 0) return { rates: ours, disagreements: undecided, isUndecided: true }

  const disagreements: Disagreement[] = []
  const rates = new Map(ours)
  // Rates that nobody states belong to the former price.
  if (isRepriced(ours, said)) for (const path of ours.keys()) if (!isPerUnit(path)) rates.delete(path)

  const ranges = new Set(said.map((each) => [...thresholdsOf(each.rates)].sort().join(' ')))
  if (ranges.size > 1)
    disagreements.push(disagreement('thresholds', [...thresholdsOf(ours)].sort().join(' '), said, rangesOf))
  else for (const path of ours.keys()) if (isBeyond(path) && !hasRange(said, path)) rates.delete(path)

  for (const path of new Set(said.flatMap((each) => [...each.rates.keys()]))) {
    if (isBeyond(path) && ranges.size > 1) continue
    const values = valuesOf(path, said)
    const [value] = values
    if (value === undefined || isRestated(path, value, ours, said)) continue
    if (values.length === 1) rates.set(path, value)
    else disagreements.push(disagreement(path, ours.get(path), said, (each) => each.get(path)))
  }
  return { rates, disagreements, isUndecided: false }
}

const BASE = ['input', 'output'] as const

/** Why the given books do not say one thing of the model. */
function undecidedBy(ours: FlatSheet, said: readonly Said[]): Disagreement[] {
  const kinds = new Set([ours, ...said.map(({ rates }) => rates)].filter(({ size }) => size > 0).map(kindOf))
  if (kinds.size > 1) return [disagreement('tokens or units', ours.size > 0 ? kindOf(ours) : undefined, said, kindOf)]
  const base = BASE.filter((path) => valuesOf(path, said).length > 1)
  const found = base.map((path) => disagreement(path, ours.get(path), said, (rates) => rates.get(path)))
  const ranges = new Set(said.map(({ rates }) => rangesOf(rates)))
  // A new price up to a threshold that is in doubt would be half a price.
  if (found.length === 0 && isRepriced(ours, said) && ranges.size > 1)
    return [disagreement('thresholds', rangesOf(ours), said, rangesOf)]
  return found
}

const isRepriced = (ours: FlatSheet, said: readonly Said[]): boolean =>
  BASE.some((path) => ours.has(path) && valuesOf(path, said).some((value) => value !== ours.get(path)))

const kindOf = (rates: FlatSheet): string => (rates.has('input') || rates.has('output') ? 'tokens' : 'units')
const rangesOf = (rates: FlatSheet): string => [...thresholdsOf(rates)].sort().join(' ')
const isBeyond = (path: string): boolean => thresholdOf(path) !== undefined
const hasRange = (said: readonly Said[], path: string): boolean =>
  said.some(({ rates }) => thresholdsOf(rates).has(thresholdOf(path) ?? ''))

const valuesOf = (path: string, said: readonly Pick<Said, 'rates'>[]): readonly string[] => [
  ...new Set(said.map(({ rates }) => rates.get(path)).filter((value) => value !== undefined)),
]

/** A reasoning rate that is the output rate says nothing more; a unit beside tokens would be billed twice. */
function isRestated(path: string, value: string, ours: FlatSheet, said: readonly Said[]): boolean {
  if (ours.has(path)) return false
  if (path.startsWith('units.'))
    return [ours, ...said.map(({ rates }) => rates)].some((rates) => kindOf(rates) === 'tokens')
  if (!path.endsWith('reasoning')) return false
  const output = path.replace(/reasoning$/, 'output')
  return said.every(({ rates }) => !rates.has(path) || rates.get(output) === value)
}

function disagreement(
  price: string,
  ours: string | undefined,
  said: readonly Said[],
  stated: (rates: FlatSheet) => string | undefined,
): Disagreement {
  const values = said.flatMap(({ source, rates }) => {
    const value = stated(rates)
    return value === undefined ? [] : [[source, value] as const]
  })
  return { price, ours, said: Object.fromEntries(values) }
}
