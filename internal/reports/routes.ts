import type { Caller } from '../auth/authenticate.js'
import { pageOf, readPosition } from '../gateway/collection.js'
import type { Exchange } from '../gateway/exchange.js'
import type { CursorCodec } from '../gateway/pages.js'
import { badParameter } from '../gateway/query-string.js'
import type { Route } from '../gateway/route.js'
import { compareKeys } from '../gateway/sorted-records.js'
import { isTooLarge, storeProblem } from '../store/failures.js'
import { ADOPTION, shownAdoption } from './adoption.js'
import { ADOPTION_DIMENSIONS, ADOPTION_INTERVALS, ADOPTION_REPORT, USAGE_REPORT } from './contract.js'
import { KeptAnswers } from './kept-answers.js'
import { type Measured, TooManyGroups } from './parts.js'
import type { Period } from './period.js'
import { type ReadReport, type ReportQuestion, readReport } from './question.js'
import { type Report, type ReportRow, reportOf, type UsageReads } from './report.js'
import { shownUsage, USAGE } from './usage.js'

export interface ReportRoutesDeps {
  readonly reads: UsageReads
  readonly cursors: CursorCodec
  readonly clock: () => number
}

/** A kind of report. */
interface Kind<M> {
  readonly path: string
  readonly measured: Measured<M>
  readonly show: (row: ReportRow<M>) => object
  readonly read: (query: string, nowMs: number) => ReadReport
}

const USAGE_KIND: Kind<Parameters<typeof shownUsage>[0]['sum']> = {
  path: '/v1/reports/usage',
  measured: USAGE,
  show: shownUsage,
  read: (query, nowMs) =>
    readReport(query, nowMs, ['group_by', 'interval', 'time_zone', 'from', 'to', 'allocate', 'limit', 'cursor']),
}

const ADOPTION_KIND: Kind<Parameters<typeof shownAdoption>[0]['sum']> = {
  path: '/v1/reports/adoption',
  measured: ADOPTION,
  show: shownAdoption,
  read: (query, nowMs) =>
    readReport(
      query,
      nowMs,
      ['group_by', 'interval', 'time_zone', 'from', 'to', 'limit', 'cursor'],
      ADOPTION_DIMENSIONS,
      ADOPTION_INTERVALS,
    ),
}

/** `GET /v1/reports/usage` and `GET /v1/reports/adoption` (design section 6). */
export function reportRoutes(deps: ReportRoutesDeps): readonly Route[] {
  const kept = new KeptAnswers<Answer>(deps.clock)
  const route = <M>(kind: Kind<M>, operation: Route['operation']): Route => ({
    method: 'get',
    path: kind.path,
    operation,
    access: 'read:reporting',
    rateClass: 'report',
    handle: (exchange, caller) => answer(exchange, caller, kind, kept, deps),
  })
  return [route(USAGE_KIND, USAGE_REPORT), route(ADOPTION_KIND, ADOPTION_REPORT)]
}

/** What all pages of one question show. */
interface Answer {
  readonly rows: readonly { readonly key: readonly string[]; readonly shown: object }[]
  readonly scope: object
}

async function answer<M>(
  exchange: Exchange,
  caller: Caller,
  kind: Kind<M>,
  kept: KeptAnswers<Answer>,
  { reads, cursors, clock }: ReportRoutesDeps,
): Promise<void> {
  const nowMs = clock()
  const read = kind.read(exchange.query, nowMs)
  if (!read.ok) return exchange.replyProblem(read.problem)
  const { question } = read
  const { tenantId } = caller
  const name = `${kind.path} ${question.digest}`
  const position = readPosition(question, { tenantId, query: name }, { cursors, nowMs, snapshotMs: nowMs })
  if (!position.ok) return exchange.replyProblem(position.problem)
  const { request } = position

  const abort = new AbortController()
  exchange.onAborted(() => abort.abort())
  try {
    const id = `${tenantId} ${request.snapshotMs} ${name}`
    const { rows, scope } = await kept.take(id, async () => {
      const report = await reportOf(tenantId, question, kind.measured, reads, abort.signal)
      return {
        rows: report.rows.map((row) => ({ key: row.key, shown: kind.show(row) })),
        scope: scopeOf(question, report),
      }
    })
    const { after } = request
    const rest = after === undefined ? rows : rows.filter(({ key }) => compareKeys(key, after) > 0)
    const page = pageOf(
      request,
      rest,
      ({ key }) => key,
      ({ shown }) => shown,
    )
    exchange.replyJson('200 OK', { ...page, report: scope })
  } catch (cause) {
    if (exchange.isSettled) return // the caller has left, and with it the query
    if (cause instanceof TooManyGroups || isTooLarge(cause)) {
      const detail = 'The report has too many groups: ask for a longer interval, a shorter period or fewer groups.'
      return exchange.replyProblem(badParameter('/group_by', detail))
    }
    const known = storeProblem(cause)
    if (known === undefined) throw cause
    exchange.replyProblem(known)
  }
}

const scopeOf = ({ zone, interval, groupBy, isAllocating }: ReportQuestion, report: Report<unknown>) => ({
  ...shownPeriod(report.period),
  time_zone: zone,
  interval: interval ?? null,
  group_by: groupBy,
  allocated: isAllocating,
  ...(isAllocating && {
    allocation_weights: report.spreadBy.map(({ asOfMs, ...month }) => ({
      ...shownPeriod(month),
      as_of: asOfMs === undefined ? null : new Date(asOfMs).toISOString(),
    })),
  }),
  widened_filters: report.widened,
})

const shownPeriod = ({ fromMs, toMs }: Period) => ({
  from: new Date(fromMs).toISOString(),
  to: new Date(toMs).toISOString(),
})
