import { COHORT_MIN } from '../auth/tenant.js'

/**
 * The people of a group: hashes of their identities, ascending, each once; the smallest `PEOPLE_KEPT` of them at most.
 * The smallest hashes of a union are among the smallest of its parts, so even truncated lists give exactly whether nobody,
 * one to four people, or more appear in the union.
 */
export type People = readonly number[]

/** More than the rule needs, so that small groups can be ordered by size. */
export const PEOPLE_KEPT = 32

export const NOBODY: People = []

/** Whether the group is small enough to single out a person: one to four people. */
export const isSmall = (people: People): boolean => people.length > 0 && people.length < COHORT_MIN

/** The people of all these groups together. */
export function unionOf(groups: Iterable<People>): People {
  let all: People = NOBODY
  for (const people of groups) all = merged(all, people)
  return all
}

/** @param hashes in any order, repeated or not */
export const peopleOf = (hashes: Iterable<number>): People =>
  [...new Set(hashes)].sort((a, b) => a - b).slice(0, PEOPLE_KEPT)

function merged(left: People, right: People): People {
  if (left.length === 0) return right
  if (right.length === 0) return left
  const all: number[] = []
  for (let l = 0, r = 0; all.length < PEOPLE_KEPT && (l < left.length || r < right.length); ) {
    const a = left[l] ?? Number.POSITIVE_INFINITY
    const b = right[r] ?? Number.POSITIVE_INFINITY
    all.push(Math.min(a, b))
    if (a <= b) l++
    if (b <= a) r++
  }
  return all
}
