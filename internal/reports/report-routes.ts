import type { Caller } from '../auth/authenticate.js'
import type { CohortScope } from '../auth/tenant.js'
import type { Watermark } from '../broker/watermark.js'
import type { Exchange } from '../http/exchange.js'
import { readPosition } from '../http/resource/collection.js'
import { answerFromStore } from '../http/resource/from-store.js'
import type { CursorCodec } from '../http/resource/pages.js'
import type { Route } from '../http/route.js'
import { problem } from '../problems/problem-catalogue.js'
import { type Dimension, tagFieldOf } from '../records/dimensions.js'
import { TOO_MANY_QUERIES } from '../store/failures.js'
import type { CostObjectNames } from '../store/queries/reports/groups.js'
import { badParameter } from '../text/query-string.js'
import { formatQuantity, parseSum } from '../units/quantity.js'
import type { Repricing } from '../valuation/cost/reprice.js'
import type { ReportKind } from './compared.js'
import { dimensionList } from './dimension-list.js'
import { type Prices, pricedFiguresOf, repricing, shownRepricing } from './priced-figures.js'
import { type ReadReport, type ReportQuestion, readReport } from './question.js'
import {
  firstPage,
  laterPage,
  type Position,
  type ReportPage,
  type ReportReads,
  type WeighedMonth,
  weighedMonths,
} from './report.js'
import { ADOPTION_REPORT, USAGE_REPORT } from './report-contract.js'
import { type ShownBy, shownAdoption, shownPeriod, shownUsage } from './report-rows.js'
import { readUnpriced, shownUnpriced } from './unpriced.js'
import { UNPRICED_REPORT } from './unpriced-contract.js'

export interface ReportRoutesDeps {
  readonly reads: ReportReads
  /** Runs a report when it is the tenant's turn. @returns undefined when too many wait already */
  readonly inTurn: <T>(
    tenantId: string,
    signal: AbortSignal,
    task: () => Promise<T>,
  ) => Promise<{ readonly value: T } | undefined>
  /** Hashes of a tenant's identities that are not people, as 32 hex digits. */
  readonly notPeople: (tenantId: string) => readonly string[]
  /** The tag keys that a tenant has declared. */
  readonly dimensionsOf: (tenantId: string) => readonly Dimension[]
  /** Names of a tenant's credentials, by id. */
  readonly credentialNames: (tenantId: string) => ReadonlyMap<string, string>
  readonly prices: Prices
  /** k of the cohort rule. */
  readonly cohortMin: (tenantId: string) => number
  /** What a tenant always names, where its cohort rule folds people only; undefined: it folds everything. */
  readonly costObjectsOf: (tenantId: string) => CostObjectNames | undefined
  readonly watermark: Pick<Watermark, 'latest'>
  readonly cursors: CursorCodec
  readonly clock: () => number
}

/** As what a report was read. */
interface ReadAs {
  readonly months: readonly WeighedMonth[]
  readonly snapshotMs: number
  readonly repriced: Repricing | undefined
  readonly cohortMin: number
  readonly cohortScope: CohortScope
}

/** One report: how its query is read, and how its rows are shown. */
interface Shape {
  readonly path: string
  readonly operation: Route['operation']
  readonly read: (query: string, nowMs: number, dimensions: readonly Dimension[], atMs?: number) => ReadReport
  readonly show: (page: ReportPage, by: ShownBy) => readonly object[]
  /** The scope of a report, beside its rows. */
  readonly scope: (question: ReportQuestion, page: ReportPage, read: ReadAs) => object
}

