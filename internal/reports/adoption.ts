import type { Measured } from './parts.js'
import type { ReportRow } from './report.js'

/** The people who use something, and their calls. */
export interface Adoption {
  /** Hashes of the people, ascending and distinct. */
  readonly people: readonly number[]
  readonly calls: number
}

/** Maximum number of distinct people counted per group; a larger group is reported with this number. */
const PEOPLE_MAX = 200_000

export const ADOPTION: Measured<Adoption> = {
  peopleMax: PEOPLE_MAX,
  of: ({ people, counts }) => ({ people, calls: counts.calls }),
  none: { people: [], calls: 0 },
  plus: (one, other) => ({ people: unionOf(one.people, other.people), calls: one.calls + other.calls }),
}

/** A row in its wire form. */
export const shownAdoption = ({ fromMs, toMs, labels, isFolded, sum }: ReportRow<Adoption>) => ({
  from: new Date(fromMs).toISOString(),
  to: new Date(toMs).toISOString(),
  ...labels,
  folded: isFolded,
  people: sum.people.length,
  calls: sum.calls,
})

function unionOf(one: readonly number[], other: readonly number[]): readonly number[] {
  if (one.length === 0) return other
  if (other.length === 0) return one
  const all: number[] = []
  for (let l = 0, r = 0; l < one.length || r < other.length; ) {
    const a = one[l] ?? Number.POSITIVE_INFINITY
    const b = other[r] ?? Number.POSITIVE_INFINITY
    all.push(Math.min(a, b))
    if (a <= b) l++
    if (b <= a) r++
  }
  return all
}
