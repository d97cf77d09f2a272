/** All rollups of some cells, and which of their groups are hidden. The rules are in `rollups.ts`. */
import { NOBODY, type People, unionOf } from './people.js'

/** Who appears in the finest group: a value in every dimension. */
export interface Cell {
  readonly values: readonly string[]
  /** Not empty. */
  readonly people: People
}

/** A set of dimensions: bit i stands for dimension i. */
export type Dimensions = number

/** The cells that have given values in some dimensions. Groups of the same cells are one object in all their rollups. */
export interface Group {
  /** Indexes of its cells, ascending. */
  readonly cells: readonly number[]
  /** Set by `Lattice.know`: who appears in it, and the dimensions in which all its cells share their value. */
  people: People
  common: Dimensions
  readonly at: { readonly rollup: Rollup; readonly place: number }[]
  isHidden: boolean
  /** Marks the group as visited: the number of the last traversal. */
  mark: number
}

/** The groups by the same dimensions. */
export interface Rollup {
  /** The largest set of dimensions that makes these groups. */
  readonly dimensions: Dimensions
  /** In the order of their first cells. */
  readonly groups: Group[]
  /** By cell: the place of its group. */
  readonly places: Int32Array
  /** Its hidden groups, in the order in which they became hidden. The list only grows. */
  readonly hidden: Group[]
  /** By place: 1 where the group is hidden. */
  readonly hides: Uint8Array
  /** By place: `common` of the group, once it is known. */
  readonly commons: Int32Array
}

export class Lattice {
  readonly cells: readonly Cell[]
  /** Each rollup once, the coarser before the finer. */
  distinct: readonly Rollup[] = []
  /** By set of dimensions; sets that split the cells alike share a rollup. */
  private readonly rollups: Rollup[] = []
  private coarser: ReadonlyMap<Rollup, readonly Rollup[]> = new Map()
  private readonly groups = new Map<number, Group[]>()
  private readonly byDimensions: (readonly Rollup[] | undefined)[] = []
  private readonly placesBy: readonly Int32Array[]
  /** By dimension and cell: equal numbers for equal values. */
  private readonly values: readonly Int32Array[]
  private lastMark = 0

  private constructor(cells: readonly Cell[], dimensionCount: number) {
    this.cells = cells
    this.placesBy = placesByDimensions(cells, dimensionCount)
    this.values = Array.from({ length: dimensionCount }, (_, dimension) => this.placesBy[1 << dimension] ?? NO_CELLS)
  }

  /** Builds the rollups, one per step. */
  static *inSteps(cells: readonly Cell[], dimensionCount: number): Generator<undefined, Lattice> {
    const lattice = new Lattice(cells, dimensionCount)
    const known = new Map<number, Rollup[]>()
    // The largest set comes first: one rollup is coarser than another where its set is within the other's.
    for (let dimensions = (1 << dimensionCount) - 1; dimensions >= 0; dimensions--) {
      yield
      lattice.form(dimensions, known)
    }
    lattice.distinct = [...known.values()]
      .flat()
      .sort((one, other) => one.groups.length - other.groups.length || one.dimensions - other.dimensions)
    lattice.coarser = new Map(
      lattice.distinct.map((finer) => [
        finer,
        lattice.distinct.filter((each) => each !== finer && isWithin(each.dimensions, finer.dimensions)),
      ]),
    )
    return lattice
  }

  get root(): Rollup {
    return this.rollupBy(0)
  }

  /** @param known rollups built so far, by a hash of their places */
  private form(dimensions: Dimensions, known: Map<number, Rollup[]>): void {
    const places = this.placesBy[dimensions] ?? NO_CELLS
    // The root needs a rollup of its own: it is never hidden, but another group that happens to hold all cells may be.
    const sign = dimensions === 0 ? ROOT_SIGN : signOfSequence(places)
    const same = known.get(sign) ?? []
    let rollup = same.find((each) => isSame(each.places, places))
    if (rollup === undefined) {
      rollup = this.rollupOf(dimensions, places)
      known.set(sign, [...same, rollup])
    }
    this.rollups[dimensions] = rollup
  }

  private rollupOf(dimensions: Dimensions, places: Int32Array): Rollup {
    const members = membersOf(places)
    const rollup: Rollup = {
      dimensions,
      groups: [],
      places,
      hidden: [],
      hides: new Uint8Array(members.length),
      commons: new Int32Array(members.length),
    }
    for (const [place, cells] of members.entries()) {
      const group = dimensions === 0 ? newGroup(cells) : this.groupOf(cells)
      group.at.push({ rollup, place })
      rollup.groups.push(group)
    }
    return rollup
  }

  private groupOf(cells: readonly number[]): Group {
    const sign = signOfSet(cells)
    const known = this.groups.get(sign)
    const same = known?.find((group) => isSame(group.cells, cells))
    if (same !== undefined) return same
    const group = newGroup(cells)
    if (known === undefined) this.groups.set(sign, [group])
    else known.push(group)
    return group
  }

