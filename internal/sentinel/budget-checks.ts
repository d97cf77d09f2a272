import type { ClickHouseClient } from '@clickhouse/client'
import { BUDGET_CROSSINGS, BUDGETS } from '../../streams/buckets.js'
import { settingsOf, type Tenant } from '../auth/tenant.js'
import type { Broker } from '../broker/connect.js'
import { watchRecords } from '../broker/watched-records.js'
import type { Watermark } from '../broker/watermark.js'
import { exactGroupSpendOf, exactSpendOf, groupsAbove, spendOf } from '../store/queries/reports/spend.js'
import type { AnnounceDeps } from './announce-findings.js'
import { readBudget, type StoredBudget } from './budgets/budget.js'
import type { StoredCrossings } from './budgets/crossings.js'
import { type BudgetReads, LATE_MS, watchBudgets } from './watch-budgets.js'

/** Of every tenant, in rounds. */
export interface Check {
  readonly what: string
  readonly everyMs: number
  readonly check: (tenantId: string) => Promise<void>
}

export interface BudgetChecksDeps {
  readonly broker: Pick<Broker, 'bucket'>
  readonly store: ClickHouseClient
  readonly watermark: Pick<Watermark, 'renewed' | 'progress'>
  readonly findTenant: (tenantId: string) => Tenant | undefined
  readonly budgetsEveryMs: number
  /** Called once when a KV watch is lost. */
  readonly onLost: (cause: unknown) => void
  readonly clock: () => number
}

const CROSSINGS_EVERY_MS = 60 * 60 * 1000
/** A check that finds nothing changed is left out, but not for longer. */
const UNCHANGED_MS_MAX = 60_000

/** The checks of budgets, which emit events, and of the crossings that are kept for them. */
export async function openBudgetChecks(
  { broker, store, watermark, findTenant, budgetsEveryMs, onLost, clock }: BudgetChecksDeps,
  announcing: AnnounceDeps,
): Promise<readonly Check[]> {
  let budgetChanges = 0
  const budgets = await watchRecords<StoredBudget>(await broker.bucket(BUDGETS), onLost, () => budgetChanges++)
  const crossings = await watchRecords<StoredCrossings>(await broker.bucket(BUDGET_CROSSINGS), onLost)
  const reads: BudgetReads = {
    spend: (...question) => spendOf(store, ...question),
    groupsAbove: (...question) => groupsAbove(store, ...question),
    exactSpend: async (tenantId, selection) =>
      exactSpendOf(store, tenantId, await watermark.renewed(), selection, selection.filter),
    exactGroupSpend: async (tenantId, selection, groups) =>
      exactGroupSpendOf(store, tenantId, await watermark.renewed(), selection, groups),
  }
  return [
    {
      what: 'budgets',
      everyMs: budgetsEveryMs,
      check: whenChanged(
        () => `${watermark.progress()} ${budgetChanges}`,
        clock,
        async (tenantId) => {
          const { time_zone: zone } = settingsOf(findTenant(tenantId))
          const read = Array.from(budgets.of(tenantId), (budget) => readBudget(budget, zone))
          await watchBudgets(tenantId, read, reads, { ...announcing, crossings })
        },
      ),
    },
    {
      what: 'budget crossings',
      everyMs: CROSSINGS_EVERY_MS,
      async check(tenantId) {
        const past = Array.from(crossings.of(tenantId)).filter(({ to_ms }) => clock() > to_ms + 2 * LATE_MS)
        for (const { key } of past) await crossings.delete(key)
      },
    },
  ]
}

/**
 * Leaves out a check of a tenant if nothing has changed since the start of its last one, so that an idle instance asks
 * nothing.
 */
function whenChanged(changes: () => string, clock: () => number, check: Check['check']): Check['check'] {
  const checked = new Map<string, { readonly changes: string; readonly atMs: number }>()
  return async (tenantId) => {
    const last = checked.get(tenantId)
    const now = { changes: changes(), atMs: clock() }
    if (last?.changes === now.changes && now.atMs - last.atMs < UNCHANGED_MS_MAX) return
    await check(tenantId)
    checked.set(tenantId, now)
  }
}
