import type { WatchedRecords } from '../broker/watched-records.js'
import type { GroupField } from '../filters/report-dimensions.js'
import type { GroupSelection, SpendSelection, SpendWindow } from '../store/queries/reports/spend.js'
import { formatQuantity, parseSum, type Quantity, quantityOfSteps } from '../units/quantity.js'
import { type AnnounceDeps, announceOnce } from './announce-findings.js'
import { type Budget, budgetOfGroup, reachedThresholds } from './budgets/budget.js'
import { type Period, periodOf } from './budgets/budget-period.js'
import { amountAt, crossingEvent } from './budgets/crossing-event.js'
import {
  type Crossed,
  type Crossing,
  crossedOf,
  groupKey,
  keepCrossings,
  type StoredCrossings,
  WHOLE,
} from './budgets/crossings.js'

export interface BudgetReads {
  /** Cost of calls by selection, from the rollups: one query, fast, and briefly inexact. Decimal texts. */
  readonly spend: (tenantId: string, selections: readonly SpendSelection[]) => Promise<readonly string[]>
  /**
   * Groups whose cost reaches an amount in one of the windows, from the rollups, with their cost in each: one query.
   */
  readonly groupsAbove: (
    tenantId: string,
    selection: GroupSelection,
    windows: readonly (SpendWindow & { readonly atLeastUsd: string })[],
  ) => Promise<readonly { readonly group: string; readonly costsUsd: readonly string[] }[]>
  /** Cost of the calls of a selection, summed from the records as of one instant. */
  readonly exactSpend: (tenantId: string, selection: SpendSelection) => Promise<string>
  /** The same by group; others than the named groups may be returned as well. */
  readonly exactGroupSpend: (
    tenantId: string,
    selection: GroupSelection & SpendWindow,
    groups: readonly string[],
  ) => Promise<readonly { readonly group: string; readonly costUsd: string }[]>
}

export interface WatchBudgetsDeps extends AnnounceDeps {
  readonly crossings: Pick<WatchedRecords<StoredCrossings>, 'get' | 'createOnce' | 'change'>
}

/** How long after its end a period still counts late calls. */
export const LATE_MS = 3 * 24 * 60 * 60 * 1000

/** Groups whose crossings are announced before they are kept. */
const GROUPS_AT_ONCE = 256
/** Groups whose crossings are announced concurrently. */
const ANNOUNCED_AT_ONCE = 16

/**
 * Emits an event for every threshold that a tenant's budgets have reached: once per budget, period, group and
 * threshold, in ascending order. Periods that ended before a budget was created, or its rule changed, are ignored.
 *
 * One query finds what the budgets without groups have spent, and one per budget the groups that may have reached a
 * threshold, however many groups there are. The rollups behind them count a changed record twice for some milliseconds,
 * so that the emitted amount is summed from the records. Whether a threshold was crossed before is known from a copy in
 * memory.
 */
export async function watchBudgets(
  tenantId: string,
  budgets: readonly Budget[],
  reads: BudgetReads,
  deps: WatchBudgetsDeps,
): Promise<void> {
  const nowMs = deps.clock()
  const watched = budgets
    .filter(({ thresholds }) => thresholds.length > 0)
    .map((budget) => ({ budget, periods: watchedPeriods(budget, nowMs) }))
  await watchWhole(
    tenantId,
    watched.filter(({ budget }) => budget.per === undefined),
    reads,
    deps,
  )
  for (const { budget, periods } of watched) {
    const { per } = budget
    if (per !== undefined && periods.length > 0) await watchGroups(tenantId, { ...budget, per }, periods, reads, deps)
  }
}

/** The periods for which a budget emits events: the current one, and those whose late calls still count. */
export function watchedPeriods(
  { period: kind, zone, countsSinceMs }: Pick<Budget, 'period' | 'zone' | 'countsSinceMs'>,
  nowMs: number,
): Period[] {
  const periods: Period[] = []
  for (let atMs = nowMs - LATE_MS; atMs <= nowMs; ) {
    const period = periodOf(kind, zone, atMs)
    if (period.toMs > countsSinceMs) periods.push(period)
    atMs = period.toMs
  }
  return periods
}

interface Watched {
  readonly budget: Budget
  readonly periods: readonly Period[]
}

/** A budget in a period, without groups. */
async function watchWhole(
  tenantId: string,
  watched: readonly Watched[],
  reads: BudgetReads,
  deps: WatchBudgetsDeps,
): Promise<void> {
  const open = watched.flatMap(({ budget, periods }) =>
    periods
      .filter((period) => uncrossed(budget, crossedOf(deps.crossings.get, budget, period, WHOLE)).length > 0)
      .map((period) => ({ budget, period, selection: { filter: budget.filter, ...windowOf(period) } })),
  )
  if (open.length === 0) return
  const spent = await reads.spend(
    tenantId,
    open.map(({ selection }) => selection),
  )
  for (const [i, { budget, period, selection }] of open.entries()) {
    const group = groupOf(budget, period, undefined, deps)
    if (dueThresholds(budget, group, parseSum(spent[i] ?? '0')).length === 0) continue
    const exact = parseSum<'USD'>(await reads.exactSpend(tenantId, selection))
    await keepCrossings(deps.crossings, tenantId, budget, period, await announce(tenantId, budget, group, exact, deps))
  }
}

