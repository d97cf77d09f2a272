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
import { isSmall, type People, unionOf } from './people.js'

/** Who appears in the finest group: a value in every dimension. */
export interface Cell {
  readonly values: readonly string[]
  /** Not empty. */
  readonly people: People
}

/** A set of dimensions: bit i stands for dimension i. */
export type Dimensions = number

interface Group {
  readonly dimensions: Dimensions
  /** Indexes of its cells, ascending. */
  readonly cells: readonly number[]
  readonly people: People
  isHidden: boolean
}

interface Rollup {
  readonly dimensions: Dimensions
  /** In the order of their first cells. */
  readonly groups: readonly Group[]
  readonly byCell: readonly Group[]
}

/** What a group does not show of itself. */
interface Rest {
  readonly rest: Group
}
type Part = Group | Rest

export interface Rollups {
  /** Whether the group may be shown that has these values. @param values one a dimension; others are not looked at */
  isShown(dimensions: Dimensions, values: readonly string[]): boolean
  /** Whether a sum over some cells may be shown, told apart from every sum of groups of one rollup. */
  isSafe(includes: (values: readonly string[]) => boolean): boolean
}

/** @param cells each set of values once */
export function foldRollups(cells: readonly Cell[], dimensionCount: number): Rollups {
  const sorted = [...cells].sort(byValues)
  const lattice = new Lattice(sorted, dimensionCount)
  lattice.fold()
  return {
    isShown: (dimensions, values) => !lattice.isHidden(dimensions, values),
    isSafe: (includes) => {
      const inside: number[] = []
      const outside: number[] = []
      for (const [index, { values }] of sorted.entries()) (includes(values) ? inside : outside).push(index)
      return lattice.leavesNobodyAlone(inside) && lattice.leavesNobodyAlone(outside)
    },
  }
}

const byValues = (one: Cell, other: Cell): number => {
  const i = one.values.findIndex((value, at) => value !== other.values[at])
  return i < 0 ? 0 : (one.values[i] as string) < (other.values[i] as string) ? -1 : 1
}

/** No label holds it. */
const SEPARATOR = '\u0000'

class Lattice {
  private readonly cells: readonly Cell[]
  /** By set of dimensions; sets that part the cells alike share theirs. */
  private readonly rollups: Rollup[] = []
  /** Each rollup once, the coarser before the finer. */
  private readonly distinct: readonly Rollup[]
  /** Groups of the same cells. */
  private readonly alike = new Map<string, Group[]>()
  /** The groups by their values, of the sets of dimensions that were asked for. */
  private readonly byKey = new Map<Dimensions, ReadonlyMap<string, Group>>()

  constructor(cells: readonly Cell[], dimensionCount: number) {
    this.cells = cells
    const known = new Map<string, Rollup>()
    for (let dimensions = (1 << dimensionCount) - 1; dimensions >= 0; dimensions--) {
      const places = new Map<string, number>()
      const placeOf = cells.map(({ values }) => {
        const key = keyOf(dimensions, values)
        const place = places.get(key) ?? places.size
        places.set(key, place)
        return place
      })
      // The largest set comes first: one rollup is coarser than another where its set is within the other's.
      // The root has its own: it is never hidden, which a group that happens to hold everything may be.
      const parting = dimensions === 0 ? '' : `${placeOf.join()};`
      const rollup = known.get(parting) ?? this.rollupOf(dimensions, placeOf)
      known.set(parting, rollup)
      this.rollups[dimensions] = rollup
    }
    this.distinct = [...known.values()].sort(
      (one, other) => one.groups.length - other.groups.length || one.dimensions - other.dimensions,
    )
  }

  private rollupOf(dimensions: Dimensions, placeOf: readonly number[]): Rollup {
    const members: number[][] = []
    for (const [index, place] of placeOf.entries()) {
      const group = members[place]
      if (group === undefined) members[place] = [index]
      else group.push(index)
    }
    const groups = members.map((indexes): Group => {
      const people = unionOf(indexes.map((index) => (this.cells[index] as Cell).people))
      const group = { dimensions, cells: indexes, people, isHidden: false }
      const alike = this.alike.get(signOf(indexes))
      if (alike === undefined) this.alike.set(signOf(indexes), [group])
      else alike.push(group)
      return group
    })
    const byCell = placeOf.map((place) => groups[place] as Group)
    return { dimensions, groups, byCell }
  }

  private keyIn(dimensions: Dimensions, { cells }: Group): string {
    return keyOf(dimensions, this.cells[cells[0] ?? 0]?.values ?? [])
  }

  isHidden(dimensions: Dimensions, values: readonly string[]): boolean {
    let byKey = this.byKey.get(dimensions)
    if (byKey === undefined) {
      byKey = new Map(this.rollups[dimensions]?.groups.map((group) => [this.keyIn(dimensions, group), group]))
      this.byKey.set(dimensions, byKey)
    }
    return byKey.get(keyOf(dimensions, values))?.isHidden ?? false
  }

  fold(): void {
    const isRootSmall = isSmall(unionOf(this.cells.map(({ people }) => people)))
    for (const { groups } of this.distinct) {
      for (const group of groups) if (isRootSmall || isSmall(group.people)) this.hide(group)
    }
    while (!isRootSmall && this.hideWhatTells()) {
      // Each pass may have hidden what others then tell of.
    }
  }

