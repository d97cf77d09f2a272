import { randomBytes } from 'node:crypto'
import type { Logger } from '../log.js'
import type { FinishedSpan, SpansOrigin } from './finished-span.js'
import { SpanQueue } from './span-queue.js'
import { isWithinRatio, parseTraceparent, type TraceContext } from './trace-context.js'

/**
 * The spans of this process: requests of a gateway, batches and inserts of an attributor. Off unless a collector is
 * named; a path that every request or event takes then asks `SPANS.isOn` and does nothing else.
 *
 * Attributes are bounded by the code: none holds a tenant, an identity, content, or a path, which may be a capability
 * URL.
 */

/** A span that has begun: its context is already known to those who link to it. */
export interface BegunSpan {
  readonly context: TraceContext
  readonly parentSpanId: string | undefined
}

export const newSpanId = (): string => randomBytes(8).toString('hex')

class Spans {
  /** Whether any span is recorded. */
  isOn = false
  private ratio = 0
  private queue: SpanQueue | undefined

  open(queue: SpanQueue, ratio: number): void {
    this.queue = queue
    this.ratio = ratio
    this.isOn = true
  }

  /**
   * Decides whether a request is sampled: the share has its trace, and the caller has not said that it is not.
   *
   * @param traceIdOf called for a request without a valid `traceparent`, which begins a trace
   */
  beginRequest(traceparent: string, traceIdOf: () => string): BegunSpan | undefined {
    const parent = parseTraceparent(traceparent)
    if (parent === undefined) {
      // Its trace id would be random as well, and is needed for few.
      if (Math.random() >= this.ratio) return undefined
      return { context: { traceId: traceIdOf(), spanId: newSpanId() }, parentSpanId: undefined }
    }
    const { traceId, spanId, isSampled } = parent
    if (!isSampled || !isWithinRatio(traceId, this.ratio)) return undefined
    return { context: { traceId, spanId: newSpanId() }, parentSpanId: spanId }
  }

  end(span: FinishedSpan): void {
    this.queue?.add(span)
  }

  async close(): Promise<void> {
    this.isOn = false
    const { queue } = this
    this.queue = undefined
    await queue?.close()
  }
}

export const SPANS = new Spans()

export interface SpansSettings {
  /** Of the collector, with its path. Empty: no spans. */
  readonly otlpTracesEndpoint: string
  /** Of all traces, from 0 to 1. */
  readonly traceSampleRatio: number
}

/** Turns spans on, if a collector is named. */
export async function openSpans(
  { otlpTracesEndpoint: url, traceSampleRatio: ratio }: SpansSettings,
  origin: SpansOrigin,
  log: Logger,
): Promise<void> {
  if (url === '') return
  // Here: it loads for a tenth of a second, which only those who want spans pay.
  const { otlpSender } = await import('./otlp-sender.js')
  const failed = (cause: unknown): void => log.warn({ err: cause }, 'the collector takes no spans; they are dropped')
  SPANS.open(new SpanQueue(otlpSender(url, origin), failed), ratio)
  log.info({ ratio }, 'exporting spans')
}

/**
 * The span of an HTTP request, with the names of OpenTelemetry's conventions. @param route `POST /api/v1/invocations`
 */
export function endRequest(
  { context, parentSpanId }: BegunSpan,
  route: string,
  status: number,
  startMs: number,
  endMs: number,
): void {
  const [method = '', path = ''] = route.split(' ')
  const isError = status >= 500
  SPANS.end({
    name: route,
    kind: 'server',
    context,
    parentSpanId,
    startMs,
    endMs,
    attributes: {
      'http.request.method': method,
      'http.route': path,
      // A client that left got no status.
      ...(status > 0 && { 'http.response.status_code': status }),
      ...(isError && { 'error.type': String(status) }),
    },
    isError,
  })
}
