/** All rollups of some cells, and which of their groups are hidden. `rollups.ts` says by which rules. */
import { type People, unionOf } from './people.js'

/** Who appears in the finest group: a value in every dimension. */
export interface Cell {
  readonly values: readonly string[]
  /** Not empty. */
  readonly people: People
}

/** A set of dimensions: bit i stands for dimension i. */
export type Dimensions = number

/** What holds given values in some of the dimensions. */
export interface Group {
  readonly rollup: Rollup
  /** Indexes of its cells, ascending. */
  readonly cells: readonly number[]
  readonly people: People
  isHidden: boolean
  /** All groups of just these cells, itself among them. */
  readonly alike: Group[]
}

/** The groups by the same dimensions. */
export interface Rollup {
  readonly dimensions: Dimensions
  /** In the order of their first cells. */
  readonly groups: Group[]
  /** By cell: which of the groups it is in. */
  readonly places: Int32Array
  /** Those of its groups that are hidden. They only become more, so that their number tells whether anything has changed. */
  readonly hidden: Group[]
}

/**
 * How an answer by a finer rollup's groups parts the cells: into the groups that are shown, what each group of a coarser
 * rollup does not show of itself, and what the root does not.
 */
export interface Parting {
  /** By cell: which of the parts it is in. */
  readonly places: Int32Array
  readonly parts: readonly (readonly number[])[]
  /** Places of parts that are what a group does not show. */
  readonly rests: readonly number[]
}

export class Lattice {
  readonly cells: readonly Cell[]
  /** Each rollup once, the coarser before the finer. */
  readonly distinct: readonly Rollup[]
  readonly root: Rollup
  /** By set of dimensions; sets that part the cells alike share theirs. */
  private readonly rollups: Rollup[] = []
  private readonly coarser: ReadonlyMap<Rollup, readonly Rollup[]>
  private readonly alike = new Map<string, Group[]>()
  private readonly byDimensions: (readonly Rollup[] | undefined)[] = []
  /** By dimension and cell: equal numbers for equal values. */
  private readonly values: readonly Int32Array[]

  constructor(cells: readonly Cell[], dimensionCount: number) {
    this.cells = cells
    const placesBy = placesByDimensions(cells, dimensionCount)
    this.values = Array.from({ length: dimensionCount }, (_, dimension) => placesBy[1 << dimension] ?? NO_CELLS)
    const known = new Map<string, Rollup[]>()
    // The largest set comes first: one rollup is coarser than another where its set is within the other's.
    for (let dimensions = (1 << dimensionCount) - 1; dimensions >= 0; dimensions--) {
      const places = placesBy[dimensions] ?? NO_CELLS
      // The root has its own: it is never hidden, which a group that happens to hold everything may be.
      const sign = dimensions === 0 ? 'root' : signOfSequence(places)
      const same = known.get(sign) ?? []
      let rollup = same.find((each) => isSame(each.places, places))
      if (rollup === undefined) {
        rollup = this.rollupOf(dimensions, places)
        known.set(sign, [...same, rollup])
      }
      this.rollups[dimensions] = rollup
    }
    this.root = this.rollupBy(0)
    this.distinct = [...known.values()]
      .flat()
      .sort((one, other) => one.groups.length - other.groups.length || one.dimensions - other.dimensions)
    this.coarser = new Map(
      this.distinct.map((finer) => [
        finer,
        this.distinct.filter((each) => each !== finer && isWithin(each.dimensions, finer.dimensions)),
      ]),
    )
  }

  private rollupOf(dimensions: Dimensions, places: Int32Array): Rollup {
    const rollup: Rollup = { dimensions, groups: [], places, hidden: [] }
    for (const cells of membersOf(places)) {
      const sign = signOfSet(cells)
      const alike = this.alike.get(sign) ?? []
      this.alike.set(sign, alike)
      const people = unionOf(cells.map((index) => this.peopleIn(index)))
      const group = { rollup, cells, people, isHidden: false, alike }
      alike.push(group)
      rollup.groups.push(group)
    }
    return rollup
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

  /** Hides a group, and those of the same cells with it. @returns whether it was shown before, and may be hidden */
  hide(group: Group): boolean {
    if (group.isHidden || group.rollup === this.root) return false
    for (const twin of group.alike) {
      if (twin.isHidden || twin.rollup === this.root) continue
      twin.isHidden = true
      twin.rollup.hidden.push(twin)
    }
    return true
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

  /** @param coarser may be the finer one itself: then what it hides is all in one part */
  partingBy(coarser: Rollup, finer: Rollup): Parting {
    const places = finer.places.slice()
    const parts: (readonly number[])[] = finer.groups.map(({ cells, isHidden }) => (isHidden ? [] : cells))
    const rests = new Map<Group, { readonly place: number; readonly members: number[] }>()
    for (const { cells } of finer.hidden) {
      for (const cell of cells) {
        const parent = groupAt(coarser, cell)
        const holder = parent.isHidden ? groupAt(this.root, cell) : parent
        let rest = rests.get(holder)
        if (rest === undefined) {
          rest = { place: parts.length, members: [] }
          rests.set(holder, rest)
          parts.push(rest.members)
        }
        rest.members.push(cell)
        places[cell] = rest.place
      }
    }
    return { places, parts, rests: [...rests.values()].map(({ place }) => place) }
  }

  /** Dimensions in which all of some cells have the same value. */
  commonOf(cells: readonly number[]): Dimensions {
    let common = 0
    for (const [i, values] of this.values.entries()) {
      const first = values[cells[0] ?? 0]
      if (cells.every((cell) => values[cell] === first)) common |= 1 << i
    }
    return common
  }
}

const NO_CELLS = new Int32Array()

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

const isSame = (one: Int32Array, other: Int32Array): boolean => one.every((place, cell) => place === other[cell])

function signOfSequence(numbers: Int32Array): string {
  let sign = 0
  for (const number of numbers) sign = Math.imul(sign ^ number, 0x9e3779b1) ^ (sign >>> 13)
  return String(sign)
}

/** Equal for equal sets, and hardly ever for others: which then are hidden together without need. */
function signOfSet(indexes: readonly number[]): string {
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
