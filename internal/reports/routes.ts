import type { Caller } from '../auth/authenticate.js'
import type { Exchange } from '../http/exchange.js'
import { pageOf, readPosition } from '../http/resource/collection.js'
import type { CursorCodec } from '../http/resource/pages.js'
import type { Route } from '../http/route.js'
import { ADOPTION_REPORT, USAGE_REPORT } from './contract.js'
import { type ReportKind, readQuestion } from './kinds.js'
import type { ReportThread } from './thread.js'

export interface ReportRoutesDeps {
  readonly thread: Pick<ReportThread, 'answer'>
  /** Hashes of a tenant's identities that are not people, as 32 hex digits. */
  readonly notPeople: (tenantId: string) => readonly string[]
  readonly cursors: CursorCodec
  readonly clock: () => number
}

/** The routes of reports: `GET /v1/reports/usage` and `GET /v1/reports/adoption` (design section 6). */
export function reportRoutes(deps: ReportRoutesDeps): readonly Route[] {
  const route = (kind: ReportKind, operation: Route['operation']): Route => ({
    method: 'get',
    path: pathOf(kind),
    operation,
    access: 'read:reporting',
    rateClass: 'report',
    handle: (exchange, caller) => answer(exchange, caller, kind, deps),
  })
  return [route('usage', USAGE_REPORT), route('adoption', ADOPTION_REPORT)]
}

const pathOf = (kind: ReportKind): string => `/v1/reports/${kind}`

async function answer(
  exchange: Exchange,
  { tenantId }: Caller,
  kind: ReportKind,
  { thread, notPeople, cursors, clock }: ReportRoutesDeps,
): Promise<void> {
  const nowMs = clock()
  const { query } = exchange
  const read = readQuestion(kind, query, nowMs)
  if (!read.ok) return exchange.replyProblem(read.problem)
  // Version 2 of the cursor format, which identifies the answer: older releases must reject these cursors.
  const name = `${pathOf(kind)} 2 ${read.question.digest}`
  const position = readPosition(read.question, { tenantId, query: name }, { cursors, nowMs, snapshotMs: nowMs })
  if (!position.ok) return exchange.replyProblem(position.problem)
  const { limit, snapshotMs } = position.request
  const [digest = '', ...key] = position.request.after ?? []
  const after = position.request.after && { digest, key }

  const abort = new AbortController()
  exchange.onAborted(() => abort.abort())
  const answerId = `${tenantId} ${snapshotMs} ${name}`
  const task = {
    kind,
    tenantId,
    query,
    // Later pages cover the period of the first page, not one relative to the current time.
    nowMs: snapshotMs,
    answerId,
    after,
    // One extra row shows whether there is another page.
    limit: limit + 1,
    notPeople: notPeople(tenantId),
  }
  try {
    const answered = await thread.answer(task, abort.signal)
    if (!answered.ok) return exchange.replyProblem(answered.problem)
    const { rows, scope, digest: answerDigest } = answered.page
    const page = pageOf(
      position.request,
      rows,
      (row) => [answerDigest, ...row.key],
      ({ shown }) => shown,
    )
    exchange.replyJson('200 OK', { ...page, report: scope })
  } catch (cause) {
    // Otherwise the client has disconnected and there is nobody to reply to.
    if (!exchange.isSettled) throw cause
  }
}
