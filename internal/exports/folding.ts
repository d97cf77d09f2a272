import { COHORT_MIN } from '../auth/tenant.js'

/** Counts of the groups below a root (a provider's month). A group is calls with all their meters; 5 people means 5 or more. */
export interface FoldingFacts {
  /** Groups with one to four people, in total or in one of their meters; and distinct people over all of these. */
  readonly small: number
  readonly smallPeople: number
  /** Groups with at least five people, and the key of the one with the fewest calls. */
  readonly large: number
  readonly smallestLarge: string
  /** The same for groups without people. */
  readonly empty: number
  readonly smallestEmpty: string
}

/**
 * Chooses the group to fold together with the small ones (spec 4.2.4, design section 6; the rule of
 * `internal/cohorts/fold.ts` below one root). At least two groups with five people in total must be folded; otherwise
 * the folded row, or the difference between the root and its shown rows, would reveal fewer than five people. Adding one
 * group with five or more people is enough. If there is none, everyone below the root is already folded; a single small
 * group is then joined by a group without people.
 *
 * @returns the key of the group; undefined when none is needed or available
 */
export function foldedBeside(root: FoldingFacts): string | undefined {
  if (root.small === 0 || (root.small > 1 && root.smallPeople >= COHORT_MIN)) return undefined
  if (root.large > 0) return root.smallestLarge
  return root.small === 1 && root.empty > 0 ? root.smallestEmpty : undefined
}
