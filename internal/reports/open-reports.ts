import type { Route } from '../http/route.js'
import { LimiterPerKey } from '../process/limiter.js'
import { connectStore, type StoreConnection } from '../store/client.js'
import { findSpreadWeights } from '../store/queries/attribution/allocation-weights.js'
import { findPricedKinds } from '../store/queries/prices/priced-kinds.js'
import { hasClosedIn, readAnswer, readStaged, stageAnswer } from '../store/queries/reports/answer.js'
import { isFlat, readFlatAnswer } from '../store/queries/reports/flat-answer.js'
import { countHoldingFilters, holdingKey } from '../store/queries/reports/holding-filters.js'
import { PRICED_BASES } from '../valuation/cost/unit-prices.js'
import { changesRoute } from './changes-routes.js'
import type { Prices } from './priced-figures.js'
import type { ReportReads } from './report.js'
import { type ReportRoutesDeps, reportRoutes } from './report-routes.js'
import { SharedReads } from './shared-reads.js'

export interface OpenReportsDeps extends Omit<ReportRoutesDeps, 'reads' | 'inTurn' | 'prices'> {
  readonly prices: Omit<Prices, 'pricedKinds'>
  readonly storeConnection: StoreConnection
}

export interface OpenReports {
  readonly routes: readonly Route[]
  close(): Promise<void>
}

/** Reports of a tenant that run at a time. */
const RUNNING_MAX = 2
/** Reports of a tenant that wait, and for how long, before they are refused. */
const WAIT = { waitingMax: 16, waitMsMax: 10_000 } as const
/** Of all tenants together. */
const CONNECTIONS_MAX = 8
/** ClickHouse is silent until it has grouped and sorted everything. */
const SILENCE_MS_MAX = 130_000

/** The routes of reports, and the connections over which they are read. */
export function openReports(deps: OpenReportsDeps): OpenReports {
  const store = connectStore({
    ...deps.storeConnection,
    connectionsMax: CONNECTIONS_MAX,
    silenceMsMax: SILENCE_MS_MAX,
  })
  const reports = new LimiterPerKey(RUNNING_MAX)
  const holding = new SharedReads<number>(deps.clock)
  const closed = new SharedReads<boolean>(deps.clock)
  const reads: ReportReads = {
    weights: (...asked) => findSpreadWeights(store, ...asked),
    holdingFilters: (scope, groupBy, k, signal) =>
      holding.read(holdingKey(scope, groupBy, k), signal, (own) => countHoldingFilters(store, scope, groupBy, k, own)),
    hasClosed: (of, signal) =>
      closed.read(JSON.stringify([of.tenantId, of.snapshotMs, of.fromMs, of.toMs]), signal, (own) =>
        hasClosedIn(store, of, own),
      ),
    read: (query, limit, signal) => (isFlat(query) ? readFlatAnswer : readAnswer)(store, query, limit, signal),
    stage: (query, signal) => stageAnswer(store, query, signal),
    readStaged: (...asked) => readStaged(store, ...asked),
  }
  const inTurn: ReportRoutesDeps['inTurn'] = (tenantId, signal, task) =>
    reports.tryRun(tenantId, task, { ...WAIT, signal })
  const prices: Prices = {
    ...deps.prices,
    pricedKinds: (of, signal) => findPricedKinds(store, of, PRICED_BASES, signal),
  }
  const all: ReportRoutesDeps = { ...deps, reads, inTurn, prices }
  return { routes: [...reportRoutes(all), changesRoute(all)], close: () => store.close() }
}
