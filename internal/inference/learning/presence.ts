import type { LabelledExamples } from './known-classes.js'

/**
 * When each class began to have calls. A service that is new late in the window had no calls before, and its current
 * share is that of the time since its first label, not of the whole window.
 */
export interface Presence {
  /** Per class: time of the first event with its label; earlier events do not belong to it. */
  readonly bornMs: Float64Array
  /** Per class: number of events of the whole time ÷ number of those since then. */
  readonly growth: Float64Array
  /** Share of each class in the labelled events, as of now; they sum to 1. */
  readonly shares: Float64Array
}

/** Bounded, so that a class with a few labels in the last minutes does not seem to have all traffic. */
const GROWTH_MAX = 50

/**
 * @param shares of the classes in all labelled events
 * @param times of the events that the model serves
 */
export function presenceOf({ facts, label }: LabelledExamples, shares: Float64Array, times: Float64Array): Presence {
  const bornMs = new Float64Array(shares.length).fill(Number.POSITIVE_INFINITY)
  for (const [i, { eventTimeMs }] of facts.entries()) {
    const c = label[i] ?? 0
    bornMs[c] = Math.min(bornMs[c] ?? 0, eventTimeMs)
  }
  const sorted = times.toSorted()
  const growth = bornMs.map((at) =>
    Math.min(GROWTH_MAX, sorted.length / Math.max(1, sorted.length - before(sorted, at))),
  )
  const present = shares.slice()
  grow(present, growth)
  return { bornMs, growth, shares: present }
}

/** Number of times before an instant. */
function before(sorted: Float64Array, atMs: number): number {
  let [low, high] = [0, sorted.length]
  while (low < high) {
    const middle = (low + high) >>> 1
    if ((sorted[middle] ?? 0) < atMs) low = middle + 1
    else high = middle
  }
  return low
}

/**
 * In place: converts the sums of the classes over the whole time to current ones. The total is unchanged, and so are
 * the entries after the classes.
 */
export function grow(sums: Float64Array, growth: Float64Array): void {
  let [was, is] = [0, 0]
  for (const [c, times] of growth.entries()) {
    was += sums[c] ?? 0
    sums[c] = (sums[c] ?? 0) * times
    is += sums[c] ?? 0
  }
  if (is === 0) return
  for (let c = 0; c < growth.length; c++) sums[c] = ((sums[c] ?? 0) * was) / is
}