  /**
   * Rules 3 and 4 for the coarsest rollup that does not follow them: what it then hides spares finer ones.
   *
   * @returns whether anything was hidden
   */
  private hideWhatTells(): boolean {
    return this.distinct.some(
      (finer) =>
        finer.groups.some(({ isHidden }) => isHidden) &&
        this.coarserThan(finer).some(
          (coarser) => this.hideWithin(coarser, finer) || this.hideHoldersOfRests(coarser, finer),
        ),
    )
  }

  private coarserThan({ dimensions }: Rollup): Rollup[] {
    return this.distinct.filter(
      (each) => each.dimensions !== dimensions && (each.dimensions & dimensions) === each.dimensions,
    )
  }

  private hideWithin(coarser: Rollup, finer: Rollup): boolean {
    const hiddenOf = new Map<Group, Group[]>()
    for (const child of finer.groups) {
      if (!child.isHidden) continue
      const parent = coarser.byCell[child.cells[0] ?? 0] as Group
      if (parent.isHidden) continue
      const siblings = hiddenOf.get(parent)
      if (siblings === undefined) hiddenOf.set(parent, [child])
      else siblings.push(child)
    }
    let hasHidden = false
    for (const [parent, hidden] of hiddenOf) {
      let people = unionOf(hidden.map((child) => child.people))
      let count = hidden.length
      if (count > 1 && people.length >= COHORT_MIN) continue
      const shown = [...new Set(parent.cells.map((index) => finer.byCell[index] as Group))].filter(
        (child) => !child.isHidden,
      )
      for (const next of shown.sort(bySize)) {
        if (count > 1 && people.length >= COHORT_MIN) break
        if (this.hide(next)) hasHidden = true
        people = unionOf([people, next.people])
        count++
      }
    }
    return hasHidden
  }

  private hideHoldersOfRests(coarser: Rollup, finer: Rollup): boolean {
    const parts = this.partsOf(coarser, finer)
    let hasHidden = false
    for (const [part, members] of parts) {
      if (!('rest' in part)) continue
      for (const { byCell } of this.distinct) {
        const holder = byCell[members[0] ?? 0] as Group
        if (holder.isHidden || holder.dimensions === 0 || holder.cells.length <= members.length) continue
        if (!members.every((index) => byCell[index] === holder)) continue
        const left = this.leftOf(holder.cells, parts)
        if (isSmall(this.peopleOf(left)) && this.hide(holder)) hasHidden = true
      }
    }
    return hasHidden
  }

  /**
   * How an answer by the finer rollup's groups parts the cells: into the groups that are shown, what each group of the
   * coarser one does not show of itself, and what the root does not.
   */
  private partsOf(coarser: Rollup, finer: Rollup): Map<Part, number[]> {
    const parts = new Map<Part, number[]>()
    const rests = new Map<Group, Rest>()
    for (const index of this.cells.keys()) {
      let part: Part = finer.byCell[index] as Group
      if (part.isHidden) {
        const parent = coarser.byCell[index] as Group
        const holder = parent.isHidden ? this.rootGroup : parent
        const rest = rests.get(holder) ?? { rest: holder }
        rests.set(holder, rest)
        part = rest
      }
      const members = parts.get(part)
      if (members === undefined) parts.set(part, [index])
      else members.push(index)
    }
    return parts
  }

  private get rootGroup(): Group {
    return this.distinct[0]?.groups[0] as Group
  }

  /** Of some cells, those of parts that are not all among them. */
  private leftOf(cells: readonly number[], parts: Map<Part, number[]>): number[] {
    const inside = new Set(cells)
    const left: number[] = []
    for (const members of parts.values()) {
      const those = members.filter((index) => inside.has(index))
      if (those.length < members.length) left.push(...those)
    }
    return left
  }

  /** Rule 2 goes with it. @returns whether it was shown before, and may be hidden */
  private hide(group: Group): boolean {
    if (group.isHidden || group.dimensions === 0) return false
    for (const twin of this.alike.get(signOf(group.cells)) ?? []) if (twin.dimensions !== 0) twin.isHidden = true
    return true
  }

  private peopleOf(cells: readonly number[]): People {
    return unionOf(cells.map((index) => (this.cells[index] as Cell).people))
  }

  /** Whether some cells, less all that any one answer tells within them, hold nobody or five people. */
  leavesNobodyAlone(cells: readonly number[]): boolean {
    return this.distinct.every((finer) =>
      [finer, ...this.coarserThan(finer)].every(
        (coarser) => !isSmall(this.peopleOf(this.leftOf(cells, this.partsOf(coarser, finer)))),
      ),
    )
  }
}

/** Few people first; the same order in every process. */
const bySize = (one: Group, other: Group): number =>
  one.people.length - other.people.length ||
  one.cells.length - other.cells.length ||
  (one.cells[0] ?? 0) - (other.cells[0] ?? 0)

function keyOf(dimensions: Dimensions, values: readonly string[]): string {
  let key = ''
  for (let i = 0; i < values.length; i++) if (dimensions & (1 << i)) key += values[i] + SEPARATOR
  return key
}

/** Equal for equal sets, and hardly ever for others: which then are hidden together without need. */
function signOf(indexes: readonly number[]): string {
  let sum = 0
  for (const index of indexes) sum = (sum + mixed(index)) % 2 ** 52
  return `${indexes.length} ${sum}`
}

function mixed(index: number): number {
  let hash = Math.imul(index + 1, 0x9e3779b1)
  hash = Math.imul(hash ^ (hash >>> 15), 0x85ebca6b)
  const high = (hash ^ (hash >>> 13)) >>> 0
  const low = Math.imul(high ^ (index + 7), 0xc2b2ae35) >>> 8
  return (high >>> 8) * 2 ** 24 + low
}
