import { foldOneLevel } from './fold-one-level.js'

/**
 * Which filters of a question may hold. Answers can be subtracted from each other: the total minus what a filter leaves
 * is what the filter takes away. So a filter must neither select nor leave out fewer than k people, and it must not tell
 * apart what a grouping by its field would fold into one row.
 */

/** Calls that have the same values in the fields of the filters. */
export interface FilterCell {
  /** Of the field of each filter; '' in every cell where a field has too many to be told apart. */
  readonly values: readonly string[]
  /** Whether each filter matches. */
  readonly matches: readonly boolean[]
  /** People of the cell, k of them at most. */
  readonly few: readonly string[]
  readonly cost: bigint
}

/**
 * @param isHarmless whether so many of the first filters name nobody, whatever they select
 * @returns how many of the first filters may hold: the last ones are dropped until none isolates fewer than k people
 */
export function holdingFilters(
  cells: readonly FilterCell[],
  filters: number,
  k: number,
  isHarmless: (first: number) => boolean = () => false,
): number {
  let holding = filters
  while (holding > 0 && !isHarmless(holding) && isolates(cells, holding, k)) holding--
  return holding
}

function isolates(cells: readonly FilterCell[], filters: number, k: number): boolean {
  const bySides = merged(cells, ({ matches }) => matches.slice(0, filters).join(), k)
  if (bySides.some(({ people }) => people > 0 && people < k)) return true
  const isInOthers = ({ matches }: FilterCell, own: number): boolean =>
    matches.every((isMatch, i) => isMatch || i === own || i >= filters)
  for (let own = 0; own < filters; own++) {
    const questions = filters === 1 ? [cells] : [cells, cells.filter((cell) => isInOthers(cell, own))]
    if (questions.some((question) => tellsApart(question, own, k))) return true
  }
  return false
}

/** Whether a filter selects a part of the row into which the values of its field would fold. */
function tellsApart(cells: readonly FilterCell[], filter: number, k: number): boolean {
  const groups = merged(cells, ({ values }) => values[filter] ?? '', k)
  const { folded, joined } = foldOneLevel(groups, k, (one, other) => (one.key < other.key ? -1 : 1))
  const row = joined === undefined ? folded : [...folded, joined]
  return new Set(row.map(({ matches }) => matches[filter])).size > 1
}

/** Cells of one key as one, with k people at most: who the others are does not matter. */
function merged(cells: readonly FilterCell[], keyOf: (cell: FilterCell) => string, k: number) {
  const byKey = new Map<string, { readonly first: FilterCell; readonly people: Set<string>; cost: bigint }>()
  for (const cell of cells) {
    const key = keyOf(cell)
    const group = byKey.get(key) ?? { first: cell, people: new Set<string>(), cost: 0n }
    byKey.set(key, group)
    for (const person of cell.few) if (group.people.size < k) group.people.add(person)
    group.cost += cell.cost
  }
  return [...byKey].map(([key, { first, people, cost }]) => ({
    key,
    matches: first.matches,
    people: people.size,
    few: [...people],
    cost,
  }))
}
