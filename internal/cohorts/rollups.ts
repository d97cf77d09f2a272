/**
 * k = 5 where people choose freely what to group and filter by: which groups of all rollups of a report may be shown.
 *
 * A group is what holds given values in some of the dimensions; those of the same dimensions are a rollup, and the root
 * is the rollup by none. Which groups are shown does not depend on what is asked, only on who appears where, so that
 * filters and groupings cannot be played off against each other:
 *
 * 1. A group of one to four people is hidden.
 * 2. Groups of the same people's calls are hidden together: else one would tell what the other must not.
 * 3. What a group hides in any finer rollup is at least two groups, with five people together; else the next smallest
 *    is hidden too.
 * 4. What a group does not show of itself in a finer rollup can be told as a whole. Taken, with all else that such an
 *    answer tells, from another group that holds it, it leaves nobody or five people; else that group is hidden.
 *
 * Calls in which nobody appears hide nothing and are never hidden. The root is never hidden.
 */
import { createFoldMemory, type FoldMemory, foldKeyOf } from './fold-memory.js'
import { type Cell, type Dimensions, type Group, Lattice } from './lattice.js'
import { Looks, Parting, TooMuchToFold } from './parting.js'
import { isSmall, unionOf } from './people.js'

export type { Cell, Dimensions } from './lattice.js'

export interface Rollups {
  /** Whether the group may be shown that has these values. @param values one a dimension; others are not looked at */
  isShown(dimensions: Dimensions, values: readonly string[]): boolean
  /**
   * Whether a sum over some cells may be shown, told apart from every sum of groups of one rollup.
   *
   * @param values of the cells; those in which nobody appears are not looked at
   */
  isSafe(values: readonly (readonly string[])[]): boolean
}

/** Cells that rules 3 and 4 look at, one rollup against another, again for each that has changed: some 15 s. */
const LOOKS_MAX = 300_000_000

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
  let answers: readonly Parting[] | undefined
  return {
    isShown: (dimensions, values) => !groupsBy(dimensions).get(keyOf(dimensions, values))?.isHidden,
    isSafe(values) {
      const inside = new Set(values.flatMap((each) => indexes.get(keyOf(everything, each)) ?? []))
      answers ??= partingsOf(lattice)
      return answers.every((parting) => parting.leavesNobodyAlone(inside))
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
  const partings = lattice.distinct.flatMap((finer) =>
    lattice.coarserThan(finer).map((coarser) => new Parting(coarser, finer, lattice)),
  )
  const looks = new Looks(LOOKS_MAX)
  // Again and again for the coarsest rollup that does not follow the rules: what it then hides spares finer ones, and may be
  // what others then tell of.
  for (let i = 0; i < partings.length; ) {
    const parting = partings[i] as Parting
    i++
    if (!parting.hasChanged()) continue
    if (parting.hideWithin(looks) || parting.hideHoldersOfRests(looks)) i = 0
    yield
  }
}

/** How all answers part the cells: by any rollup's groups, with what any coarser one's do not show. */
const partingsOf = (lattice: Lattice): readonly Parting[] =>
  lattice.distinct
    .flatMap((finer) => {
      const coarser = finer.hidden.length === 0 ? [] : lattice.coarserThan(finer)
      return [finer, ...coarser].map((each) => new Parting(each, finer, lattice))
    })
    .filter((parting) => !parting.isIdle())
