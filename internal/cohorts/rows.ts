/**
 * Makes the rows of a report from its cells: groups that may be shown get a row, the others are folded into a row of their
 * parent. Rows never overlap, and together they cover exactly the cells that the filters match.
 */
import { isSmall, NOBODY, type People, unionOf } from './people.js'
import type { Dimensions, Rollups } from './rollups.js'

/** How values of cells are added. */
export interface Sums<M> {
  readonly none: M
  plus(one: M, other: M): M
}

/** The finest group of a report: a value in every dimension. */
export interface SummedCell<M> {
  readonly values: readonly string[]
  /** Empty where nobody appears. */
  readonly people: People
  readonly sum: M
}

/** A filter on one dimension. */
export interface Choice {
  readonly dimension: number
  readonly holds: (value: string) => boolean
}

export interface Row<M> {
  /** One per grouping dimension; undefined in dimensions that were folded away. */
  readonly values: readonly (string | undefined)[]
  /** Whether the row is the hidden part of a parent rather than a requested group. */
  readonly isFolded: boolean
  /** The requested groups that the row covers, by their values. */
  readonly leaves: readonly (readonly string[])[]
  readonly sum: M
}

export interface Rows<M> {
  readonly rows: readonly Row<M>[]
  /** Filters that were not applied because they would single out fewer than five people. */
  readonly widened: readonly Choice[]
  /** Requested groups that are folded, by their values. */
  readonly hidden: readonly (readonly string[])[]
}

/**
 * @param groupBy dimensions, the coarsest first
 * @param choices all must match; dropped one by one, the last first, while they would single out people
 */
export function rowsOf<M>(
  cells: readonly SummedCell<M>[],
  rollups: Rollups,
  groupBy: readonly number[],
  choices: readonly Choice[],
  sums: Sums<M>,
): Rows<M> {
  for (let kept = choices.length; kept > 0; kept--) {
    const rows = rowsHeldBy(cells, rollups, groupBy, choices.slice(0, kept), sums)
    if (rows !== undefined) return { ...rows, widened: choices.slice(kept) }
  }
  return { ...new Report(cells, rollups, groupBy, []).rows(sums), widened: choices }
}

/** The rows with all choices applied; undefined where these would single out people. */
export function rowsHeldBy<M>(
  cells: readonly SummedCell<M>[],
  rollups: Rollups,
  groupBy: readonly number[],
  choices: readonly Choice[],
  sums: Sums<M>,
): Omit<Rows<M>, 'widened'> | undefined {
  const report = new Report(cells, rollups, groupBy, choices)
  return report.isTotalShown() ? report.rows(sums) : undefined
}

interface Node<M> {
  readonly path: readonly string[]
  /** Matched by the filters. */
  readonly inside: SummedCell<M>[]
  /** Of the same group, not matched. */
  readonly outside: SummedCell<M>[]
  readonly children: Map<string, Node<M>>
}

const newNode = <M>(path: readonly string[]): Node<M> => ({ path, inside: [], outside: [], children: new Map() })

class Report<M> {
  private readonly root: Node<M> = newNode([])
  private readonly finest: Dimensions
  private readonly rollups: Rollups
  private readonly groupBy: readonly number[]
  private readonly choices: readonly Choice[]

  constructor(
    cells: readonly SummedCell<M>[],
    rollups: Rollups,
    groupBy: readonly number[],
    choices: readonly Choice[],
  ) {
    this.rollups = rollups
    this.groupBy = groupBy
    this.choices = choices
    this.finest = setOf([...groupBy, ...choices.map(({ dimension }) => dimension)])
    for (const cell of cells) {
      const place = this.isHeld(cell.values) ? 'inside' : 'outside'
      let node = this.root
      node[place].push(cell)
      for (const dimension of groupBy) {
        const value = cell.values[dimension] ?? ''
        const child: Node<M> = node.children.get(value) ?? newNode([...node.path, value])
        node.children.set(value, child)
        child[place].push(cell)
        node = child
      }
    }
  }

  isTotalShown(): boolean {
    return this.isShown(this.root)
  }

