import { type Dimensions, type Group, groupAt, isWithin, type Lattice, type Rollup } from './lattice.js'
import { SmallCohort } from './small-cohort.js'

/**
 * How an answer by the groups of a finer rollup splits the cells: into the shown groups, the part of each group of a coarser
 * rollup that the answer does not show (its rest), and the cells of hidden groups of the coarser rollup (the root's rest).
 *
 * Groups only ever become hidden, so rests only grow. A group that has passed the rules is checked again only after its
 * rest has changed.
 */
export class CellSplit {
  private readonly coarser: Rollup
  private readonly finer: Rollup
  private readonly lattice: Lattice
  /** How many hidden groups of each rollup are already in the rests. */
  private coarserSeen = 0
  private finerSeen = 0
  /** Indexed by place in the coarser rollup; the root's rest comes last. */
  private readonly rests: Rests
  /** Places of rests whose cells share their value in more dimensions than the coarser rollup has. A superset: may hold others. */
  private strays: number[] = []
  /** Places in the coarser rollup whose rests have grown since rule 3 was last checked. */
  private grown = new Set<number>()
  /** Places of hidden groups in the coarser rollup whose cells joined the root's rest since rule 4 was last checked. */
  private sunk = new Set<number>()
  /** Earlier states of rests that changed since rule 4 was last checked. */
  private outgrown: Rest[] = []
  private isFollowed = true
  private wasFollowed = false
  /** By place in the coarser rollup: 1 where rule 3 holds and will keep holding. */
  private readonly kept: Uint8Array
  /** By place of a rest. Computed once no more groups become hidden. */
  private restSizes: Int32Array | undefined

  constructor(coarser: Rollup, finer: Rollup, lattice: Lattice) {
    this.coarser = coarser
    this.finer = finer
    this.lattice = lattice
    this.rests = new Rests(coarser.groups.length + 1)
    this.kept = new Uint8Array(coarser.groups.length)
  }

  /**
   * Whether the answer reveals nothing that other answers do not: if the finer rollup is all hidden, the answer shows the
   * groups of the coarser one as they are; if the coarser rollup is all hidden, the root reveals as much.
   */
  isIdle(): boolean {
    const { coarser, finer, lattice } = this
    return isAllHidden(finer) || (coarser !== lattice.root && coarser !== finer && isAllHidden(coarser))
  }

  /** Whether groups became hidden that the rules have not been checked against yet. */
  hasChanged(): boolean {
    const { coarser, finer } = this
    if (this.isIdle()) return false
    if (this.coarserSeen < coarser.hidden.length || this.finerSeen < finer.hidden.length) this.follow()
    return !this.isFollowed
  }

  private follow(): void {
    const { coarser, finer, rests } = this
    const root = coarser.groups.length
    this.isFollowed = false
    for (; this.coarserSeen < coarser.hidden.length; this.coarserSeen++) {
      const place = coarser.places[coarser.hidden[this.coarserSeen]?.cells[0] as number] as number
      const rest = rests.at(place)
      if (rest === undefined) continue
      if (this.wasFollowed) this.outgrown.push(rest)
      rests.delete(place)
      this.sunk.add(place)
      this.join(root, rest.first, rest.common)
    }
    for (; this.finerSeen < finer.hidden.length; this.finerSeen++) {
      const { cells, common } = finer.hidden[this.finerSeen] as Group
      const first = cells[0] as number
      const place = coarser.places[first] as number
      if (coarser.hides[place] === 1) {
        this.sunk.add(place)
        this.join(root, first, common)
      } else {
        this.grown.add(place)
        this.join(place, first, common)
      }
    }
  }

