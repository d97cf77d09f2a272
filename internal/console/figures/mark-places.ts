import { intervalAt } from './axis.js'
import type { Mark } from './marks.js'

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
