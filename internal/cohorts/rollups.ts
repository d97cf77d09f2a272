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
import { COHORT_MIN } from '../tenants/tenant.js'
import { type Cell, type Dimensions, type Group, groupAt, Lattice, type Parting, type Rollup } from './lattice.js'
import { isSmall, type People, unionOf } from './people.js'

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

/** Folding would take too long. */
export class TooMuchToFold extends Error {}

/** Cells that rules 3 and 4 look at, one rollup against another, again for each: some seconds' worth. */
const LOOKS_MAX = 100_000_000

/**
 * @param cells each set of values once
 * @throws TooMuchToFold; the same cells always or never
 */
export function foldRollups(cells: readonly Cell[], dimensionCount: number): Rollups {
  const sorted = [...cells].sort(byValues)
  const lattice = new Lattice(sorted, dimensionCount)
  const isRootSmall = isSmall(unionOf(sorted.map(({ people }) => people)))
  for (const { groups } of lattice.distinct) {
    for (const group of groups) if (isRootSmall || isSmall(group.people)) lattice.hide(group)
  }
  if (!isRootSmall) hideWhatTells(lattice)

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
      const inside = [...new Set(values.flatMap((each) => indexes.get(keyOf(everything, each)) ?? []))]
      answers ??= partingsOf(lattice)
      return answers.every((parting) => leavesNobodyAlone(inside, parting, lattice))
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

/**
 * Rules 3 and 4, again and again for the coarsest rollup that does not follow them: what it then hides spares finer
 * ones, and may be what others then tell of.
 */
function hideWhatTells(lattice: Lattice): void {
  /** By finer rollup and coarser one: how much of both was hidden when they were last found to follow the rules. */
  const followed = new Map<Rollup, Map<Rollup, number>>(lattice.distinct.map((finer) => [finer, new Map()]))
  let looks = 0
  const hides = (coarser: Rollup, finer: Rollup): boolean => {
    const hiddenCount = coarser.hidden.length + finer.hidden.length
    if (followed.get(finer)?.get(coarser) === hiddenCount) return false
    looks += lattice.cells.length
    if (looks > LOOKS_MAX) throw new TooMuchToFold()
    if (hideWithin(coarser, finer, lattice) || hideHoldersOfRests(coarser, finer, lattice)) return true
    followed.get(finer)?.set(coarser, hiddenCount)
    return false
  }
  while (
    lattice.distinct.some(
      (finer) => finer.hidden.length > 0 && lattice.coarserThan(finer).some((coarser) => hides(coarser, finer)),
    )
  ) {
    // Each pass may have hidden what others then tell of.
  }
}

/** Rule 3 for two rollups. @returns whether anything was hidden */
function hideWithin(coarser: Rollup, finer: Rollup, lattice: Lattice): boolean {
  const counts = new Int32Array(coarser.groups.length)
  const people: Few[] = []
  for (const { cells, people: own } of finer.hidden) {
    const place = coarser.places[cells[0] ?? 0] ?? 0
    counts[place] = (counts[place] ?? 0) + 1
    const met = people[place] ?? new Few()
    people[place] = met
    met.add(own)
  }
  let hasHidden = false
  for (const [place, met] of people.entries()) {
    const parent = coarser.groups[place]
    if (met === undefined || parent === undefined || parent.isHidden) continue
    let count = counts[place] ?? 0
    if (count > 1 && met.isMany) continue
    const shown = [...new Set(parent.cells.map((cell) => groupAt(finer, cell)))].filter((child) => !child.isHidden)
    for (const next of shown.sort(bySize)) {
      if (count > 1 && met.isMany) break
      if (lattice.hide(next)) hasHidden = true
      met.add(next.people)
      count++
    }
  }
  return hasHidden
}

/** Few people first; the same order in every process. */
const bySize = (one: Group, other: Group): number =>
  one.people.length - other.people.length ||
  one.cells.length - other.cells.length ||
  (one.cells[0] ?? 0) - (other.cells[0] ?? 0)

/** Rule 4 for two rollups. @returns whether anything was hidden */
function hideHoldersOfRests(coarser: Rollup, finer: Rollup, lattice: Lattice): boolean {
  const parting = lattice.partingBy(coarser, finer)
  const holders = new Set<Group>()
  for (const place of parting.rests) {
    const cells = parting.parts[place] ?? []
    for (const rollup of lattice.within(lattice.commonOf(cells))) {
      const holder = groupAt(rollup, cells[0] ?? 0)
      if (!holder.isHidden && holder.cells.length > cells.length) holders.add(holder)
    }
  }
  let hasHidden = false
  for (const holder of holders) if (leavesFew(holder, parting, lattice) && lattice.hide(holder)) hasHidden = true
  return hasHidden
}

/**
 * Whether a group has one to four people in those of its cells whose parts are not all in it. Most have five within a few
 * cells, and the others need not be looked at.
 */
function leavesFew({ rollup: { places }, cells }: Group, parting: Parting, lattice: Lattice): boolean {
  const own = places[cells[0] ?? 0]
  const met = new Few()
  const whole = new Map<number, boolean>()
  for (const cell of cells) {
    const place = parting.places[cell] ?? 0
    let isWhole = whole.get(place)
    if (isWhole === undefined) {
      isWhole = parting.parts[place]?.every((member) => places[member] === own) ?? true
      whole.set(place, isWhole)
    }
    if (!isWhole && met.add(lattice.peopleIn(cell))) return false
  }
  return met.isSmall()
}

/** How all answers part the cells: any rollup's groups, with what any coarser one's do not show. */
const partingsOf = (lattice: Lattice): readonly Parting[] =>
  lattice.distinct.flatMap((finer) => {
    if (finer.hidden.length === 0) return [lattice.partingBy(finer, finer)]
    return [finer, ...lattice.coarserThan(finer)].map((coarser) => lattice.partingBy(coarser, finer))
  })

/** Whether some cells, and all others, hold nobody or five people less all that an answer tells within them. */
function leavesNobodyAlone(inside: readonly number[], { places, parts }: Parting, lattice: Lattice): boolean {
  const members = new Map<number, number[]>()
  for (const cell of inside) {
    const place = places[cell] ?? 0
    const known = members.get(place)
    if (known === undefined) members.set(place, [cell])
    else known.push(cell)
  }
  const [left, leftOutside] = [new Few(), new Few()]
  for (const [place, own] of members) {
    const part = parts[place] ?? []
    if (own.length === part.length) continue
    for (const cell of own) if (left.add(lattice.peopleIn(cell))) break
    if (leftOutside.isMany) continue
    const those = new Set(own)
    for (const cell of part) if (!those.has(cell) && leftOutside.add(lattice.peopleIn(cell))) break
  }
  return !left.isSmall() && !leftOutside.isSmall()
}

/** Tells whether one to four people were met, and stops counting at five. */
class Few {
  private readonly met: number[] = []

  get isMany(): boolean {
    return this.met.length >= COHORT_MIN
  }

  /** @returns whether five have been met */
  add(people: People): boolean {
    for (const person of people) {
      if (this.isMany) break
      if (!this.met.includes(person)) this.met.push(person)
    }
    return this.isMany
  }

  isSmall(): boolean {
    return isSmall(this.met)
  }
}