  rows(sums: Sums<M>): Pick<Rows<M>, 'rows' | 'hidden'> {
    const leaves = this.leaves(this.root).filter(({ inside }) => inside.length > 0)
    const shown = new Set(leaves.filter((leaf) => this.isShown(leaf)))
    const rows = [...shown].map((leaf) => this.row(leaf.path, [leaf.path], leaf.inside, false, sums))
    let rest = leaves.filter((leaf) => !shown.has(leaf))
    // Fold into the nearest parent whose rest may be shown.
    for (let depth = this.groupBy.length - 1; depth > 0 && rest.length > 0; depth--) {
      for (const [parent, members] of byPrefix(rest, depth)) {
        const cells = members.flatMap(({ inside }) => inside)
        const node = this.find(parent)
        if (members.length < 2 || !this.isShown(node) || !this.isSafe(cells)) continue
        rows.push(this.row(node.path, pathsOf(members), cells, true, sums))
        rest = rest.filter((leaf) => !members.includes(leaf))
      }
    }
    const hidden = leaves.filter((leaf) => !shown.has(leaf)).map(({ path }) => path)
    if (rest.length === 0) return { rows, hidden }
    // The rest goes to the root, which absorbs further rows until it singles out nobody.
    const candidates = [...rows].sort((one, other) => other.people.length - one.people.length)
    let cells = rest.flatMap(({ inside }) => inside)
    let paths = pathsOf(rest)
    let groups = rest.length
    while (candidates.length > 0 && (groups < 2 || !this.isSafe(cells))) {
      const isAnyoneLeft = candidates.some(({ people }) => people.length > 0)
      if (!isAnyoneLeft && groups > 1) break
      let next = candidates.length - 1
      while (isAnyoneLeft && candidates[next]?.people.length === 0) next--
      const [absorbed] = candidates.splice(next, 1)
      cells = [...cells, ...(absorbed?.cells ?? [])]
      paths = [...paths, ...(absorbed?.leaves ?? [])]
      groups++
    }
    const absorbed = rows.filter((row) => !candidates.includes(row) && !row.isFolded).map(({ path }) => path)
    return { rows: [...candidates, this.row([], paths, cells, true, sums)], hidden: [...hidden, ...absorbed] }
  }

  /** Whether the filtered part of a group may be shown. */
  private isShown({ path, inside, outside }: Node<M>): boolean {
    const isOpen = (cell: SummedCell<M>) => cell.people.length === 0 || this.rollups.isShown(this.finest, cell.values)
    const first = inside[0] ?? outside[0]
    const dimensions = setOf(this.groupBy.slice(0, path.length))
    if (inside.every(({ people }) => people.length === 0)) return true
    const isWhole = outside.every(({ people }) => people.length === 0)
    const isGroupShown = first === undefined || this.rollups.isShown(dimensions, first.values)
    if (isWhole) return isGroupShown
    if (!inside.every(isOpen) && !(isGroupShown && outside.every(isOpen))) return false
    return this.isSafe(inside)
  }

  private isSafe(cells: readonly SummedCell<M>[]): boolean {
    if (isSmall(unionOf(cells.map(({ people }) => people)))) return false
    return this.rollups.isSafe(cells.map(({ values }) => values))
  }

  private isHeld(values: readonly string[]): boolean {
    return this.choices.every(({ dimension, holds }) => holds(values[dimension] ?? ''))
  }

  private leaves(node: Node<M>): Node<M>[] {
    if (node.path.length === this.groupBy.length) return [node]
    return [...node.children.values()].flatMap((child) => this.leaves(child))
  }

  private find(path: readonly string[]): Node<M> {
    let node = this.root
    for (const value of path) node = node.children.get(value) ?? node
    return node
  }

  private row(
    path: readonly string[],
    leaves: readonly (readonly string[])[],
    cells: readonly SummedCell<M>[],
    isFolded: boolean,
    sums: Sums<M>,
  ) {
    const sum = cells.reduce((total, cell) => sums.plus(total, cell.sum), sums.none)
    const people = cells.reduce((all, cell) => unionOf([all, cell.people]), NOBODY)
    return { values: this.groupBy.map((_, i) => path[i]), isFolded, leaves, sum, people, cells, path }
  }
}

const pathsOf = <M>(leaves: readonly Node<M>[]) => leaves.map(({ path }) => path)

const setOf = (dimensions: readonly number[]): Dimensions => dimensions.reduce((set, one) => set | (1 << one), 0)

function byPrefix<M>(leaves: readonly Node<M>[], depth: number): [readonly string[], Node<M>[]][] {
  const groups = new Map<string, [readonly string[], Node<M>[]]>()
  for (const leaf of leaves) {
    const prefix = leaf.path.slice(0, depth)
    const key = prefix.join('\u0000')
    const group = groups.get(key)
    if (group === undefined) groups.set(key, [prefix, [leaf]])
    else group[1].push(leaf)
  }
  return [...groups.values()]
}