/** The routes of reports: `GET /v1/reports/usage`, `/adoption` and `/dimensions`, and `GET /api/v1/prices/unpriced`. */
export function reportRoutes(deps: ReportRoutesDeps): readonly Route[] {
  const route = (shape: Shape): Route => ({
    method: 'get',
    path: shape.path,
    operation: shape.operation,
    access: 'read:reporting',
    rateClass: 'report',
    handle: (exchange, caller) => answerFromStore(exchange, (signal) => answer(exchange, caller, shape, deps, signal)),
  })
  return [
    route(shapeOf('usage', USAGE_REPORT, shownUsage)),
    route(shapeOf('adoption', ADOPTION_REPORT, shownAdoption)),
    route({
      path: '/api/v1/prices/unpriced',
      operation: UNPRICED_REPORT,
      read: (query, nowMs, dimensions, atMs = nowMs) => readUnpriced(query, atMs, dimensions),
      show: shownUnpriced,
      scope: ({ period }) => shownPeriod(period),
    }),
    dimensionList(deps.dimensionsOf),
  ]
}

const shapeOf = (
  kind: ReportKind,
  operation: Route['operation'],
  show: (row: ReportPage['rows'][number], by: ShownBy) => object,
): Shape => ({
  path: `/v1/reports/${kind}`,
  operation,
  read: (query, nowMs, dimensions, atMs) => readReport(kind, query, nowMs, dimensions, atMs),
  show: ({ rows }, by) => rows.map((row) => show(row, by)),
  scope: scopeOf,
})

async function answer(
  exchange: Exchange,
  { tenantId }: Caller,
  shape: Shape,
  deps: ReportRoutesDeps,
  signal: AbortSignal,
): Promise<void> {
  const { reads, cursors, clock } = deps
  const dimensions = deps.dimensionsOf(tenantId)
  const read = shape.read(exchange.query, clock(), dimensions)
  if (!read.ok) return exchange.replyProblem(read.problem)
  // Version 5 of the cursor format, which names a staged answer: other releases must reject these cursors.
  const name = `${shape.path} 5 ${read.question.digest}`
  const newestMs = await deps.watermark.latest()
  // Another gateway may have answered with an instant that is not complete here yet: the answer says which one it used.
  const from = { cursors, nowMs: clock(), snapshotMs: Math.min(read.question.asOfMs ?? newestMs, newestMs) }
  const page = readPosition(read.question, { tenantId, query: name }, from)
  if (!page.ok) return exchange.replyProblem(page.problem)
  const { limit, snapshotMs, after, cursorAfter } = page.request
  // Later pages cover the period of the first page, not one relative to the current time.
  const asked = after === undefined ? read : shape.read(exchange.query, clock(), dimensions, snapshotMs)
  if (!asked.ok) return exchange.replyProblem(asked.problem)
  const { question } = asked
  const repriced = repricing(question, tenantId, deps.prices, clock())
  if (question.repriceAs !== undefined && repriced === undefined) return exchange.replyProblem(NOT_PRICED)
  const months = await weighedMonths(question, tenantId, reads, signal)
  const { cohortScope, ...cohorts } = cohortsOf(question, tenantId, dimensions, deps)
  const of = {
    ...{ tenantId, snapshotMs, months, ...cohorts },
    pricedFigures: await pricedFiguresOf(question, tenantId, repriced, deps.prices, signal),
  }

  const position = after === undefined ? undefined : positionOf(after)
  const answered = await deps.inTurn(tenantId, signal, () =>
    position === undefined
      ? firstPage(question, of, limit, reads, signal)
      : laterPage(question, of, position, limit, reads, signal),
  )
  if (answered === undefined) return exchange.replyProblem(TOO_MANY_QUERIES)
  if (answered.value === undefined) return exchange.replyProblem(EXPIRED)
  const { totals, filtersApplied, next } = answered.value
  const by: ShownBy = {
    question,
    totals,
    cohortMin: of.cohortMin,
    cohortScope,
    isParent: filtersApplied < question.filters.length,
  }
  exchange.replyJson('200 OK', {
    ...suppressionOf(question, filtersApplied),
    data: shape.show(answered.value, by),
    page: {
      ...(next !== undefined && { next_cursor: cursorAfter(keyOf(next)) }),
      limit,
      has_more: next !== undefined,
    },
    report: shape.scope(question, answered.value, {
      months,
      snapshotMs,
      repriced,
      cohortMin: of.cohortMin,
      cohortScope,
    }),
  })
}

