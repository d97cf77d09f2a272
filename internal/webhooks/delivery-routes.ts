import type { Caller } from '../auth/authenticate.js'
import { EVENT_TYPES } from '../events/event-contract.js'
import type { Exchange } from '../http/exchange.js'
import { pageOf, readPage } from '../http/resource/collection.js'
import { answerFromStore } from '../http/resource/from-store.js'
import { noSuch, refusalOfId } from '../http/resource/own-id.js'
import type { CursorCodec } from '../http/resource/pages.js'
import type { Route } from '../http/route.js'
import { parseId, type TenantIds } from '../ids/ids.js'
import type { Problem } from '../problems/problem-catalogue.js'
import type { AttemptQuestion } from '../store/queries/webhook-attempts.js'
import type { AttemptRow } from '../store/tables/webhook-attempts.js'
import { badParameter } from '../text/query-string.js'
import { RANGE_NAMES, readRange } from '../text/time-range.js'
import { ATTEMPT_OUTCOMES, type AttemptOutcome, type AttemptReason } from './attempt-outcomes.js'
import type { StoredWebhook } from './endpoint.js'
import { WHAT } from './webhook-changes.js'
import { LIST_DELIVERIES, PATH, type ShownAttempt } from './webhook-contract.js'

export interface DeliveryRoutesDeps {
  readonly webhooks: { get(id: string): StoredWebhook | undefined }
  readonly listAttempts: (question: AttemptQuestion, signal: AbortSignal) => Promise<AttemptRow[]>
  readonly idsOf: (tenantId: string) => TenantIds
  readonly cursors: CursorCodec
  readonly clock: () => number
}

const FILTERS = ['event_id', 'event_type', 'outcome', ...RANGE_NAMES] as const
type Filters = { readonly [K in (typeof FILTERS)[number]]?: string }

/** `GET /api/v1/webhooks/{id}/deliveries`: the delivery log, the newest attempt first. */
export function deliveryRoutes(deps: DeliveryRoutesDeps): readonly Route[] {
  return [
    {
      method: 'get',
      path: `${PATH}/:id/deliveries`,
      operation: LIST_DELIVERIES,
      access: 'webhooks:manage',
      rateClass: 'control',
      handle: (exchange, caller) => list(exchange, caller, deps),
    },
  ]
}

async function list(exchange: Exchange, caller: Caller, deps: DeliveryRoutesDeps): Promise<void> {
  const { tenantId } = caller
  const id = exchange.parameter
  const refusal = refusalOfId('whk', id, deps.idsOf(tenantId), WHAT)
  if (refusal !== undefined) return exchange.replyProblem(refusal)
  const read = readPage(exchange, caller, `${PATH}/${id}/deliveries`, deps, FILTERS)
  if (!read.ok) return exchange.replyProblem(read.problem)
  const { request } = read
  const filters = readFilters(request.filters)
  if ('code' in filters) return exchange.replyProblem(filters)

  await answerFromStore(exchange, async (signal) => {
    const [log, sequence, index] = (request.after ?? []).map(Number)
    const before =
      log === undefined || sequence === undefined || index === undefined ? undefined : { log, sequence, index }
    const rows = await deps.listAttempts(
      // One extra row tells whether there is a next page.
      { tenantId, endpointId: id, before, ...filters, limit: request.limit + 1 },
      signal,
    )
    // The log of a deleted endpoint is kept, so that only an endpoint that never existed has no rows at all.
    const isNarrowed = before !== undefined || Object.values(filters).some((filter) => filter !== undefined)
    if (rows.length === 0 && !isNarrowed && deps.webhooks.get(id)?.tenant_id !== tenantId) {
      return exchange.replyProblem(noSuch(WHAT))
    }
    const keyOf = ({ sourceLog, sourceSequence, sourceIndex }: AttemptRow) =>
      [sourceLog, sourceSequence, sourceIndex].map(String)
    exchange.replyJson('200 OK', pageOf(request, rows, keyOf, shownAttempt))
  })
}

type ReadFilters = Pick<AttemptQuestion, 'eventId' | 'eventType' | 'outcome' | 'fromMs' | 'toMs'>

function readFilters({ event_id: eventId, event_type: eventType, outcome, ...stated }: Filters): ReadFilters | Problem {
  if (eventId !== undefined && parseId('evt', eventId) === undefined) {
    return badParameter('/event_id', 'event_id must be the id of an event.')
  }
  if (eventType !== undefined && !EVENT_TYPES.some((known) => known === eventType)) {
    return badParameter('/event_type', 'event_type must be one of the event types.')
  }
  if (outcome !== undefined && !ATTEMPT_OUTCOMES.some((known) => known === outcome)) {
    return badParameter('/outcome', `outcome must be one of ${ATTEMPT_OUTCOMES.join(', ')}.`)
  }
  const range = readRange(stated)
  if ('code' in range) return range
  return { eventId, eventType, outcome, ...range }
}

const shownAttempt = (row: AttemptRow): ShownAttempt => ({
  delivery_id: row.deliveryId,
  event_id: row.eventId,
  event_type: row.eventType as ShownAttempt['event_type'],
  sequence: row.eventSequence,
  attempt: row.attempt,
  attempted_at: new Date(row.attemptedAtMs).toISOString(),
  response_status: row.responseStatus === 0 ? null : row.responseStatus,
  latency_ms: row.latencyMs,
  outcome: row.outcome as AttemptOutcome,
  reason: row.reason === '' ? null : (row.reason as AttemptReason),
  next_attempt_at: row.nextAttemptAtMs === 0 ? null : new Date(row.nextAttemptAtMs).toISOString(),
  replayed: row.isReplayed,
})
