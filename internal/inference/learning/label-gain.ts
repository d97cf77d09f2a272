import type { Examples, Labelled } from './examples.js'
import { gainInErrorsOf, identityLogs, type LabelledExamples, learnKnownClasses } from './known-classes.js'
import { labelledExamples, sharesOf } from './taught-examples.js'
import { asStageBMeetsIt, type DirectoryFacts } from './views.js'

/** Number of later events of others from which they say something of the labels. */
const LATER_OTHERS_MIN = 20

/** What later labels of the one class gain, in standard errors: against all others together, each of which has too few events to be a class. */
export function labelGainOfOne(
  { resolved }: Examples,
  placeOf: ReadonlyMap<number, number>,
  later: readonly Labelled[],
  directory: DirectoryFacts,
): number | undefined {
  const bothOf = (events: readonly Labelled[]): LabelledExamples =>
    labelledExamples(
      events.map(({ facts, label }) => ({
        facts: asStageBMeetsIt(facts, directory),
        label: placeOf.has(label) ? 0 : 1,
        weight: 1,
      })),
    )
  if (later.filter(({ label }) => !placeOf.has(label)).length < LATER_OTHERS_MIN) return undefined
  const taught = bothOf(resolved)
  const known = learnKnownClasses(taught, 2, () => 1)
  return gainInErrorsOf(known, identityLogs(taught, 2), bothOf(later), sharesOf(taught, 2))
}
