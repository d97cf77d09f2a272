import type { Caller } from '../../auth/authenticate.js'
import type { EventData } from '../../events/event-contract.js'
import type { Exchange } from '../../http/exchange.js'
import { pageOf, readPage } from '../../http/resource/collection.js'
import { answerFromStore } from '../../http/resource/from-store.js'
import type { CursorCodec } from '../../http/resource/pages.js'
import type { Route } from '../../http/route.js'
import type { Problem } from '../../problems/problem-catalogue.js'
import { providerName } from '../../records/provider-names.js'
import type { EventQuestion, ListedEvent } from '../../store/queries/event-log.js'
import { hasBytesAtMost, isPlainText } from '../../text/plain-text.js'
import { badParameter } from '../../text/query-string.js'
import { RANGE_NAMES, readRange } from '../../text/time-range.js'
import { LIST_ANOMALIES, PATH, type ShownAnomaly } from './anomaly-contract.js'

export interface AnomalyRoutesDeps {
  readonly listEvents: (question: EventQuestion, signal: AbortSignal) => Promise<ListedEvent[]>
  /** Older ones are not listed, even if the store has not removed them yet. */
  readonly keptDays: number
  readonly cursors: CursorCodec
  readonly clock: () => number
}

const DAY_MS = 24 * 60 * 60 * 1000
const NAME_BYTES_MAX = 256
const SCOPE = ['service', 'owner', 'provider'] as const
const FILTERS = [...SCOPE, ...RANGE_NAMES] as const
type Filters = { readonly [K in (typeof FILTERS)[number]]?: string }

/** `GET /api/v1/anomalies`: the events `anomaly.detected`, newest first. */
export const anomalyRoutes = (deps: AnomalyRoutesDeps): readonly Route[] => [
  {
    method: 'get',
    path: PATH,
    operation: LIST_ANOMALIES,
    access: 'read:reporting',
    rateClass: 'read',
    handle: (exchange, caller) => list(exchange, caller, deps),
  },
]

async function list(exchange: Exchange, caller: Caller, deps: AnomalyRoutesDeps): Promise<void> {
  const read = readPage(exchange, caller, PATH, deps, FILTERS)
  if (!read.ok) return exchange.replyProblem(read.problem)
  const { request } = read
  const filters = readFilters(request.filters, deps)
  if ('code' in filters) return exchange.replyProblem(filters)

  await answerFromStore(exchange, async (signal) => {
    const [log, sequence] = (request.after ?? []).map(Number)
    const before = log === undefined || sequence === undefined ? undefined : { log, sequence }
    const events = await deps.listEvents(
      // One more than the page shows whether there is another page.
      { tenantId: caller.tenantId, types: ['anomaly.detected'], before, ...filters, limit: request.limit + 1 },
      signal,
    )
    exchange.replyJson(
      '200 OK',
      pageOf(request, events, (event) => [event.log, event.sequence].map(String), shown),
    )
  })
}

function readFilters(
  { from, to, time_zone, ...scope }: Filters,
  { keptDays, clock }: AnomalyRoutesDeps,
): Pick<EventQuestion, 'fromMs' | 'toMs' | 'scope'> | Problem {
  for (const name of SCOPE) {
    const value = scope[name]
    if (value === undefined || (value !== '' && isPlainText(value) && hasBytesAtMost(value, NAME_BYTES_MAX))) continue
    return badParameter(
      `/${name}`,
      `${name} must be a text of 1 to ${NAME_BYTES_MAX} bytes without control characters.`,
    )
  }
  const range = readRange({ from, to, time_zone })
  if ('code' in range) return range
  const { fromMs, toMs } = range
  const keptFromMs = clock() - keptDays * DAY_MS
  const { provider } = scope
  const named = provider === undefined ? scope : { ...scope, provider: providerName(provider) }
  return { scope: named, fromMs: Math.max(keptFromMs, fromMs ?? keptFromMs), toMs }
}

interface AnomalyEvent {
  readonly id: string
  readonly created_at: string
  readonly data: EventData['anomaly.detected']
}

function shown({ envelope }: ListedEvent): ShownAnomaly {
  const { id, created_at: detected_at, data } = JSON.parse(envelope) as AnomalyEvent
  const { scope, observed, expected, window, observed_until, score } = data
  return { id, detected_at, scope, observed_usd: observed, expected_usd: expected, window, observed_until, score }
}