/** All groups of a budget. */
async function watchGroups(
  tenantId: string,
  budget: Budget & { readonly per: GroupField },
  periods: readonly Period[],
  reads: BudgetReads,
  deps: WatchBudgetsDeps,
): Promise<void> {
  const selection = { filter: budget.filter, per: budget.per }
  const atLeastUsd = formatQuantity(leastAmount(budget))
  const found = await reads.groupsAbove(
    tenantId,
    selection,
    periods.map((period) => ({ ...windowOf(period), atLeastUsd })),
  )
  for (const [i, period] of periods.entries()) {
    const due = found.flatMap(({ group: value, costsUsd }) => {
      const group = groupOf(budget, period, value, deps)
      return dueThresholds(budgetOfGroup(budget, value), group, parseSum(costsUsd[i] ?? '0')).length > 0 ? [group] : []
    })
    if (due.length === 0) continue
    const values = due.map(({ value }) => value ?? '')
    const spent = await reads.exactGroupSpend(tenantId, { ...selection, ...windowOf(period) }, values)
    const costs = new Map(spent.map(({ group, costUsd }) => [group, parseSum<'USD'>(costUsd)]))
    for (let at = 0; at < due.length; at += GROUPS_AT_ONCE) {
      const groups = due.slice(at, at + GROUPS_AT_ONCE)
      const crossings = await concurrently(groups, ANNOUNCED_AT_ONCE, (group) => {
        const value = group.value ?? ''
        return announce(tenantId, budgetOfGroup(budget, value), group, costs.get(value) ?? quantityOfSteps(0n), deps)
      })
      await keepCrossings(deps.crossings, tenantId, budget, period, crossings.flat())
    }
  }
}

/** The least cost with which some group reaches a threshold. */
function leastAmount(budget: Budget): Quantity<'USD'> {
  let least = budget
  for (const value of Object.keys(budget.groupCeilings)) {
    const own = budgetOfGroup(budget, value)
    if (own.ceiling < least.ceiling) least = own
  }
  return amountAt(least, budget.thresholds[0] ?? 0)
}

/** A group of a budget in a period; the only one of a budget without groups has no value. */
interface Group {
  readonly key: string
  readonly value: string | undefined
  readonly period: Period
  readonly crossed: Crossed
}

function groupOf(budget: Budget, period: Period, value: string | undefined, deps: WatchBudgetsDeps): Group {
  const key = budget.per === undefined || value === undefined ? WHOLE : groupKey(budget.per, value)
  return { key, value, period, crossed: crossedOf(deps.crossings.get, budget, period, key) }
}

const windowOf = ({ fromMs, toMs }: Period): SpendWindow => ({ fromMs, toMs })

const uncrossed = ({ thresholds }: Budget, crossed: Crossed): number[] =>
  thresholds.filter((percent) => crossed[percent] === undefined)

/** Thresholds that are reached and were not crossed before, ascending. */
const dueThresholds = (budget: Budget, { crossed }: Group, spent: Quantity<'USD'>): number[] =>
  reachedThresholds(spent, { ...budget, thresholds: uncrossed(budget, crossed) })

/** Emits the events that are due, one after the other. @returns the crossings, to be kept */
async function announce(
  tenantId: string,
  budget: Budget,
  group: Group,
  spent: Quantity<'USD'>,
  deps: WatchBudgetsDeps,
): Promise<Crossing[]> {
  const crossings: Crossing[] = []
  for (const threshold of dueThresholds(budget, group, spent)) {
    const ofGroup = group.key === WHOLE ? '' : `.${group.key}`
    const key = `${budget.id}.${group.period.name}${ofGroup}.${threshold}`
    const event = () => crossingEvent(tenantId, { budget, threshold, spent, group: group.value, cause: key })
    crossings.push({ group: group.key, threshold, atMs: await announceOnce(key, async () => event(), deps) })
  }
  return crossings
}

/** Results in the order of the items; at most `most` at a time. */
async function concurrently<T, R>(items: readonly T[], most: number, work: (item: T) => Promise<R>): Promise<R[]> {
  const results: R[] = []
  let next = 0
  const worker = async (): Promise<void> => {
    for (let at = next++; at < items.length; at = next++) results[at] = await work(items[at] as T)
  }
  await Promise.all(Array.from({ length: Math.min(most, items.length) }, worker))
  return results
}
