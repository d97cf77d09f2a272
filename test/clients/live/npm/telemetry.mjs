/** Exports spans to the product as any application does: `OTEL_EXPORTER_OTLP_*` and `OTEL_SERVICE_NAME` say where. */

import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-proto'
import { registerInstrumentations } from '@opentelemetry/instrumentation'
import { resourceFromAttributes } from '@opentelemetry/resources'
import { BatchSpanProcessor, NodeTracerProvider } from '@opentelemetry/sdk-trace-node'

/**
 * @param {readonly object[]} [instrumentations]
 * @param {(exporter: OTLPTraceExporter) => object} [processor]
 */
export function tracing(instrumentations = [], processor = (exporter) => new BatchSpanProcessor(exporter)) {
  const provider = new NodeTracerProvider({
    resource: resourceFromAttributes({ 'service.name': process.env.OTEL_SERVICE_NAME }),
    spanProcessors: [processor(new OTLPTraceExporter())],
  })
  provider.register()
  registerInstrumentations({ instrumentations, tracerProvider: provider })
  return provider
}
