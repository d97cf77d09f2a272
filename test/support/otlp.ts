import { readFileSync } from 'node:fs'
import protobuf from 'protobufjs'

/** OTLP requests as a full decoder and encoder knows them: protobufjs with the public definitions. */
const SCHEMA = protobuf.parse(readFileSync(new URL('./otlp.proto', import.meta.url), 'utf8')).root

export type OtlpMessage =
  | 'ExportTraceServiceRequest'
  | 'ExportLogsServiceRequest'
  | 'ExportTraceServiceResponse'
  | 'ExportLogsServiceResponse'
  | 'ExportMetricsServiceResponse'
  | 'Status'
  | 'RetryInfo'
  | 'HealthCheckRequest'
  | 'HealthCheckResponse'

export const encodeOtlp = (message: OtlpMessage, object: object): Buffer => {
  const type = SCHEMA.lookupType(message)
  return Buffer.from(type.encode(type.fromObject(object)).finish())
}

// biome-ignore lint/suspicious/noExplicitAny: the shape is the message's
export const decodeOtlp = (message: OtlpMessage, bytes: Uint8Array): any => {
  const type = SCHEMA.lookupType(message)
  return type.toObject(type.decode(bytes), { longs: String, bytes: Buffer, arrays: true, oneofs: true })
}

export type PlainValue = string | number | boolean | readonly string[]

export function anyValue(value: PlainValue): object {
  switch (typeof value) {
    case 'string':
      return { stringValue: value }
    case 'boolean':
      return { boolValue: value }
    case 'number':
      return Number.isInteger(value) ? { intValue: String(value) } : { doubleValue: value }
    default:
      return { arrayValue: { values: value.map(anyValue) } }
  }
}

export const keyValues = (attributes: Readonly<Record<string, PlainValue>>): object[] =>
  Object.entries(attributes).map(([key, value]) => ({ key, value: anyValue(value) }))

/** A span as a test names it; ids are hexadecimal, times are milliseconds. */
export interface TestSpan {
  readonly traceId?: string
  readonly spanId?: string
  readonly parentSpanId?: string
  readonly startMs?: number
  readonly endMs?: number
  readonly isError?: boolean
  readonly attributes: Readonly<Record<string, PlainValue>>
}

export interface TestRequest {
  readonly resource?: Readonly<Record<string, PlainValue>>
  readonly scope?: string
}

export const TRACE = '0af7651916cd43dd8448eb211c80319c'
export const SPAN = 'b7ad6b7169203331'
export const START_MS = Date.UTC(2026, 10, 23, 10, 0, 0, 123)

const nanos = (ms: number): string => `${ms}000000`

/** An `ExportTraceServiceRequest` in its JSON form. */
export const tracesJson = (spans: readonly TestSpan[], { resource = {}, scope = 'test' }: TestRequest = {}) => ({
  resourceSpans: [
    {
      resource: { attributes: keyValues(resource) },
      scopeSpans: [
        {
          scope: { name: scope },
          spans: spans.map((span) => ({
            traceId: span.traceId ?? TRACE,
            spanId: span.spanId ?? SPAN,
            ...(span.parentSpanId !== undefined && { parentSpanId: span.parentSpanId }),
            name: 'chat',
            kind: 3,
            startTimeUnixNano: nanos(span.startMs ?? START_MS),
            endTimeUnixNano: nanos(span.endMs ?? START_MS + 850),
            attributes: keyValues(span.attributes),
            status: span.isError === true ? { code: 2, message: 'failed' } : {},
          })),
        },
      ],
    },
  ],
})

export interface TestLogRecord {
  readonly traceId?: string
  readonly spanId?: string
  readonly body?: string
  readonly atMs?: number
  readonly attributes: Readonly<Record<string, PlainValue>>
}

/** An `ExportLogsServiceRequest` in its JSON form. */
export const logsJson = (records: readonly TestLogRecord[], { resource = {}, scope = 'test' }: TestRequest = {}) => ({
  resourceLogs: [
    {
      resource: { attributes: keyValues(resource) },
      scopeLogs: [
        {
          scope: { name: scope },
          logRecords: records.map((record) => ({
            timeUnixNano: nanos(record.atMs ?? START_MS),
            observedTimeUnixNano: nanos((record.atMs ?? START_MS) + 1),
            severityNumber: 9,
            ...(record.body !== undefined && { body: { stringValue: record.body } }),
            ...(record.traceId !== undefined && { traceId: record.traceId }),
            ...(record.spanId !== undefined && { spanId: record.spanId }),
            attributes: keyValues(record.attributes),
          })),
        },
      ],
    },
  ],
})

const BYTES_MEMBERS = new Set(['traceId', 'spanId', 'parentSpanId', 'bytesValue'])

/** The same request in protobuf: ids as bytes. */
export function asProtobuf(message: OtlpMessage, json: object): Buffer {
  const withBytes = (value: unknown, key = ''): unknown => {
    if (typeof value === 'string' && BYTES_MEMBERS.has(key)) return Buffer.from(value, 'hex')
    if (Array.isArray(value)) return value.map((element) => withBytes(element))
    if (typeof value !== 'object' || value === null || Buffer.isBuffer(value)) return value
    return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, withBytes(inner, name)]))
  }
  return encodeOtlp(message, withBytes(json) as object)
}
