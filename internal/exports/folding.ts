import { COHORT_MIN } from '../auth/tenant.js'

/** What a root (a provider's month) has below it: groups of calls, with all their meters. 5 people stand for 5 and more. */
export interface FoldingFacts {
  /** Groups in which, or in a meter of which, one to four people appear, and how many people in all of them together. */
  readonly small: number
  readonly smallPeople: number
  /** Groups in which at least five appear, and the key of the one of fewest calls. */
  readonly large: number
  readonly smallestLarge: string
  /** The same of groups in which nobody appears. */
  readonly empty: number
  readonly smallestEmpty: string
}

/**
 * Which group is folded beside the small ones (spec 4.2.4, design section 6; the rule of `internal/cohorts/fold.ts` below
 * one root): what is folded must be at least two groups with five people together, or neither hides anything: what a
 * root shows, and the row of what it does not, would tell of fewer than five. One group of five or more is enough for
 * that. Without one, everybody who appears below the root is folded already; a lone group is then joined by one in which
 * nobody appears.
 *
 * @returns its key; undefined when there need be, or can be, none
 */
export function foldedBeside(root: FoldingFacts): string | undefined {
  if (root.small === 0 || (root.small > 1 && root.smallPeople >= COHORT_MIN)) return undefined
  if (root.large > 0) return root.smallestLarge
  return root.small === 1 && root.empty > 0 ? root.smallestEmpty : undefined
}
