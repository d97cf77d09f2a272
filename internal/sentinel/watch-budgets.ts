import { ExactNumber } from '../events/exact-json.js'
import type { Spend } from '../store/queries/reports/spend.js'
import { formatQuantity, parseSum, type Quantity, sum } from '../units/quantity.js'
import { type AnnounceDeps, announceOnce, isAnnounced } from './announce.js'
import { type BudgetFilter, ceilingOf, countsSinceMs, reachedThresholds, type StoredBudget } from './budgets/budget.js'

export interface BudgetReads {
  /** Cost of a tenant's calls in a period by owner, service and provider, from the rollups: fast, and briefly inexact. */
  readonly spend: (tenantId: string, fromMs: number, toMs: number) => Promise<Spend[]>
  /** Cost of the calls that match a filter, summed from the records as of one instant. */
  readonly exactSpend: (tenantId: string, fromMs: number, toMs: number, filter: BudgetFilter) => Promise<string>
}

/** How long into the next month late calls are still counted for the month in which they were made. */
const LATE_MS = 3 * 24 * 60 * 60 * 1000

/**
 * Emits `budget.threshold.crossed` for every threshold that a tenant's budgets have reached: once per budget, month and
 * threshold, in ascending order. Months that ended before a budget was created, or its ceiling or filter changed, are ignored.
 *
 * The rollups select candidates. They count a changed record twice for some milliseconds, so that the emitted amount is
 * summed from the records.
 */
export async function watchBudgets(
  tenantId: string,
  budgets: readonly StoredBudget[],
  reads: BudgetReads,
  deps: AnnounceDeps,
): Promise<void> {
  const nowMs = deps.clock()
  const months = [...new Set([monthOf(nowMs - LATE_MS), monthOf(nowMs)].map((month) => JSON.stringify(month)))]
  for (const month of months) {
    const { fromMs, toMs, name } = JSON.parse(month) as Month
    const counting = budgets.filter((budget) => countsSinceMs(budget) < toMs)
    if (counting.length === 0) continue
    const spend = await reads.spend(tenantId, fromMs, toMs)
    for (const budget of counting) {
      const ceiling = ceilingOf(budget)
      const seen = sum(spend.filter((each) => isMatch(each, budget.filter)).map(costOf))
      let exact: Quantity<'USD'> | undefined
      for (const threshold of reachedThresholds(seen, ceiling)) {
        const key = `${budget.id}.${name}.${threshold}`
        if (await isAnnounced(key, deps)) continue
        exact ??= parseSum(await reads.exactSpend(tenantId, fromMs, toMs, budget.filter))
        const spent = exact
        if (!reachedThresholds(spent, ceiling).includes(threshold)) break
        await announceOnce(
          key,
          async () => ({
            tenantId,
            type: 'budget.threshold.crossed',
            cause: key,
            data: {
              budget_id: budget.id,
              threshold,
              period_to_date_usd: new ExactNumber(formatQuantity(spent)),
              ceiling_usd: new ExactNumber(formatQuantity(ceiling)),
            },
          }),
          deps,
        )
      }
    }
  }
}

interface Month {
  readonly fromMs: number
  readonly toMs: number
  /** `YYYY-MM` */
  readonly name: string
}

/** The UTC month of an instant. */
function monthOf(ms: number): Month {
  const date = new Date(ms)
  const [year, month] = [date.getUTCFullYear(), date.getUTCMonth()]
  return { fromMs: Date.UTC(year, month), toMs: Date.UTC(year, month + 1), name: date.toISOString().slice(0, 7) }
}

const isMatch = (spend: Spend, { owner, service, provider }: BudgetFilter): boolean =>
  (owner === undefined || spend.owner === owner) &&
  (service === undefined || spend.service === service) &&
  (provider === undefined || spend.provider === provider)

const costOf = ({ costUsd }: Spend): Quantity<'USD'> => parseSum(costUsd)
