import { type Labelled, seededShare } from './examples.js'
import type { EventFacts } from './features.js'
import type { LabelledExamples } from './known-classes.js'
import { asUnresolved, type DirectoryFacts } from './views.js'

/** An event that a class is learned from, as it would have reached the inference stage. */
export interface TrainingExample {
  readonly facts: EventFacts
  readonly label: number
  readonly weight: number
}

export const labelledExamples = (list: readonly TrainingExample[]): LabelledExamples => ({
  facts: list.map(({ facts }) => facts),
  label: Uint16Array.from(list, ({ label }) => label),
  weight: Float64Array.from(list, ({ weight }) => weight),
})

export const asServed = (
  events: readonly Labelled[],
  placeOf: ReadonlyMap<number, number>,
  directory: DirectoryFacts,
): TrainingExample[] =>
  events.flatMap(({ facts, label }) => {
    const place = placeOf.get(label)
    return place === undefined ? [] : [{ facts: asUnresolved(facts, directory), label: place, weight: 1 }]
  })

/**
 * Above this number, labelled events are sampled, with lower rates for frequent classes: some hundreds of events
 * describe a class.
 */
const LABELLED_MAX = 40_000

/** At most `LABELLED_MAX` of the events whose classes are known, weighted so that each class keeps its share. */
export function sampled(
  events: readonly Labelled[],
  placeOf: ReadonlyMap<number, number>,
  directory: DirectoryFacts,
  seed: number,
): TrainingExample[] {
  const all = asServed(events, placeOf, directory)
  if (all.length <= LABELLED_MAX) return all
  const counts = new Float64Array(placeOf.size)
  for (const { label } of all) counts[label] = (counts[label] ?? 0) + 1
  let most = LABELLED_MAX
  const total = (): number => counts.reduce((sum, count) => sum + Math.min(count, most), 0)
  while (total() > LABELLED_MAX) most *= 0.9
  return all.flatMap((one, i) => {
    const rate = Math.min(1, most / (counts[one.label] ?? 1))
    return seededShare(seed + 3, i) < rate ? [{ ...one, weight: 1 / rate }] : []
  })
}

export function sharesOf({ label, weight }: LabelledExamples, classes: number): Float64Array {
  const shares = new Float64Array(classes)
  let total = 0
  for (const [i, c] of label.entries()) {
    shares[c] = (shares[c] ?? 0) + (weight[i] ?? 0)
    total += weight[i] ?? 0
  }
  return shares.map((share) => share / total)
}
