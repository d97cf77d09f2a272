import { type EventFacts, type FeatureGroup, featuresOf } from './features.js'
import type { SparseRows } from './sparse-rows.js'

/**
 * The look of a call: the groups of features by which events with and without labels can be compared, since both have
 * them as often. Senders add fields to some of their calls and drop others: one that is there whenever the label is, or
 * whenever it is not, tells how a call was captured, and would make all unlabelled traffic seem to be of unknown
 * services. What is not in the look is evidence for known classes only, learned on top of it.
 */
export type Look = ReadonlySet<FeatureGroup>

/** The features of the look. */
export const lookOf = (events: readonly EventFacts[], look: Look): SparseRows =>
  featuresOf(events, { leftOut: (group) => !look.has(group) })

/** Names that senders choose freely, and what only some events of a service can have. */
const NEVER: ReadonlySet<FeatureGroup> = new Set(['identity', 'trace_neighbours', 'tags', 'kubernetes'])
/** Of two rates at which events have a group, how much of the higher one the lower one must be. */
const AS_OFTEN = 0.8

/** Groups that both have about equally often, values that no labelled event has shown aside. */
export function comparableLook(labelled: readonly EventFacts[], unlabelled: readonly EventFacts[]): Look {
  const [one, other] = [traced(labelled), traced(unlabelled)]
  const seen = new Set(one.columns)
  const [ofLabelled, ofUnlabelled] = [ratesOf(one, seen), ratesOf(other, seen)]
  const isComparable = (group: FeatureGroup): boolean => {
    const [less = 0, more = 0] = [ofLabelled.get(group) ?? 0, ofUnlabelled.get(group) ?? 0].sort((a, b) => a - b)
    return less >= AS_OFTEN * more
  }
  return new Set([...ofLabelled.keys()].filter(isComparable))
}

interface Traced {
  readonly events: number
  readonly columns: Uint32Array
  /** Of each column. */
  readonly groups: readonly FeatureGroup[]
}

function traced(events: readonly EventFacts[]): Traced {
  const groups: FeatureGroup[] = []
  const leftOut = (group: FeatureGroup): boolean => {
    if (NEVER.has(group)) return true
    groups.push(group)
    return false
  }
  return { events: events.length, columns: featuresOf(events, { leftOut }).columns, groups }
}

/** Per group: how many features of it an event has in the mean. */
function ratesOf({ events, columns, groups }: Traced, seen: ReadonlySet<number>): ReadonlyMap<FeatureGroup, number> {
  const counts = new Map<FeatureGroup, number>()
  for (const [k, group] of groups.entries()) {
    if (seen.has(columns[k] ?? -1)) counts.set(group, (counts.get(group) ?? 0) + 1)
  }
  return new Map([...counts].map(([group, count]) => [group, count / events]))
}
