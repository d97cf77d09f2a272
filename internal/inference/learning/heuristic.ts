import type { ClassLabel } from './model.js'

/** The fail-open baseline: the most frequent class of the same trace, else of the same principal. */
export interface Heuristic {
  readonly byTrace: ReadonlyMap<string, HeuristicGuess>
  readonly byPrincipal: ReadonlyMap<string, HeuristicGuess>
}

export interface HeuristicGuess {
  readonly label: ClassLabel
  /** Share of the label among the labelled events of the trace or principal, 0 to 1; confidence is capped at 0.60. */
  readonly share: number
}

export const HEURISTIC_CONFIDENCE_MAX = 6_000

/** The facts that the heuristic uses. */
export interface Correlated {
  readonly traceId?: string | undefined
  readonly principal: string
}

/** Counts labelled events; ties go to the label that sorts first. */
export function learnHeuristic(labelled: Iterable<Correlated & { readonly label: ClassLabel }>): Heuristic {
  const traces = new Tallies()
  const principals = new Tallies()
  for (const { traceId, principal, label } of labelled) {
    if (traceId !== undefined) traces.count(traceId, label)
    principals.count(principal, label)
  }
  return { byTrace: traces.guesses(), byPrincipal: principals.guesses() }
}

export const guessByHeuristic = (
  heuristic: Heuristic,
  { traceId, principal }: Correlated,
): HeuristicGuess | undefined =>
  (traceId === undefined ? undefined : heuristic.byTrace.get(traceId)) ?? heuristic.byPrincipal.get(principal)

class Tallies {
  readonly #counts = new Map<string, Map<string, { label: ClassLabel; count: number }>>()

  count(group: string, label: ClassLabel): void {
    const key = JSON.stringify([label.service, label.owner])
    const classes = this.#counts.get(group) ?? new Map<string, { label: ClassLabel; count: number }>()
    this.#counts.set(group, classes)
    const entry = classes.get(key)
    if (entry === undefined) classes.set(key, { label, count: 1 })
    else entry.count++
  }

  guesses(): Map<string, HeuristicGuess> {
    return new Map([...this.#counts].map(([group, classes]) => [group, mostFrequent(classes)]))
  }
}

function mostFrequent(classes: ReadonlyMap<string, { readonly label: ClassLabel; readonly count: number }>) {
  const sorted = [...classes].sort(
    ([oneKey, one], [otherKey, other]) => other.count - one.count || (oneKey < otherKey ? -1 : 1),
  )
  const total = sorted.reduce((sum, [, { count }]) => sum + count, 0)
  const [, { label, count }] = sorted[0] as (typeof sorted)[number]
  return { label, share: count / total }
}
