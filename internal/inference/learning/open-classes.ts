import type { EventFacts } from './features.js'
import { indices, lookOf } from './known-classes.js'
import { fitRegression, zeroModel } from './logistic-regression.js'
import { compact } from './sparse-rows.js'

/**
 * Classes that only overrides have named. The few events that a person looked at say how the traffic that belongs to no known
 * class divides among them; how much of the traffic that is, is estimated from all of it. So a class of few examples never
 * competes with the known classes for all traffic.
 */
export interface OpenClasses {
  readonly slots: Uint32Array
  /** Row-major: one row per slot, one column per open class. Logits against "none of the classes". */
  readonly weights: Float64Array
  readonly intercepts: Float64Array
}

/** Few examples: only what separates them clearly counts. */
const PENALTY = 3
const OPTIONS = { penalty: PENALTY, iterationsMax: 40, tolerance: 1e-5 } as const

/**
 * @param audited events that an override assigned to no known class
 * @param label the index of the open class, or `classes` for another one
 */
export function learnOpenClasses(
  audited: readonly EventFacts[],
  label: readonly number[],
  classes: number,
): OpenClasses | undefined {
  if (classes === 0) return undefined
  const columns = classes + 1
  const { columns: slots, rows } = compact(lookOf(audited))
  // One more event, with nothing of its own, is of none of the classes: there may be more than people have seen.
  const fitted = fitRegression(
    {
      rows: { ...rows, count: rows.count + 1, starts: Uint32Array.from([...rows.starts, rows.starts.at(-1) ?? 0]) },
      row: indices(audited.length + 1),
      label: Uint16Array.from([...label, classes]),
      weight: new Float64Array(audited.length + 1).fill(1),
    },
    zeroModel(columns, slots.length),
    OPTIONS,
  ).parameters
  const against = (row: number): number[] =>
    Array.from({ length: classes }, (_, c) => (fitted[row * columns + c] ?? 0) - (fitted[row * columns + classes] ?? 0))
  return {
    slots,
    weights: Float64Array.from([...slots.keys()].flatMap((place) => against(place + 1))),
    intercepts: Float64Array.from(against(0)),
  }
}
