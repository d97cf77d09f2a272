import type { ClassLabel } from './model.js'

/** The fail-open baseline: the most frequent class of the same trace, else of the same principal. */
export interface Heuristic {
  readonly byTrace: ReadonlyMap<string, HeuristicGuess>
  readonly byPrincipal: ReadonlyMap<string, HeuristicGuess>
}

export interface HeuristicGuess {
  readonly label: ClassLabel
  /** Share of the labelled events of that trace or principal, 0 to 1; served at no more than 0.60. */
  readonly share: number
}

export const HEURISTIC_CONFIDENCE_MAX = 6_000

/** Counts labelled events; ties go to the label that sorts first. */
export function learnHeuristic(
  _labelled: Iterable<{
    readonly traceId?: string | undefined
    readonly principal: string
    readonly label: ClassLabel
  }>,
): Heuristic {
  throw new Error('not written yet')
}

export const guessByHeuristic = (
  heuristic: Heuristic,
  event: { readonly traceId?: string | undefined; readonly principal: string },
): HeuristicGuess | undefined =>
  (event.traceId === undefined ? undefined : heuristic.byTrace.get(event.traceId)) ??
  heuristic.byPrincipal.get(event.principal)
