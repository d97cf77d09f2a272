/**
 * Allocated reports: the amounts of cost pools (cost, energy, carbon) are spread over services and owners by stage C's
 * weights (design sections 5 and 6). Calls, tokens and people cannot be split and stay with the pool.
 *
 * The spread amounts are exactly the rows of a report on the pools alone, which could be requested by itself. So an
 * allocated report, and its difference to the unallocated one, reveals nothing that unallocated reports do not.
 */

import type { Row, Sums } from '../cohorts/rows.js'
import { WEIGHT_PARTS, type Weight } from '../records/allocation-weights.js'

/** How the sums of one kind of report are spread. */
export interface Spreading<M> {
  /** Splits the amounts of a sum; the shares add up to them exactly. @param portions add up to `WEIGHT_PARTS` */
  shares(sum: M, portions: readonly bigint[]): readonly M[]
  /** Subtracts the amounts of a part from a sum. */
  lessAmounts(sum: M, part: M): M
}

/** Indexes of dimensions in a cell's values. */
export interface SpreadDimensions {
  readonly owner: number
  readonly service: number
  /** Dimensions of the report's rows. */
  readonly groupBy: readonly number[]
  /** Dimensions of the pools' rows: those of the report, plus owner and service. */
  readonly poolsBy: readonly number[]
}

/** Values by dimension; undefined for dimensions that are not grouped by. */
type Values = readonly (string | undefined)[]

/** Maximum number of shares that spreading may compute. */
export const SHARES_MAX = 200_000

/**
 * @param rows of the report, before spreading
 * @param pools the rows of the pools that may be shown, with all filters of the report except those on owner and service;
 *   folded rows are not spread
 * @param weights of the receivers; the remainder to 1 stays with the pool
 * @param isHeld whether values pass the report's filters on owner and service
 */
export function spreadPools<M>(
  rows: readonly Row<M>[],
  pools: readonly Row<M>[],
  weights: readonly Weight[],
  { owner, service, groupBy, poolsBy }: SpreadDimensions,
  isHeld: (values: Values) => boolean,
  sums: Sums<M> & Spreading<M>,
): Row<M>[] {
  const spread = [...rows]
  const indexOf = new Map<string, number>()
  for (const [index, { leaves }] of rows.entries()) {
    for (const leaf of leaves) indexOf.set(JSON.stringify(leaf), index)
  }
  /** Changes the row with the values, or adds one. */
  const change = (values: Values, changed: (sum: M) => M): void => {
    if (!isHeld(values)) return
    const leaf = groupBy.map((dimension) => values[dimension] ?? '')
    const key = JSON.stringify(leaf)
    const index = indexOf.get(key) ?? spread.length
    indexOf.set(key, index)
    const row = spread[index] ?? { values: leaf, leaves: [leaf], isFolded: false, sum: sums.none }
    spread[index] = { ...row, sum: changed(row.sum) }
  }

  const given = weights.reduce((sum, { parts }) => sum + parts, 0n)
  const portions = [...weights.map(({ parts }) => parts), WEIGHT_PARTS - given]
  for (const pool of pools) {
    if (pool.isFolded) continue
    const own: (string | undefined)[] = []
    for (const [i, dimension] of poolsBy.entries()) own[dimension] = pool.values[i]
    change(own, (sum) => sums.lessAmounts(sum, pool.sum))
    for (const [i, share] of sums.shares(pool.sum, portions).entries()) {
      const to = weights[i]
      const values = to === undefined ? own : own.with(owner, to.owner).with(service, to.service)
      change(values, (sum) => sums.plus(sum, share))
    }
  }
  return spread
}