  /** Computes people and shared dimensions of the groups of a rollup. */
  know({ groups, commons }: Rollup): void {
    for (const [place, group] of groups.entries()) {
      if (group.people.length === 0) {
        group.people = unionOf(group.cells.map((cell) => this.peopleIn(cell)))
        group.common = this.commonOfAll(group.cells)
      }
      commons[place] = group.common
    }
  }

  /** Drops the people of groups and keeps those of cells: a folded lattice then takes a third of the memory. */
  forgetPeople(): void {
    for (const { groups } of this.distinct) for (const group of groups) group.people = NOBODY
  }

  private commonOfAll(cells: readonly number[]): Dimensions {
    const first = cells[0] as number
    let common = this.commonOf(first, first)
    for (let i = 1; i < cells.length && common !== 0; i++) common &= this.commonOf(first, cells[i] as number)
    return common
  }

  peopleIn(cell: number): People {
    return (this.cells[cell] as Cell).people
  }

  rollupBy(dimensions: Dimensions): Rollup {
    return this.rollups[dimensions] as Rollup
  }

  coarserThan(rollup: Rollup): readonly Rollup[] {
    return this.coarser.get(rollup) ?? []
  }

  /** Hides a group in all its rollups. @returns false if it was hidden already or is the root */
  hide(group: Group): boolean {
    if (group.isHidden || group === this.root.groups[0]) return false
    group.isHidden = true
    for (const { rollup, place } of group.at) {
      rollup.hides[place] = 1
      rollup.hidden.push(group)
    }
    return true
  }

  /** @returns a mark that no group has */
  newMark(): number {
    this.lastMark++
    return this.lastMark
  }

  /** By place in `distinct`: which of its groups are hidden. */
  get hides(): readonly Uint8Array[] {
    return this.distinct.map(({ hides }) => hides)
  }

  /** @param hides of a lattice of the same cells */
  hideAs(hides: readonly Uint8Array[]): void {
    for (const [i, { groups }] of this.distinct.entries()) {
      for (const [place, group] of groups.entries()) if (hides[i]?.[place] === 1) this.hide(group)
    }
  }

  /** Rollups by some of these dimensions, or all, but for the root. */
  within(dimensions: Dimensions): readonly Rollup[] {
    let some = this.byDimensions[dimensions]
    if (some === undefined) {
      some = this.distinct.filter((each) => each !== this.root && isWithin(each.dimensions, dimensions))
      this.byDimensions[dimensions] = some
    }
    return some
  }

  /** Of two cells: dimensions in which they have the same value. */
  commonOf(one: number, other: number): Dimensions {
    let common = 0
    for (let i = 0; i < this.values.length; i++) {
      const values = this.values[i] as Int32Array
      if (values[one] === values[other]) common |= 1 << i
    }
    return common
  }
}

const newGroup = (cells: readonly number[]): Group => ({
  cells,
  people: NOBODY,
  common: 0,
  at: [],
  isHidden: false,
  mark: 0,
})

const NO_CELLS = new Int32Array()
const ROOT_SIGN = -1

export const groupAt = ({ groups, places }: Rollup, cell: number): Group => groups[places[cell] ?? 0] as Group

export const isWithin = (some: Dimensions, all: Dimensions): boolean => (some & all) === some

/** By set of dimensions: into which group each cell falls, the groups numbered in the order of their first cells. */
function placesByDimensions(cells: readonly Cell[], dimensionCount: number): Int32Array[] {
  const byDimensions = [new Int32Array(cells.length)]
  for (let dimension = 0; dimension < dimensionCount; dimension++) {
    const numbers = new Map<string, number>()
    const values = Int32Array.from(cells, (cell) => numbered(numbers, cell.values[dimension] ?? ''))
    // Each set that is known so far, and this dimension.
    for (let others = 0; others < 1 << dimension; others++) {
      const known = byDimensions[others] ?? NO_CELLS
      const pairs = new Map<number, number>()
      byDimensions[others | (1 << dimension)] = values.map((value, cell) =>
        numbered(pairs, (known[cell] ?? 0) * numbers.size + value),
      )
    }
  }
  return byDimensions
}

function numbered<K>(numbers: Map<K, number>, key: K): number {
  const known = numbers.get(key)
  if (known !== undefined) return known
  numbers.set(key, numbers.size)
  return numbers.size - 1
}

function membersOf(places: Int32Array): number[][] {
  const members: number[][] = []
  for (const [cell, place] of places.entries()) {
    const group = members[place]
    if (group === undefined) members[place] = [cell]
    else group.push(cell)
  }
  return members
}

type Numbers = Int32Array | readonly number[]

function isSame(one: Numbers, other: Numbers): boolean {
  if (one.length !== other.length) return false
  for (let i = 0; i < one.length; i++) if (one[i] !== other[i]) return false
  return true
}

function signOfSequence(numbers: Int32Array): number {
  let sign = 0
  for (const number of numbers) sign = Math.imul(sign ^ number, 0x9e3779b1) ^ (sign >>> 13)
  return sign >>> 0
}

/** Hardly ever equal for unequal sets. */
function signOfSet(indexes: readonly number[]): number {
  let sign = indexes.length
  for (const index of indexes) sign = Math.imul(sign ^ index, 0x9e3779b1) ^ (sign >>> 13)
  return sign >>> 0
}
