import { intervalAt } from './axis.js'

/** What happened at an instant that a chart covers. */
export interface Mark {
  readonly atMs: number
  readonly kind: 'annotation' | 'anomaly' | 'budget' | 'price book'
  readonly text: string
  /** An address of the console with more about it. */
  readonly href?: string
}

/** The marks of each interval that has some, in the order of their times. */
export function marksByInterval(
  marks: readonly Mark[],
  startsMs: readonly number[],
  toMs: number,
): ReadonlyMap<number, readonly Mark[]> {
  const placed = new Map<number, Mark[]>()
  for (const mark of [...marks].sort((one, other) => one.atMs - other.atMs)) {
    const at = intervalAt(startsMs, toMs, mark.atMs)
    if (at !== undefined) placed.set(at, [...(placed.get(at) ?? []), mark])
  }
  return placed
}
