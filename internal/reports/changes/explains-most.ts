import { type Cell, changeOf } from './decompose.js'
import type { Side } from './effects.js'

/**
 * By which of the dimensions, each alone or all together, the difference is explained best: by the one with the group
 * whose cost changed most, in the direction of the whole, relative to its share of the earlier cost. Where all groups
 * change alike, or nothing had a cost before, no group did. Pure.
 *
 * Each group is a sum of cells, and so of rows of a report: the cohort rule of reports holds for it.
 *
 * @param labelsOf as many for each row
 * @returns the places of the dimensions, and the labels of the group; undefined where there is none
 */
export function explainsMost<T>(
  whole: { readonly before: Side; readonly now: Side },
  cells: readonly Cell<T>[],
  labelsOf: (row: T) => readonly string[],
): Explanation | undefined {
  const places = [...(cells[0] === undefined ? [] : labelsOf(cells[0].row)).keys()]
  const change = changeOf(whole)
  let best: (Explanation & { readonly beyond: bigint }) | undefined
  // The simplest first, which stays where another one explains as much.
  for (const dimensions of [...places.map((place) => [place]), places]) {
    const groups = new Map<string, { change: bigint; before: bigint }>()
    for (const cell of cells) {
      const labels = labelsOf(cell.row)
      const key = JSON.stringify(dimensions.map((place) => labels[place]))
      const group = groups.get(key) ?? { change: 0n, before: 0n }
      groups.set(key, { change: group.change + changeOf(cell), before: group.before + cell.before.cost })
    }
    for (const [key, group] of groups) {
      const moved = group.change * whole.before.cost - group.before * change
      const beyond = change < 0n ? -moved : change > 0n ? moved : 0n
      if (beyond > (best?.beyond ?? 0n)) best = { dimensions, labels: JSON.parse(key), beyond }
    }
  }
  return best && { dimensions: best.dimensions, labels: best.labels }
}

export interface Explanation {
  readonly dimensions: readonly number[]
  readonly labels: readonly string[]
}
