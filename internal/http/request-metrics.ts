import type { RateClass } from '../auth/rate-limits.js'
import { counter, TimeHistogram, type TimeSeries, whenRead } from '../telemetry/metrics.js'

/**
 * `probe`, `public` and `unknown` (no such path, or refused before its path was looked at) are no budgets of requests;
 * `intake` and `sql` are the listeners beside the API.
 */
type RequestClass = RateClass | 'probe' | 'public' | 'unknown' | 'intake' | 'sql'

const REQUESTS = counter('http_requests_total', 'Requests by the budget of their route and the status of the answer.', [
  'class',
  'status',
])
const SECONDS = new TimeHistogram(
  'http_request_duration_seconds',
  'From the request line to the answer, by the budget of the route.',
  'class',
)

/** Counts of one class. Every request passes here: a map of numbers is a tenth of a counter of prom-client. */
export class RequestCounts {
  readonly byStatus = new Map<number, number>()
  private readonly seconds: TimeSeries

  constructor(name: RequestClass) {
    this.seconds = SECONDS.of(name)
  }

  /** @param status 0: the client left before its answer */
  answered(status: number, ms: number): void {
    this.byStatus.set(status, (this.byStatus.get(status) ?? 0) + 1)
    this.seconds.observeMs(ms)
  }
}

const counts = new Map<RequestClass, RequestCounts>()

export function countsOf(name: RequestClass): RequestCounts {
  let found = counts.get(name)
  if (found === undefined) {
    found = new RequestCounts(name)
    counts.set(name, found)
  }
  return found
}

whenRead(() => {
  REQUESTS.reset()
  for (const [name, { byStatus }] of counts) {
    for (const [status, count] of byStatus) {
      REQUESTS.inc({ class: name, status: status === 0 ? 'left' : String(status) }, count)
    }
  }
})

export const UNKNOWN_REQUESTS = countsOf('unknown')
export const PROBES = countsOf('probe')

/** Of a listener beside the API. */
export const countsOfListener = (name: 'intake' | 'sql'): RequestCounts => countsOf(name)

/** @param head as of `Exchange.reply`: `202 Accepted` */
export const statusOf = (head: string): number =>
  (head.charCodeAt(0) - ZERO) * 100 + (head.charCodeAt(1) - ZERO) * 10 + (head.charCodeAt(2) - ZERO)

const ZERO = 0x30
