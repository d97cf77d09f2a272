/**
 * Allocated reports: what cost pools hold is spread over those who caused the rest, by stage C's weights (design
 * sections 5 and 6). Amounts are: cost, energy, carbon. What cannot be parted stays: calls, tokens and people.
 *
 * What leaves a pool is a row of another answer, of the pools alone, that could be asked for by itself; so that an
 * allocated answer, and its difference to the other one, tells nothing that answers without pools spread do not tell.
 */

import type { Row, Sums } from '../cohorts/rows.js'
import { WEIGHT_PARTS, type Weight } from '../records/allocation-weights.js'

/** How sums are spread. */
export interface Spreading<M> {
  /** Of a sum's amounts, exactly: the shares sum to them. @param portions of `WEIGHT_PARTS`, and together as many */
  shares(sum: M, portions: readonly bigint[]): readonly M[]
  /** A sum less the amounts of a part of it. */
  lessAmounts(sum: M, part: M): M
}

/** Dimensions, by their place in a cell's values. */
export interface SpreadPlaces {
  readonly owner: number
  readonly service: number
  /** Of the answer's rows. */
  readonly groupBy: readonly number[]
  /** Of the pools' rows: those of the answer, and owner and service. */
  readonly poolsBy: readonly number[]
}

/** Values by dimension; of others undefined. */
type Values = readonly (string | undefined)[]

/** Rows that spreading may work out at most, of which it then makes fewer. */
export const SHARES_MAX = 200_000

/**
 * @param rows of the answer, nothing spread
 * @param pools what may be told of pools, with the filters of the answer but those on owner and service; folded rows of
 *   it stay where they are
 * @param weights of those who get a part; what they leave of 1 stays
 * @param isHeld whether the answer's filters on owner and service hold values
 */
export function spreadPools<M>(
  rows: readonly Row<M>[],
  pools: readonly Row<M>[],
  weights: readonly Weight[],
  { owner, service, groupBy, poolsBy }: SpreadPlaces,
  isHeld: (values: Values) => boolean,
  sums: Sums<M> & Spreading<M>,
): Row<M>[] {
  const spread = [...rows]
  const places = new Map<string, number>()
  for (const [place, { leaves }] of rows.entries()) {
    for (const leaf of leaves) places.set(JSON.stringify(leaf), place)
  }
  /** Changes the row that has the values, or makes one. */
  const change = (values: Values, changed: (sum: M) => M): void => {
    if (!isHeld(values)) return
    const leaf = groupBy.map((dimension) => values[dimension] ?? '')
    const key = JSON.stringify(leaf)
    const place = places.get(key) ?? spread.length
    places.set(key, place)
    const row = spread[place] ?? { values: leaf, leaves: [leaf], isFolded: false, sum: sums.none }
    spread[place] = { ...row, sum: changed(row.sum) }
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
