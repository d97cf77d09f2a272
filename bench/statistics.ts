/** What repeated measurements say: the extremes and the middle, never a mean, which one disturbed repeat would move. */
export interface Spread {
  readonly min: number
  readonly median: number
  readonly max: number
}

/** @param values one a repeat, at least one */
export function spread(values: readonly number[]): Spread {
  const sorted = values.toSorted((one, other) => one - other)
  const at = (i: number): number => sorted[i] ?? Number.NaN
  const middle = (sorted.length - 1) / 2
  return { min: at(0), median: (at(Math.floor(middle)) + at(Math.ceil(middle))) / 2, max: at(sorted.length - 1) }
}

/** Spread of the quotients of neighbours: what disturbs the machine for longer than a repeat disturbs both alike. */
export const pairedRatio = (numerators: readonly number[], denominators: readonly number[]): Spread =>
  spread(numerators.map((numerator, i) => numerator / (denominators[i] ?? Number.NaN)))

/** The value that a share of the values is below. @param values at least one */
export const quantile = (values: readonly number[], share: number): number =>
  values.toSorted((one, other) => one - other)[Math.min(values.length - 1, Math.floor(values.length * share))] ??
  Number.NaN
