import type { Caller } from '../auth/authenticate.js'
import { pageOf, readPage } from '../gateway/collection.js'
import type { Exchange } from '../gateway/exchange.js'
import type { CursorCodec } from '../gateway/pages.js'
import type { Route } from '../gateway/route.js'
import { hasTagOf, idHex, parseId, type TenantIds } from '../ids/ids.js'
import { problem } from '../problems/catalogue.js'
import { storeProblem } from '../store/failures.js'
import type { StoredWeight } from '../store/queries/allocation-weights.js'
import type {
  After,
  AttributionView,
  StoredAttribution,
  StoredAttributionDetail,
} from '../store/queries/attributions.js'
import type { StoredClosed } from '../store/queries/closed.js'
import { GET_ATTRIBUTION, LIST_ATTRIBUTIONS } from './contract.js'
import { explain, weightsInstantOf } from './explanation.js'
import { toRecord } from './record.js'

export interface AttributionRoutesDeps {
  readonly list: (
    question: {
      readonly tenantId: string
      readonly snapshotMs: number
      readonly after: After | undefined
      readonly limit: number
      readonly view?: AttributionView | undefined
    },
    signal: AbortSignal,
  ) => Promise<StoredAttribution[]>
  readonly find: (
    tenantId: string,
    idHex: string,
    snapshotMs: number,
    signal: AbortSignal,
  ) => Promise<StoredAttributionDetail | undefined>
  /** The newest instant as of which the read model is complete. */
  readonly snapshot: () => Promise<number>
  /** The versions of a record that were closed by an instant, the oldest first. */
  readonly closedVersionsOf: (tenantId: string, recordId: string, byMs: number) => Promise<readonly StoredClosed[]>
  readonly findWeights: (tenantId: string, asOfMs: number) => Promise<readonly StoredWeight[]>
  readonly cursors: CursorCodec
  readonly idsOf: (tenantId: string) => TenantIds
  readonly clock: () => number
}

const PATH = '/v1/attribution'
/** What a cursor of this collection belongs to: route and sort. */
const QUERY = `${PATH} -event_time`

/** `GET /v1/attribution` and `GET /v1/attribution/{id}` (spec 4.2). */
export function attributionRoutes(deps: AttributionRoutesDeps): readonly Route[] {
  return [
    {
      method: 'get',
      path: PATH,
      operation: LIST_ATTRIBUTIONS,
      access: 'read:attribution',
      rateClass: 'read',
      handle: (exchange, caller) => answerWithPage(exchange, caller, QUERY, deps),
    },
    {
      method: 'get',
      path: `${PATH}/:id`,
      operation: GET_ATTRIBUTION,
      access: 'read:attribution',
      rateClass: 'read',
      handle: (exchange, caller) => answerOrSayWhy(exchange, () => get(exchange, caller, deps)),
    },
  ]
}

/**
 * Answers with a page of records.
 *
 * @param query what its cursors belong to: route, sort, and whose view it is
 * @param view what may be seen of the tenant's records; all when absent
 */
export const answerWithPage = (
  exchange: Exchange,
  caller: Caller,
  query: string,
  deps: Pick<AttributionRoutesDeps, 'list' | 'snapshot' | 'cursors' | 'clock'>,
  view?: AttributionView,
): Promise<void> => answerOrSayWhy(exchange, () => list(exchange, caller, query, deps, view))

async function list(
  exchange: Exchange,
  caller: Caller,
  query: string,
  deps: Pick<AttributionRoutesDeps, 'list' | 'snapshot' | 'cursors' | 'clock'>,
  view: AttributionView | undefined,
): Promise<void> {
  const signal = abortWith(exchange)
  const read = readPage(exchange, caller, query, { ...deps, newestMs: await deps.snapshot() })
  if (!read.ok) return exchange.replyProblem(read.problem)
  const { tenantId } = caller
  const { snapshotMs, limit } = read.request
  const [eventTimeMs = '', lastIdHex = ''] = read.request.after ?? []
  const after: After | undefined = read.request.after && { eventTimeMs, idHex: lastIdHex }

  // One more than is shown tells whether there is more.
  const rows = await deps.list({ tenantId, snapshotMs, after, limit: limit + 1, view }, signal)
  const page = pageOf(read.request, rows, (row) => [row.event_time_ms, row.id], toRecord)
  exchange.replyJson('200 OK', page)
}

async function get(exchange: Exchange, caller: Caller, deps: AttributionRoutesDeps): Promise<void> {
  const { tenantId } = caller
  const id = parseId('attr', exchange.parameter)
  if (id === undefined) return exchange.replyProblem(problem('NOT_FOUND', 'There is no such attribution.'))
  if (!hasTagOf(id, deps.idsOf(tenantId))) {
    return exchange.replyProblem(problem('TENANT_MISMATCH', 'The attribution belongs to another tenant.'))
  }
  const signal = abortWith(exchange)
  const snapshotMs = await deps.snapshot()
  const stored = await deps.find(tenantId, idHex(id), snapshotMs, signal)
  if (stored === undefined) return exchange.replyProblem(problem('NOT_FOUND', 'There is no such attribution.'))
  const weightsAt = weightsInstantOf(stored)
  const weights = weightsAt === undefined ? [] : await deps.findWeights(tenantId, weightsAt)
  const history = await deps.closedVersionsOf(tenantId, idHex(id), snapshotMs)
  exchange.replyJson('200 OK', { ...toRecord(stored), explanation: explain(stored, weights, history) })
}

/** A query whose caller has left is stopped in the engine. */
function abortWith(exchange: Exchange): AbortSignal {
  const controller = new AbortController()
  exchange.onAborted(() => controller.abort())
  return controller.signal
}

async function answerOrSayWhy(exchange: Exchange, answer: () => Promise<void>): Promise<void> {
  try {
    await answer()
  } catch (cause) {
    if (exchange.isSettled) return // the caller has left, and with it the query
    const known = storeProblem(cause)
    if (known === undefined) throw cause
    exchange.replyProblem(known)
  }
}
