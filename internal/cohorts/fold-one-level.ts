/** The cohort rule of `folded.ts` for groups of one label below one root, in this process: a test holds both equal. */

export interface FlatGroup {
  readonly people: number
  /** Who they are, where they are fewer than k. */
  readonly few: readonly string[]
  readonly cost: bigint
}

export interface FoldedFlat<G extends FlatGroup> {
  /** Groups that have a row of their own, in the order given. */
  readonly own: readonly G[]
  /** Groups of the folded row; empty if nothing folds. */
  readonly folded: readonly G[]
  /** The people of `folded`. */
  readonly few: ReadonlySet<string>
  /** The group that joins the folded row, as that has fewer than k people. */
  readonly joined: G | undefined
}

/**
 * @param k people that a row has at least
 * @param byLabel compares labels, which are all different
 */
export function foldOneLevel<G extends FlatGroup>(
  groups: readonly G[],
  k: number,
  byLabel: (one: G, other: G) => number,
): FoldedFlat<G> {
  const isSmall = ({ people }: G): boolean => people > 0 && people < k
  const folded = groups.filter(isSmall)
  const few = new Set(folded.flatMap((group) => group.few))
  const rank = (one: G, other: G): number =>
    one.cost === other.cost ? one.people - other.people || byLabel(one, other) : one.cost < other.cost ? -1 : 1
  const joined =
    few.size > 0 && few.size < k
      ? groups.reduce<G | undefined>(
          (least, group) => (group.people < k || (least && rank(least, group) < 0) ? least : group),
          undefined,
        )
      : undefined
  return { own: groups.filter((group) => !isSmall(group) && group !== joined), folded, few, joined }
}
