import type { GroupSelection, GroupSpend, SpendSelection, SpendWindow } from '../../store/queries/reports/spend.js'
import { parseSum, type Quantity } from '../../units/quantity.js'
import { type Budget, budgetOfGroup } from './budget.js'
import type { ShownCrossing, ShownGroup, ShownPeriod } from './budget-contract.js'
import { figuresOf } from './budget-figures.js'
import { type Period, periodOf } from './budget-period.js'
import { type Crossed, crossedOf, groupKey, partsOf, type StoredCrossings, WHOLE } from './crossings.js'

/** A budget's figures of its current period. */

export interface CurrentReads {
  /** Cost of calls by selection: one query. Decimal texts. */
  readonly spend: (selections: readonly SpendSelection[]) => Promise<readonly string[]>
  /** The groups that cost most, and the number and cost of all: one query. */
  readonly topGroups: (
    selection: GroupSelection,
    window: SpendWindow,
    limit: number,
  ) => Promise<{ readonly count: number; readonly costUsd: string; readonly top: readonly GroupSpend[] }>
  readonly crossingsAt: (key: string) => StoredCrossings | undefined
}

/** Groups shown with a budget. */
const TOP_MAX = 10

/**
 * The current periods of budgets, in their order: one query for those without groups together, and one for each other.
 */
export async function currentPeriods(
  budgets: readonly Budget[],
  reads: CurrentReads,
  nowMs: number,
): Promise<ShownPeriod[]> {
  const periods = budgets.map(({ period, zone }) => periodOf(period, zone, nowMs))
  const whole = budgets.flatMap(({ per, filter }, i) => {
    const period = periods[i]
    return per === undefined && period !== undefined ? [{ i, filter, ...windowOf(period) }] : []
  })
  const spent = new Map((whole.length === 0 ? [] : await reads.spend(whole)).map((cost, at) => [whole[at]?.i, cost]))
  const shown: ShownPeriod[] = []
  for (const [i, budget] of budgets.entries()) {
    const period = periods[i] as Period
    const { per } = budget
    shown.push(
      per === undefined
        ? shownWhole(budget, period, parseSum(spent.get(i) ?? '0'), reads, nowMs)
        : await shownGrouped({ ...budget, per }, period, reads, nowMs),
    )
  }
  return shown
}

const windowOf = ({ fromMs, toMs }: Period): SpendWindow => ({ fromMs, toMs })

const edges = ({ fromMs, toMs }: Period, nowMs: number) => ({
  from: timeOf(fromMs),
  to: timeOf(toMs),
  as_of: timeOf(nowMs),
})
const timeOf = (ms: number): string => new Date(ms).toISOString()

function shownWhole(
  budget: Budget,
  period: Period,
  spent: Quantity<'USD'>,
  { crossingsAt }: CurrentReads,
  nowMs: number,
): ShownPeriod {
  return {
    ...edges(period, nowMs),
    ...figuresOf(spent, budget.ceiling, period, nowMs),
    crossings: shownCrossings(budget, crossedOf(crossingsAt, budget, period, WHOLE)),
  }
}

async function shownGrouped(
  budget: GroupedBudget,
  period: Period,
  reads: CurrentReads,
  nowMs: number,
): Promise<ShownPeriod> {
  const { count, costUsd, top } = await reads.topGroups(budget, windowOf(period), TOP_MAX)
  return {
    ...edges(period, nowMs),
    ...figuresOf(parseSum(costUsd), budget.ceiling, period, nowMs),
    percent: null,
    forecast_percent: null,
    groups: {
      count,
      crossed: crossedCounts(budget, period, reads.crossingsAt),
      top: top.map((each) => shownGroup(budget, period, each, reads.crossingsAt, nowMs)),
    },
  }
}

export type GroupedBudget = Budget & { readonly per: NonNullable<Budget['per']> }

export function shownGroup(
  budget: GroupedBudget,
  period: Period,
  { group, costUsd }: GroupSpend,
  crossingsAt: CurrentReads['crossingsAt'],
  nowMs: number,
): ShownGroup {
  const { ceiling, ceilingText } = budgetOfGroup(budget, group)
  const crossed = crossedOf(crossingsAt, budget, period, groupKey(budget.per, group))
  return {
    value: group,
    ceiling_usd: ceilingText,
    ...figuresOf(parseSum(costUsd), ceiling, period, nowMs),
    crossings: shownCrossings(budget, crossed),
  }
}

const shownCrossings = ({ thresholds }: Budget, crossed: Crossed): ShownCrossing[] =>
  thresholds.map((threshold) => {
    const atMs = crossed[threshold]
    return { threshold, crossed_at: atMs === undefined ? null : timeOf(atMs) }
  })

function crossedCounts(budget: GroupedBudget, period: Period, crossingsAt: CurrentReads['crossingsAt']) {
  const all = partsOf(budget, budget.per, period).flatMap((key) => Object.values(crossingsAt(key)?.crossed ?? {}))
  return budget.thresholds.map((threshold) => ({
    threshold,
    count: all.filter((crossed) => crossed[threshold] !== undefined).length,
  }))
}
