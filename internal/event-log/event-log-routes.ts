import type { Caller } from '../auth/authenticate.js'
import type { EventType } from '../events/event-contract.js'
import { LOGGED_TYPES, SCOPE_OF_EVENT, SCOPES_OF_EVENTS, typesReadableWith } from '../events/readers.js'
import type { Exchange } from '../http/exchange.js'
import { pageOf, readPage } from '../http/resource/collection.js'
import { answerFromStore } from '../http/resource/from-store.js'
import type { CursorCodec } from '../http/resource/pages.js'
import { insufficientScope, type Route } from '../http/route.js'
import type { Problem } from '../problems/problem-catalogue.js'
import type { EventQuestion, ListedEvent } from '../store/queries/event-log.js'
import { badParameter } from '../text/query-string.js'
import { RANGE_NAMES, readRange } from '../text/time-range.js'
import { LIST_EVENTS, PATH } from './event-log-contract.js'

export interface EventLogRoutesDeps {
  readonly listEvents: (question: EventQuestion, signal: AbortSignal) => Promise<ListedEvent[]>
  /** Older events are not listed, even if the store has not removed them yet. */
  readonly keptDays: number
  readonly cursors: CursorCodec
  readonly clock: () => number
}

const DAY_MS = 24 * 60 * 60 * 1000
const FILTERS = ['type', ...RANGE_NAMES] as const
type Filters = { readonly [K in (typeof FILTERS)[number]]?: string }

/** `GET /api/v1/events/log`: the events that were emitted, newest first. */
export const eventLogRoutes = (deps: EventLogRoutesDeps): readonly Route[] => [
  {
    method: 'get',
    path: PATH,
    operation: LIST_EVENTS,
    access: SCOPES_OF_EVENTS,
    rateClass: 'read',
    handle: (exchange, caller) => list(exchange, caller, deps),
  },
]

async function list(exchange: Exchange, caller: Caller, deps: EventLogRoutesDeps): Promise<void> {
  const read = readPage(exchange, caller, PATH, deps, FILTERS)
  if (!read.ok) return exchange.replyProblem(read.problem)
  const { request } = read
  const filters = readFilters(request.filters, caller, deps)
  if ('code' in filters) return exchange.replyProblem(filters)

  await answerFromStore(exchange, async (signal) => {
    const [log, sequence] = (request.after ?? []).map(Number)
    const before = log === undefined || sequence === undefined ? undefined : { log, sequence }
    const events = await deps.listEvents(
      // One more than the page shows whether there is another page.
      { tenantId: caller.tenantId, before, ...filters, limit: request.limit + 1 },
      signal,
    )
    const { data, page } = pageOf(
      request,
      events,
      (event) => [event.log, event.sequence].map(String),
      ({ envelope }) => envelope,
    )
    // Joined as text: parsed amounts would become floats.
    exchange.replyJsonText('200 OK', `{"data":[${data.join(',')}],"page":${JSON.stringify(page)}}`)
  })
}

function readFilters(
  { type, ...stated }: Filters,
  { scopes }: Caller,
  { keptDays, clock }: EventLogRoutesDeps,
): Pick<EventQuestion, 'types' | 'fromMs' | 'toMs'> | Problem {
  const readable = typesReadableWith(scopes)
  const asked = LOGGED_TYPES.find((known) => known === type)
  if (type !== undefined && asked === undefined) {
    return badParameter('/type', `type must be one of ${LOGGED_TYPES.join(', ')}.`)
  }
  if (asked !== undefined && !readable.includes(asked)) return insufficientScope(scopeOf(asked))
  const range = readRange(stated)
  if ('code' in range) return range
  const { fromMs, toMs } = range
  const keptFromMs = clock() - keptDays * DAY_MS
  return {
    types: asked === undefined ? readable : [asked],
    fromMs: Math.max(keptFromMs, fromMs ?? keptFromMs),
    toMs,
  }
}

const scopeOf = (type: EventType) => SCOPE_OF_EVENT[type] ?? SCOPES_OF_EVENTS
