import type { Attributes } from '@opentelemetry/api'
import { OTLPLogExporter as LogsJson } from '@opentelemetry/exporter-logs-otlp-http'
import { OTLPLogExporter as LogsProtobuf } from '@opentelemetry/exporter-logs-otlp-proto'
import { OTLPTraceExporter as TracesJson } from '@opentelemetry/exporter-trace-otlp-http'
import { OTLPTraceExporter as TracesProtobuf } from '@opentelemetry/exporter-trace-otlp-proto'
import { resourceFromAttributes } from '@opentelemetry/resources'
import { BatchLogRecordProcessor, LoggerProvider } from '@opentelemetry/sdk-logs'
import { BasicTracerProvider, BatchSpanProcessor } from '@opentelemetry/sdk-trace-base'

/** The OpenTelemetry SDK as an application sets it up: batches, gzip, one of the two encodings. */
export interface SdkOptions {
  readonly url: string
  readonly apiKey: string
  readonly encoding: 'protobuf' | 'json'
  readonly resource?: Attributes
}

type ExporterConfig = NonNullable<ConstructorParameters<typeof TracesProtobuf>[0]>

const configOf = ({ url, apiKey }: SdkOptions, path: string): ExporterConfig => ({
  url: `${url}${path}`,
  headers: { 'x-api-key': apiKey },
  compression: 'gzip' as NonNullable<ExporterConfig['compression']>,
})

/** Whether the exporter reported success, one per export. */
export type Outcomes = boolean[]

/** Sees the results of an exporter, which the SDK itself only logs. */
function watched<E extends { export(items: never, done: (result: { code: number }) => void): void }>(
  exporter: E,
  outcomes: Outcomes,
): E {
  const original = exporter.export.bind(exporter)
  exporter.export = (items, done) =>
    original(items, (result) => {
      outcomes.push(result.code === 0)
      done(result)
    })
  return exporter
}

export function tracing(options: SdkOptions, scope = 'test') {
  const config = configOf(options, '/v1/traces')
  const outcomes: Outcomes = []
  const exporter = options.encoding === 'json' ? new TracesJson(config) : new TracesProtobuf(config)
  const provider = new BasicTracerProvider({
    resource: resourceFromAttributes(options.resource ?? {}),
    spanProcessors: [new BatchSpanProcessor(watched(exporter, outcomes))],
  })
  return { tracer: provider.getTracer(scope), provider, outcomes }
}

export function logging(options: SdkOptions, scope = 'test') {
  const config = configOf(options, '/v1/logs')
  const outcomes: Outcomes = []
  const exporter = options.encoding === 'json' ? new LogsJson(config) : new LogsProtobuf(config)
  const provider = new LoggerProvider({
    resource: resourceFromAttributes(options.resource ?? {}),
    processors: [new BatchLogRecordProcessor({ exporter: watched(exporter, outcomes) })],
  })
  return { logger: provider.getLogger(scope), provider, outcomes }
}