  private join(place: number, first: number, common: Dimensions): void {
    const { rests } = this
    const known = rests.commons[place] as number
    if (known < 0) {
      rests.firsts[place] = first
      rests.commons[place] = common
      this.strays.push(place)
      return
    }
    // A rest shares at least the values that its whole group shares.
    if (known === (this.coarser.groups[place] === undefined ? 0 : this.coarser.dimensions)) return
    const left = known & common & this.lattice.commonOf(rests.firsts[place] as number, first)
    if (left === known) return
    if (this.wasFollowed) this.outgrown.push({ first: rests.firsts[place] as number, common: known })
    rests.commons[place] = left
  }

  /** Rule 3. @returns whether anything was hidden */
  hideWithin(budget: WorkBudget): boolean {
    const { coarser, finer, lattice } = this
    let hasHidden = false
    for (const place of [...this.grown].sort((one, other) => one - other)) {
      const parent = coarser.groups[place] as Group
      if (parent.isHidden || this.kept[place] === 1) continue
      budget.spend(parent.cells.length)
      const shown: Group[] = []
      const met = new SmallCohort()
      let count = 0
      for (const child of new Set(parent.cells.map((cell) => groupAt(finer, cell)))) {
        if (!child.isHidden) shown.push(child)
        else {
          met.add(child.people)
          count++
        }
      }
      if (count > 1 && met.isMany) {
        this.kept[place] = 1
        continue
      }
      for (const next of shown.sort(bySize)) {
        if (count > 1 && met.isMany) break
        if (lattice.hide(next)) hasHidden = true
        met.add(next.people)
        count++
      }
    }
    this.grown = new Set()
    return hasHidden
  }

  /** Rule 4. @returns whether anything was hidden */
  hideHoldersOfRests(budget: WorkBudget): boolean {
    const { coarser, lattice, rests } = this
    const isStray = (common: Dimensions): boolean => common >= 0 && !isWithin(common, coarser.dimensions)
    const toHide: Group[] = []
    const looked = lattice.newMark()
    const look = (first: number, { dimensions, places, groups }: Rollup): void => {
      const holder = groups[places[first] as number] as Group
      if (holder.isHidden || holder.mark === looked) return
      holder.mark = looked
      if (this.leavesSmallCohort(holder, dimensions, budget)) toHide.push(holder)
    }
    // A coarser group holds the rests of shown groups whole: only the root's rest can be split by it.
    const within = lattice.within(coarser.dimensions)
    for (const place of this.sunk) for (const rollup of within) look(coarser.groups[place]?.cells[0] as number, rollup)
    for (const { first, common } of this.outgrown) for (const rollup of lattice.within(common)) look(first, rollup)
    this.strays = this.strays.filter((place) => isStray(rests.commons[place] as number))
    for (const place of this.strays) {
      const { first, common } = rests.at(place) as Rest
      for (const rollup of lattice.within(common)) if (isStray(rollup.dimensions)) look(first, rollup)
    }
    this.wasFollowed = true
    this.sunk = new Set()
    this.outgrown = []
    this.isFollowed = true
    let hasHidden = false
    for (const holder of toHide) if (lattice.hide(holder)) hasHidden = true
    return hasHidden
  }

  /**
   * Whether a group holds a rest, and one to four people remain in those of its cells that belong to parts the group does
   * not fully contain.
   *
   * @param dimensions of the group: it contains a part if it holds one of the part's cells and the part shares its values in these
   */
  private leavesSmallCohort({ cells }: Group, dimensions: Dimensions, budget: WorkBudget): boolean {
    const { coarser, finer, rests, lattice } = this
    const rootCommon = rests.commons[coarser.groups.length] as number
    const met = new SmallCohort()
    let holdsRest = false
    let looked = 0
    for (const cell of cells) {
      looked++
      const place = finer.places[cell] as number
      if (finer.hides[place] === 0) {
        if (isWithin(dimensions, finer.commons[place] as number)) continue
      } else {
        const restCommon = rests.commons[coarser.places[cell] as number] as number
        if (isWithin(dimensions, restCommon < 0 ? rootCommon : restCommon)) {
          holdsRest = true
          continue
        }
      }
      if (met.add(lattice.peopleIn(cell))) break
    }
    budget.spend(looked)
    return holdsRest && met.isSmall()
  }

