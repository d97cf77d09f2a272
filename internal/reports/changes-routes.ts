import type { Caller } from '../auth/authenticate.js'
import type { Exchange } from '../http/exchange.js'
import { answerFromStore } from '../http/resource/from-store.js'
import type { Route } from '../http/route.js'
import { TOO_MANY_QUERIES } from '../store/failures.js'
import { CHANGES_REPORT } from './changes-contract.js'
import { readChanges } from './changes-question.js'
import { shownChanges } from './changes-rows.js'
import { readChangesOf } from './read-changes.js'
import { cohortsOf, type ReportRoutesDeps, suppressionOf } from './report-routes.js'
import { shownPeriod } from './report-rows.js'

type Deps = Pick<
  ReportRoutesDeps,
  | 'reads'
  | 'inTurn'
  | 'dimensionsOf'
  | 'cohortMin'
  | 'costObjectsOf'
  | 'credentialNames'
  | 'notPeople'
  | 'watermark'
  | 'clock'
>

/** `GET /api/v1/reports/changes`: which groups explain the difference between two periods, price and volume apart. */
export const changesRoute = (deps: Deps): Route => ({
  method: 'get',
  path: '/api/v1/reports/changes',
  operation: CHANGES_REPORT,
  access: 'read:reporting',
  rateClass: 'report',
  handle: (exchange, caller) => answerFromStore(exchange, (signal) => answer(exchange, caller, deps, signal)),
})

async function answer(exchange: Exchange, { tenantId }: Caller, deps: Deps, signal: AbortSignal): Promise<void> {
  const dimensions = deps.dimensionsOf(tenantId)
  const read = readChanges(exchange.query, deps.clock(), dimensions)
  if (!read.ok) return exchange.replyProblem(read.problem)
  const { report } = read.question
  const newestMs = await deps.watermark.latest()
  const snapshotMs = Math.min(report.asOfMs ?? newestMs, newestMs)
  const { cohortScope, ...cohorts } = cohortsOf(report, tenantId, dimensions, deps)
  const of = { tenantId, snapshotMs, months: [], ...cohorts }
  const answered = await deps.inTurn(tenantId, signal, () => readChangesOf(read.question, of, deps.reads, signal))
  if (answered === undefined) return exchange.replyProblem(TOO_MANY_QUERIES)
  const { filtersApplied } = answered.value
  exchange.replyJson('200 OK', {
    ...suppressionOf(report, filtersApplied),
    ...shownChanges(answered.value, report),
    report: {
      ...shownPeriod(report.period),
      time_zone: report.zone,
      group_by: report.groupBy,
      compared_with: shownPeriod(report.previous),
      widened_filters: [...new Set(report.filters.slice(filtersApplied).map(({ field }) => field))],
      cohort_scope: cohortScope,
      min_cohort: of.cohortMin,
      as_of: new Date(snapshotMs).toISOString(),
    },
  })
}