/** By whom people are counted in a tenant's reports, and what folds. */
export function cohortsOf(
  { kind }: Pick<ReportQuestion, 'kind'>,
  tenantId: string,
  dimensions: readonly Dimension[],
  deps: Pick<ReportRoutesDeps, 'cohortMin' | 'costObjectsOf' | 'credentialNames' | 'notPeople'>,
) {
  // Adoption is a figure about people.
  const costObjects = kind === 'adoption' ? undefined : deps.costObjectsOf(tenantId)
  const cohortScope: CohortScope = costObjects === undefined ? 'all' : 'people'
  return {
    cohortScope,
    cohortMin: deps.cohortMin(tenantId),
    personalTags: dimensions.filter(({ personal }) => personal).map(({ key }) => tagFieldOf(key)),
    notPeople: deps.notPeople(tenantId),
    credentialNames: deps.credentialNames(tenantId),
    ...(costObjects !== undefined && { costObjects }),
  }
}

const keyOf = ({ answer: name, row, filtersApplied }: Position): readonly string[] => [
  name,
  String(row),
  String(filtersApplied),
]
const positionOf = ([name = '', row = '', filtersApplied = '']: readonly string[]): Position => ({
  answer: name,
  row: Number(row),
  filtersApplied: Number(filtersApplied),
})

const NOT_PRICED = badParameter('/reprice_as', 'This model has no price at the end of the period.')
const EXPIRED_DETAIL = 'The answer that this cursor continues has expired: request the report again without a cursor.'
const EXPIRED = problem('INVALID_CURSOR', EXPIRED_DETAIL, { errors: [{ pointer: '/cursor', detail: EXPIRED_DETAIL }] })

/** The first member of an answer whose filters do not all hold. */
export function suppressionOf({ filters }: ReportQuestion, filtersApplied: number) {
  if (filtersApplied === filters.length) return {}
  const shown = (some: ReportQuestion['filters']) =>
    some.map(({ field, operator, values }) => ({ field, operator, values }))
  return {
    suppressed: {
      reason: 'cohort_too_small',
      asked: shown(filters),
      applied: shown(filters.slice(0, filtersApplied)),
    },
  }
}

const scopeOf: Shape['scope'] = (
  question,
  { totals, filtersApplied },
  { months, snapshotMs, repriced, cohortMin, cohortScope },
) => ({
  ...shownPeriod(question.period),
  time_zone: question.zone,
  interval: question.interval ?? null,
  group_by: question.groupBy,
  allocated: question.isAllocating,
  ...(question.isAllocating && {
    allocation_weights: months.map(({ spreadBy, ...month }) => ({
      ...shownPeriod(month),
      as_of: spreadBy === undefined ? null : new Date(spreadBy.asOfMs).toISOString(),
    })),
  }),
  widened_filters: [...new Set(question.filters.slice(filtersApplied).map(({ field }) => field))],
  cohort_scope: cohortScope,
  min_cohort: cohortMin,
  as_of: new Date(snapshotMs).toISOString(),
  rows: totals.rows,
  total_cost_usd: formatQuantity(parseSum<'USD'>(totals.costUsd)),
  ...(totals.notionalCostUsd !== undefined && {
    total_notional_cost_usd: formatQuantity(parseSum<'USD'>(totals.notionalCostUsd)),
  }),
  ...(totals.unspreadCostUsd !== undefined && {
    not_spread_usd: formatQuantity(parseSum<'USD'>(totals.unspreadCostUsd)),
  }),
  ...(repriced !== undefined && { repriced: shownRepricing(repriced) }),
  ...(question.previous !== undefined && {
    compared_with: {
      ...shownPeriod(question.previous),
      total_cost_usd:
        totals.previousCostUsd === undefined ? null : formatQuantity(parseSum<'USD'>(totals.previousCostUsd)),
    },
  }),
})
