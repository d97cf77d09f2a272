/**
 * k = 5 over a hierarchy (spec 4.2.4, design section 6): a group in which one to four people appear is folded into its
 * parent, and so are further groups, the smallest first, until each parent hides at least two groups that have five
 * people together. So neither a group nor the difference between a parent and its shown children covers one to four
 * people. A group in which nobody appears is not folded.
 */
import { COHORT_MIN } from '../auth/tenant.js'
import { isSmall, type People, unionOf } from './people.js'

/** A group of the finest grain. */
export interface Leaf {
  /** Its labels below the root, the coarsest first. All leaves have equally many, and no two the same. */
  readonly path: readonly string[]
  readonly people: People
}

/**
 * How many labels each leaf keeps: all of them when it is shown, fewer when it is folded into an ancestor, none when
 * into the root. Leaves that keep the same labels, but not all, form one row: the hidden part of their ancestor.
 *
 * The root is never folded. If it has fewer than five people itself, every group with people is folded into it.
 */
export function foldLeaves(leaves: readonly Leaf[]): readonly number[] {
  const kept = leaves.map(({ path }) => path.length)
  const indexes = leaves.map((_, index) => index)
  foldBelow(groupOf('', indexes, leaves), 0, leaves, kept)
  return kept
}

interface Group {
  readonly label: string
  readonly indexes: readonly number[]
  readonly people: People
}

const groupOf = (label: string, indexes: readonly number[], leaves: readonly Leaf[]): Group => ({
  label,
  indexes,
  people: unionOf(indexes.map((index) => (leaves[index] as Leaf).people)),
})

/** Folds the groups below a shown group or the root. @param depth number of labels of the group */
function foldBelow(parent: Group, depth: number, leaves: readonly Leaf[], kept: number[]): void {
  const byLabel = new Map<string, number[]>()
  for (const index of parent.indexes) {
    const label = leaves[index]?.path[depth]
    if (label === undefined) return // the group is a leaf
    const members = byLabel.get(label)
    if (members === undefined) byLabel.set(label, [index])
    else members.push(index)
  }
  const children = [...byLabel].map(([label, indexes]) => groupOf(label, indexes, leaves))
  const hidden = hiddenAmong(children)
  for (const child of children) {
    if (!hidden.has(child)) foldBelow(child, depth + 1, leaves, kept)
    else for (const index of child.indexes) kept[index] = depth
  }
}

/** Which of a group's children are not shown. */
function hiddenAmong(children: readonly Group[]): ReadonlySet<Group> {
  const hidden = new Set(children.filter(({ people }) => isSmall(people)))
  if (hidden.size === 0) return hidden
  const others = children.filter((child) => !hidden.has(child)).sort(bySize)
  const [inhabited, empty] = [others.filter(hasPeople), others.filter((group) => !hasPeople(group))]
  for (const next of inhabited) {
    if (hidden.size > 1 && unionOf([...hidden].map(({ people }) => people)).length >= COHORT_MIN) break
    hidden.add(next)
  }
  // One group has all of the root's people, the others have none: hide one of those with it.
  if (hidden.size === 1 && empty[0] !== undefined) hidden.add(empty[0])
  return hidden
}

const hasPeople = ({ people }: Group): boolean => people.length > 0

/** Fewest people first; the same order in every process. */
const bySize = (one: Group, other: Group): number =>
  one.people.length - other.people.length || (one.label < other.label ? -1 : 1)