  /** Parts are numbered: the groups of the finer rollup by place, then the rests of the coarser one by place, then the root's rest. */
  private partOf(cell: number): number {
    const { coarser, finer } = this
    const place = finer.places[cell] as number
    if (finer.hides[place] === 0) return place
    const holder = coarser.places[cell] as number
    return finer.groups.length + (coarser.hides[holder] === 0 ? holder : coarser.groups.length)
  }

  /** Whether these cells, and likewise all others, still hold nobody or at least five people after subtracting the parts shown within them. */
  leavesNobodyAlone(inside: ReadonlySet<number>): boolean {
    const counts = new Map<number, number>()
    for (const cell of inside) {
      const part = this.partOf(cell)
      counts.set(part, (counts.get(part) ?? 0) + 1)
    }
    const torn = new Set<number>()
    for (const [part, count] of counts) if (count !== this.sizeOf(part)) torn.add(part)
    if (torn.size === 0) return true
    const [left, leftOutside] = [new SmallCohort(), new SmallCohort()]
    for (const cell of inside) if (torn.has(this.partOf(cell)) && left.add(this.lattice.peopleIn(cell))) break
    if (left.isSmall()) return false
    for (const part of torn) {
      for (const cell of this.cellsOf(part)) {
        if (!inside.has(cell) && leftOutside.add(this.lattice.peopleIn(cell))) return true
      }
    }
    return !leftOutside.isSmall()
  }

  private sizeOf(part: number): number {
    const { coarser, finer } = this
    const group = finer.groups[part]
    if (group !== undefined) return group.cells.length
    if (this.restSizes === undefined) {
      this.restSizes = new Int32Array(coarser.groups.length + 1)
      for (const { cells } of finer.hidden) {
        const rest = this.partOf(cells[0] ?? 0) - finer.groups.length
        this.restSizes[rest] = (this.restSizes[rest] as number) + cells.length
      }
    }
    return this.restSizes[part - finer.groups.length] as number
  }

  private *cellsOf(part: number): Iterable<number> {
    const { coarser, finer } = this
    const group = finer.groups[part] ?? coarser.groups[part - finer.groups.length]
    if (group !== undefined) {
      for (const cell of group.cells) if (this.partOf(cell) === part) yield cell
      return
    }
    for (const { cells } of finer.hidden) if (this.partOf(cells[0] ?? 0) === part) yield* cells
  }
}

/** Hidden groups shown as one row: one of their cells, and the dimensions in which all share their value. */
interface Rest {
  readonly first: number
  readonly common: Dimensions
}

/** The rests of a split, indexed by place. */
class Rests {
  readonly firsts: Int32Array
  /** -1: there is none. */
  readonly commons: Int32Array

  constructor(length: number) {
    this.firsts = new Int32Array(length)
    this.commons = new Int32Array(length).fill(-1)
  }

  at(place: number): Rest | undefined {
    const common = this.commons[place] as number
    return common < 0 ? undefined : { first: this.firsts[place] as number, common }
  }

  delete(place: number): void {
    this.commons[place] = -1
  }
}

/** Folding would take too long. */
export class TooMuchToFold extends Error {}

/** How many cells folding may still visit. Bounds its time. */
export class WorkBudget {
  private left: number

  constructor(left: number) {
    this.left = left
  }

  /** @throws TooMuchToFold when the budget is exhausted */
  spend(count: number): void {
    this.left -= count
    if (this.left < 0) throw new TooMuchToFold()
  }
}

const isAllHidden = ({ hidden, groups }: Rollup): boolean => hidden.length === groups.length

/** Fewest people first; the same order in every process. */
const bySize = (one: Group, other: Group): number =>
  one.people.length - other.people.length ||
  one.cells.length - other.cells.length ||
  (one.cells[0] ?? 0) - (other.cells[0] ?? 0)
