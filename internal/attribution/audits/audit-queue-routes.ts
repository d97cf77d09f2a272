import type { Caller } from '../../auth/authenticate.js'
import type { Exchange } from '../../http/exchange.js'
import { pageOf, readPage } from '../../http/resource/collection.js'
import { answerFromStore } from '../../http/resource/from-store.js'
import type { Route } from '../../http/route.js'
import { TOO_MANY_QUERIES } from '../../store/failures.js'
import type { AuditQuestion, QueuedCall } from '../../store/queries/attribution/audit-queue.js'
import { RANGE_NAMES, readRange, type TimeRange } from '../../text/time-range.js'
import { toRecord } from '../records/record.js'
import type { ListDeps } from '../records/record-routes.js'
import { AUDIT_QUEUE, DAYS, PATH } from './audit-queue-contract.js'

export interface AuditRoutesDeps extends ListDeps {
  /** Undefined when the tenant has too many concurrent queries. */
  readonly queue: (
    question: AuditQuestion,
    signal: AbortSignal,
  ) => Promise<{ readonly value: readonly QueuedCall[] } | undefined>
}

/** `GET /v1/attribution/audit-queue`: calls whose owner people should confirm, the most costly first. */
export const auditRoutes = (deps: AuditRoutesDeps): readonly Route[] => [
  {
    method: 'get',
    path: PATH,
    operation: AUDIT_QUEUE,
    access: 'read:attribution',
    rateClass: 'report',
    handle: (exchange, caller) => list(exchange, caller, deps),
  },
]

const DAY_MS = 24 * 60 * 60 * 1000

async function list(exchange: Exchange, caller: Caller, deps: AuditRoutesDeps): Promise<void> {
  const { cursors, clock } = deps
  const newestMs = await deps.watermark.latest()
  const read = readPage(exchange, caller, PATH, { cursors, clock, newestMs }, RANGE_NAMES)
  if (!read.ok) return exchange.replyProblem(read.problem)
  const range = readRange(read.request.filters)
  if ('code' in range) return exchange.replyProblem(range)
  await answerFromStore(exchange, async (signal) => {
    await answer(exchange, caller.tenantId, read.request, range, deps, signal)
  })
}

async function answer(
  exchange: Exchange,
  tenantId: string,
  request: Parameters<typeof pageOf>[0],
  { fromMs, toMs }: TimeRange,
  deps: AuditRoutesDeps,
  signal: AbortSignal,
): Promise<void> {
  const { snapshotMs, limit } = request
  const [worthUsd = '', calls = '', idHex = ''] = request.after ?? []
  const after = request.after && { worthUsd, calls, idHex }
  // One more than the page shows whether there is another page. The period is that of the first page.
  const end = toMs ?? snapshotMs + DAY_MS
  const period = { fromMs: fromMs ?? Math.min(snapshotMs, end) - DAYS * DAY_MS, toMs: end }
  const found = await deps.queue({ tenantId, snapshotMs, ...period, after, limit: limit + 1 }, signal)
  if (found === undefined) return exchange.replyProblem(TOO_MANY_QUERIES)
  const ids = found.value.map((call) => call.idHex)
  const question = {
    tenantId,
    snapshotMs,
    sort: { field: 'event_time', isDescending: true },
    after: undefined,
  } as const
  const condition = { field: 'id', operator: 'in', values: ids } as const
  const stored =
    ids.length === 0
      ? { value: [] }
      : await deps.list({ ...question, conditions: [condition], limit: ids.length }, signal)
  if (stored === undefined) return exchange.replyProblem(TOO_MANY_QUERIES)
  const byId = new Map(stored.value.map((record) => [record.id, record]))
  const dimensions = deps.dimensionsOf(tenantId)
  const page = pageOf(
    request,
    found.value,
    (call) => [call.worthUsd, call.calls, call.idHex],
    (call) => {
      const record = byId.get(call.idHex)
      return (
        record && {
          record: toRecord(record, dimensions),
          calls: Number(call.calls),
          cost_usd: call.costUsd,
          audited_calls: Number(call.audited),
        }
      )
    },
  )
  // A record that the end of its retention removed in this very moment is no longer there.
  exchange.replyJson('200 OK', { ...page, data: page.data.filter((call) => call !== undefined) })
}
