/**
 * k = 5 where people choose freely what to group and filter by: which groups of all rollups of a report may be shown.
 *
 * A group is the set of cells with given values in some dimensions. The groups by the same dimensions are a rollup; the root
 * is the rollup by no dimension. Which groups are shown depends only on who appears where, never on the question, so that
 * nobody can learn about a person by comparing answers to different filters and groupings:
 *
 * 1. A group of one to four people is hidden.
 * 2. Groups of the same cells are hidden together: one would reveal the other.
 * 3. In any finer rollup a group hides no group, or at least two that have five people together; else the next smallest
 *    is hidden too.
 * 4. The hidden part of a group in a finer rollup can be computed by subtraction. Subtracting it, and everything else that
 *    such an answer shows, from another group that contains it must leave nobody or at least five people; else that group
 *    is hidden.
 *
 * Calls in which nobody appears hide nothing and are never hidden. The root is never hidden.
 */

import { CellSplit, TooMuchToFold, WorkBudget } from './cell-split.js'
import { createFoldMemory, type FoldMemory, foldKeyOf } from './fold-memory.js'
import { type Cell, type Dimensions, type Group, Lattice } from './lattice.js'
import { isSmall, unionOf } from './people.js'

export type { Cell, Dimensions } from './lattice.js'

export interface Rollups {
  /** Whether the group with these values may be shown. @param values one per dimension; those of other dimensions are ignored */
  isShown(dimensions: Dimensions, values: readonly string[]): boolean
  /**
   * Whether a sum over some cells may be shown next to the answer by any rollup.
   *
   * @param values of the cells; cells in which nobody appears are ignored
   */
  isSafe(values: readonly (readonly string[])[]): boolean
}

/** Cells that rules 3 and 4 may visit, over all pairs of rollups and repeats: some 15 s. */
const CELL_VISITS_MAX = 300_000_000

/**
 * Folds in steps of milliseconds.
 *
 * @param cells each set of values once
 * @throws TooMuchToFold; the same cells always or never
 */
export function* foldInSteps(
  cells: readonly Cell[],
  dimensionCount: number,
  memory: FoldMemory,
): Generator<undefined, Rollups> {
  const sorted = [...cells].sort(byValues)
  const key = foldKeyOf(sorted, dimensionCount)
  const known = memory.get(key)
  if (known === 'too much') throw new TooMuchToFold()
  const lattice = yield* Lattice.inSteps(sorted, dimensionCount)
  if (known !== undefined) lattice.hideAs(known)
  else {
    try {
      yield* hideInSteps(lattice)
    } catch (cause) {
      if (cause instanceof TooMuchToFold) memory.set(key, 'too much')
      throw cause
    }
    memory.set(key, lattice.hides)
    lattice.forgetPeople()
  }
  return rollupsOf(lattice, dimensionCount)
}

/** All at once, see `foldInSteps`. */
export function foldRollups(cells: readonly Cell[], dimensionCount: number): Rollups {
  const steps = foldInSteps(cells, dimensionCount, createFoldMemory())
  for (;;) {
    const step = steps.next()
    if (step.done) return step.value
  }
}

function rollupsOf(lattice: Lattice, dimensionCount: number): Rollups {
  const sorted = lattice.cells
  const everything = (1 << dimensionCount) - 1
  const indexes = new Map(sorted.map(({ values }, index) => [keyOf(everything, values), index]))
  const groups = new Map<Dimensions, ReadonlyMap<string, Group>>()
  const groupsBy = (dimensions: Dimensions): ReadonlyMap<string, Group> => {
    const known = groups.get(dimensions)
    if (known !== undefined) return known
    const byKey = new Map(
      lattice
        .rollupBy(dimensions)
        .groups.map((group) => [keyOf(dimensions, sorted[group.cells[0] ?? 0]?.values ?? []), group]),
    )
    groups.set(dimensions, byKey)
    return byKey
  }
  let answers: readonly CellSplit[] | undefined
  return {
    isShown: (dimensions, values) => !groupsBy(dimensions).get(keyOf(dimensions, values))?.isHidden,
    isSafe(values) {
      const inside = new Set(values.flatMap((each) => indexes.get(keyOf(everything, each)) ?? []))
      answers ??= splitsOf(lattice)
      return answers.every((split) => split.leavesNobodyAlone(inside))
    },
  }
}

const byValues = (one: Cell, other: Cell): number => {
  const i = one.values.findIndex((value, at) => value !== other.values[at])
  return i < 0 ? 0 : (one.values[i] as string) < (other.values[i] as string) ? -1 : 1
}

/** No label holds it. */
const SEPARATOR = '\u0000'

function keyOf(dimensions: Dimensions, values: readonly string[]): string {
  let key = ''
  for (let i = 0; i < values.length; i++) if (dimensions & (1 << i)) key += values[i] + SEPARATOR
  return key
}

function* hideInSteps(lattice: Lattice): Generator<undefined, void> {
  const isRootSmall = isSmall(unionOf(lattice.cells.map(({ people }) => people)))
  for (const rollup of lattice.distinct) {
    lattice.know(rollup)
    for (const group of rollup.groups) if (isRootSmall || isSmall(group.people)) lattice.hide(group)
    yield
  }
  if (isRootSmall) return
  const splits = lattice.distinct.flatMap((finer) =>
    lattice.coarserThan(finer).map((coarser) => new CellSplit(coarser, finer, lattice)),
  )
  const budget = new WorkBudget(CELL_VISITS_MAX)
  // Restart at the coarsest rollup after each change: the groups it hides save work in finer rollups, and may break the
  // rules in others.
  for (let i = 0; i < splits.length; ) {
    const split = splits[i] as CellSplit
    i++
    if (!split.hasChanged()) continue
    if (split.hideWithin(budget) || split.hideHoldersOfRests(budget)) i = 0
    yield
  }
}

/** How every possible answer splits the cells: by the groups of any rollup, with the rests of any coarser one. */
const splitsOf = (lattice: Lattice): readonly CellSplit[] =>
  lattice.distinct
    .flatMap((finer) => {
      const coarser = finer.hidden.length === 0 ? [] : lattice.coarserThan(finer)
      return [finer, ...coarser].map((each) => new CellSplit(each, finer, lattice))
    })
    .filter((split) => !split.isIdle())
