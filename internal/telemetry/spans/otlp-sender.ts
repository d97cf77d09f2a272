/**
 * Sends spans by OTLP/HTTP in protobuf. OpenTelemetry's exporter encodes them, repeats what a busy collector refuses,
 * and reads OTLP's own variables for headers, compression and certificates. It is loaded only where spans are wanted.
 */
import { randomBytes } from 'node:crypto'
import { SpanKind as OtelKind, SpanStatusCode, TraceFlags } from '@opentelemetry/api'
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-proto'
import { resourceFromAttributes } from '@opentelemetry/resources'
import { type FinishedSpan, OWN_SCOPE, type SpanKind, type SpansOrigin } from './finished-span.js'
import type { SendSpans } from './span-queue.js'
import type { TraceContext } from './trace-context.js'

/** Of one export, its repeats included. */
const EXPORT_MS_MAX = 5_000

type OtelSpan = Parameters<OTLPTraceExporter['export']>[0][number]
type HrTime = OtelSpan['startTime']

export function otlpSender(url: string, { role, member, version }: SpansOrigin): SendSpans {
  const exporter = new OTLPTraceExporter({
    url,
    timeoutMillis: EXPORT_MS_MAX,
    headers: { traceparent: UNSAMPLED },
  })
  const resource = resourceFromAttributes({
    'service.namespace': 'attribution',
    'service.name': `attribution-${role}`,
    'service.version': version,
    'service.instance.id': member,
    'attribution.role': role,
  })
  const scope = { name: OWN_SCOPE, version }
  return (spans) =>
    new Promise((resolve, reject) => {
      exporter.export(
        spans.map((span) => otelSpan(span, resource, scope)),
        ({ code, error }) => (code === 0 ? resolve() : reject(new Error('export failed', { cause: error }))),
      )
    })
}

/**
 * An export is no part of any trace: with this parent, nobody on its way makes spans of it, a listener of this product
 * included. Otherwise each export to one's own listener would cause the next.
 */
const UNSAMPLED = `00-${randomBytes(16).toString('hex')}-${randomBytes(8).toString('hex')}-00`

const KINDS: Readonly<Record<SpanKind, OtelKind>> = {
  server: OtelKind.SERVER,
  client: OtelKind.CLIENT,
  consumer: OtelKind.CONSUMER,
}

const otelSpan = (
  { name, kind, context, parentSpanId, startMs, endMs, attributes, links, isError }: FinishedSpan,
  resource: OtelSpan['resource'],
  instrumentationScope: OtelSpan['instrumentationScope'],
): OtelSpan => ({
  name,
  kind: KINDS[kind],
  spanContext: () => sampled(context),
  ...(parentSpanId !== undefined && {
    parentSpanContext: sampled({ traceId: context.traceId, spanId: parentSpanId }),
  }),
  startTime: hrTime(startMs),
  endTime: hrTime(endMs),
  duration: hrTime(endMs - startMs),
  status: { code: isError ? SpanStatusCode.ERROR : SpanStatusCode.UNSET },
  attributes: { ...attributes },
  links: (links?.to ?? []).map((to) => ({ context: sampled(to) })),
  droppedLinksCount: links?.dropped ?? 0,
  events: [],
  droppedEventsCount: 0,
  droppedAttributesCount: 0,
  ended: true,
  resource,
  instrumentationScope,
})

const sampled = ({ traceId, spanId }: TraceContext) => ({ traceId, spanId, traceFlags: TraceFlags.SAMPLED })

function hrTime(ms: number): HrTime {
  const seconds = Math.floor(ms / 1_000)
  return [seconds, Math.round((ms - seconds * 1_000) * 1_000_000)]
}
