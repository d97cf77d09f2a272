import { randomBytes, randomUUID } from 'node:crypto'
import { gzipSync } from 'node:zlib'
import { SpanKind, TraceFlags } from '@opentelemetry/api'
import { ProtobufTraceSerializer } from '@opentelemetry/otlp-transformer'
import { BasicTracerProvider, InMemorySpanExporter, SimpleSpanProcessor } from '@opentelemetry/sdk-trace-base'
import { events } from '../ingest/requests.js'

/**
 * The same calls in the forms in which they are sent, each with ids of its own: events of ours as NDJSON, spans of the
 * OpenTelemetry SDK and payloads of LiteLLM with 4 KB of prompt and answer each.
 */
export interface Form {
  readonly name: string
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly isIntake: boolean
  /** @returns a body that no request has had before */
  readonly body: () => Buffer
  readonly bytesPerCall: number
}

export const CALLS_PER_BODY = 200
const CONTENT_BYTES = 4_096

export function forms(nowMs: number): readonly Form[] {
  const calls = events(nowMs, CALLS_PER_BODY)
  const native = nativeBodies(calls)
  const otlp = otlpBodies(calls)
  const litellm = litellmBodies(calls)
  const ndjson = { 'content-type': 'application/x-ndjson' }
  const protobuf = { 'content-type': 'application/x-protobuf' }
  const gzip = (body: () => Buffer) => () => gzipSync(body())
  const form = (name: string, path: string, headers: Form['headers'], body: () => Buffer): Form => ({
    name,
    path,
    headers,
    isIntake: path.startsWith('/v1') || path.startsWith('/intake'),
    body,
    bytesPerCall: Math.round(body().length / CALLS_PER_BODY),
  })
  return [
    form('native bulk', '/api/v1/invocations', ndjson, native),
    form('OTLP protobuf', '/v1/traces', protobuf, otlp),
    form('OTLP protobuf, gzip', '/v1/traces', { ...protobuf, 'content-encoding': 'gzip' }, gzip(otlp)),
    form('LiteLLM', '/intake/litellm', { 'content-type': 'application/json' }, litellm),
  ]
}

type Call = Record<string, unknown>

const nativeBodies =
  (calls: readonly Call[]): (() => Buffer) =>
  () => {
    const lines = calls.map((call) =>
      JSON.stringify({ ...call, event_id: randomUUID(), trace_id: randomBytes(16).toString('hex') }),
    )
    return Buffer.from(lines.join('\n'))
  }

/** Serialised once by the SDK; then only the trace ids differ, which have places of their own in the bytes. */
function otlpBodies(calls: readonly Call[]): () => Buffer {
  const marker = randomBytes(14).toString('hex')
  const exporter = new InMemorySpanExporter()
  let span = 0
  const provider = new BasicTracerProvider({
    spanProcessors: [new SimpleSpanProcessor(exporter)],
    idGenerator: {
      generateTraceId: () => `${marker}${(++span).toString(16).padStart(4, '0')}`,
      generateSpanId: () => randomBytes(8).toString('hex'),
    },
    spanLimits: { attributeValueLengthLimit: Number.POSITIVE_INFINITY },
  })
  const tracer = provider.getTracer('@opentelemetry/instrumentation-openai', '0.20.0')
  for (const call of calls) {
    const startTime = new Date(String(call['ingestion_timestamp']))
    const attributes = { ...attributesOf(call), ...content() }
    const started = tracer.startSpan(`chat ${call['requested_model']}`, {
      kind: SpanKind.CLIENT,
      startTime,
      attributes,
    })
    if ((started.spanContext().traceFlags & TraceFlags.SAMPLED) === 0) throw new Error('a span is not sampled')
    started.end(startTime.getTime() + Number(call['latency_ms'] ?? 500))
  }
  const bytes = ProtobufTraceSerializer.serializeRequest(exporter.getFinishedSpans())
  if (bytes === undefined) throw new Error('the SDK serialised nothing')
  const template = Buffer.from(bytes)
  const places: number[] = []
  const id = Buffer.from(marker, 'hex')
  for (let at = template.indexOf(id); at >= 0; at = template.indexOf(id, at + 1)) places.push(at)
  if (places.length !== calls.length) throw new Error(`${places.length} trace ids of ${calls.length} spans`)
  return () => {
    const body = Buffer.from(template)
    for (const place of places) randomBytes(14).copy(body, place)
    return body
  }
}

const attributesOf = (call: Call) => ({
  'gen_ai.operation.name': 'chat',
  'gen_ai.provider.name': String(call['provider']),
  'gen_ai.request.model': String(call['requested_model']),
  'gen_ai.request.max_tokens': 1024,
  'gen_ai.request.temperature': 0.2,
  'gen_ai.response.model': String(call['requested_model']),
  'gen_ai.response.id': `chatcmpl-${randomBytes(12).toString('hex')}`,
  'gen_ai.response.finish_reasons': ['stop'],
  'gen_ai.usage.input_tokens': Number(call['input_tokens']),
  'gen_ai.usage.output_tokens': Number(call['output_tokens']),
  'server.address': 'api.example.com',
  'server.port': 443,
  'user.id': String(call['attributed_identity'] ?? 'nobody'),
})

const content = () => ({
  'gen_ai.input.messages': JSON.stringify([{ role: 'user', parts: [{ type: 'text', content: words(0.7) }] }]),
  'gen_ai.output.messages': JSON.stringify([{ role: 'assistant', parts: [{ type: 'text', content: words(0.25) }] }]),
})

const VOCABULARY = Array.from({ length: 2_000 }, () =>
  randomBytes(1 + (randomBytes(1)[0] as number) / 64).toString('hex'),
)

/** Text that compresses about as well as prose. @param share of the content's bytes */
function words(share: number): string {
  const parts: string[] = []
  let length = 0
  while (length < share * CONTENT_BYTES) {
    const word = VOCABULARY[Math.floor(Math.random() ** 2 * VOCABULARY.length)] as string
    parts.push(word)
    length += word.length + 1
  }
  return parts.join(' ')
}

function litellmBodies(calls: readonly Call[]): () => Buffer {
  const payloads = calls.map((call) => ({
    id: 'chatcmpl-1',
    call_type: 'acompletion',
    status: 'success',
    custom_llm_provider: call['provider'],
    model: call['requested_model'],
    model_group: call['requested_model'],
    prompt_tokens: call['input_tokens'],
    completion_tokens: call['output_tokens'],
    startTime: Date.parse(String(call['ingestion_timestamp'])) / 1000,
    endTime: Date.parse(String(call['ingestion_timestamp'])) / 1000 + 0.5,
    metadata: { user_api_key_alias: call['attributed_service'], user_api_key_user_id: call['attributed_identity'] },
    messages: [{ role: 'user', content: words(0.7) }],
    response: { choices: [{ message: { role: 'assistant', content: words(0.25) } }] },
  }))
  const lines = payloads.map((payload) => JSON.stringify(payload).slice(0, -1))
  return () => Buffer.from(lines.map((line) => `${line},"litellm_call_id":"${randomUUID()}"}`).join('\n'))
}
