import { BUDGET_CROSSINGS, BUDGETS } from '../../streams/buckets.js'
import type { Broker } from '../broker/connect.js'
import { watchRecords } from '../broker/watched-records.js'
import type { Route } from '../http/route.js'
import type { Records } from '../store/queries/records/open-records.js'
import { observedSources, seenLayers, withNewestCalls } from '../store/queries/reports/coverage.js'
import { listGroups, spendOf, topGroups } from '../store/queries/reports/spend.js'
import { type AnomalyRoutesDeps, anomalyRoutes } from './anomalies/anomaly-routes.js'
import type { StoredBudget } from './budgets/budget.js'
import { type BudgetRoutesDeps, budgetRoutes } from './budgets/budget-routes.js'
import type { StoredCrossings } from './budgets/crossings.js'
import { type CoverageReads, coverageRoutes, readCoverage } from './coverage/coverage-routes.js'

export interface SentinelRoutesDeps
  extends Omit<BudgetRoutesDeps, 'budgets' | 'crossings' | 'ask'>,
    Pick<AnomalyRoutesDeps, 'listEvents' | 'keptDays'> {
  readonly broker: Broker
  readonly records: Pick<Records, 'ask'>
  /** The sources in a tenant's directory. */
  readonly sourcesOf: CoverageReads['sourcesOf']
  /** Telemetry of a tenant that became no records in the last 24 hours. */
  readonly passedOverOf: CoverageReads['passedOver']
  /** Called once when a KV watch is lost. */
  readonly onLost: (cause: unknown) => void
}

/** The routes of budgets, coverage and anomalies, which the sentinel watches. */
export async function openSentinelRoutes(deps: SentinelRoutesDeps): Promise<readonly Route[]> {
  const { broker, records, sourcesOf, passedOverOf, onLost } = deps
  const budgets = await watchRecords<StoredBudget>(await broker.bucket(BUDGETS), onLost)
  const crossings = await watchRecords<StoredCrossings>(await broker.bucket(BUDGET_CROSSINGS), onLost)
  return [
    ...coverageRoutes({
      ...deps,
      read: (tenantId, nowMs, signal) =>
        records.ask(tenantId, signal, (reader) => {
          const reads: CoverageReads = {
            seen: async (...question) =>
              withNewestCalls(reader, tenantId, await seenLayers(reader, ...question), signal),
            observed: (...question) => observedSources(reader, ...question),
            sourcesOf,
            passedOver: passedOverOf,
          }
          return readCoverage(tenantId, nowMs, reads, signal)
        }),
    }),
    ...anomalyRoutes(deps),
    ...budgetRoutes({
      ...deps,
      budgets,
      crossings,
      ask: (tenantId, signal, question) =>
        records.ask(tenantId, signal, (reader) =>
          question({
            spend: (selections) => spendOf(reader, tenantId, selections, signal),
            topGroups: (selection, window, limit) => topGroups(reader, tenantId, selection, window, limit, signal),
            listGroups: (snapshotMs, selection, page) =>
              listGroups(reader, tenantId, snapshotMs, selection, page, signal),
          }),
        ),
    }),
  ]
}
