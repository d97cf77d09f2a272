import type { Period } from '../../../figures/period.js'
import { type Spread, spreadOf } from '../../../figures/spread.js'
import type { UsageRow } from '../../../figures/usage.js'
import { readUsage } from '../../api/usage.js'

export interface PoolFigures {
  /** A row per pool, small groups together; null where too few people are behind all of them. */
  readonly pools: readonly UsageRow[] | null
  readonly spread: Spread | null
  /** The time of the weights, per month; null: there were none. */
  readonly weights: readonly { readonly from: string; readonly asOf: string | null }[]
}

const PAGES_MAX = 5

/** What went to pools in a period, and how a report spreads it: three reports as of one instant. */
export async function readPools({ fromMs, toMs }: Period, zone: string, signal: AbortSignal): Promise<PoolFigures> {
  const span = { from: new Date(fromMs).toISOString(), to: new Date(toMs).toISOString(), time_zone: zone }
  const inPools = await readUsage({ ...span, group_by: 'pool', 'filter[pool][ne]': '' }, signal)
  const question = { ...span, as_of: inPools.scope.as_of, group_by: 'service', sort: '-cost_usd' }
  const [plain, allocated] = await Promise.all([
    readUsage(question, signal, PAGES_MAX),
    readUsage({ ...question, allocate: 'true' }, signal, PAGES_MAX),
  ])
  const { allocation_weights: weights = [], not_spread_usd: notSpread } = allocated.scope
  const total = inPools.scope.total_cost_usd
  return {
    pools: inPools.suppressed === undefined ? inPools.rows : null,
    spread: inPools.suppressed === undefined ? spreadOf(total, notSpread ?? total, plain.rows, allocated.rows) : null,
    weights: weights.map(({ from, as_of: asOf }) => ({ from, asOf })),
  }
}
