/** What coding assistants send by OpenTelemetry, read in both of its encodings. */
import { expect } from 'vitest'
import type { Billing } from '../../../../internal/auth/billing.js'
import { KeyList } from '../../../../internal/ingest/otlp/key-list.js'
import { type ReadTelemetry, readTelemetry } from '../../../../internal/ingest/otlp/read-request.js'
import type { SpanEvent } from '../../../../internal/ingest/otlp/span-events.js'
import type { Signal } from '../../../../internal/ingest/otlp/telemetry.js'
import { validateInvocation } from '../../../../internal/invocations/validate-invocation.js'
import {
  asProtobuf,
  logsJson,
  type PlainValue,
  START_MS,
  type TestLogRecord,
  type TestRequest,
  type TestSpan,
  tracesJson,
} from '../../../support/otlp.js'

const KEYS = new KeyList()
export type Attributes = Readonly<Record<string, PlainValue>>

async function read(json: object, signal: Signal, billing?: Billing): Promise<ReadTelemetry> {
  const message = signal === 'traces' ? 'ExportTraceServiceRequest' : 'ExportLogsServiceRequest'
  const context = { tenantId: 'tnt_1', isGateway: false, billing }
  const result = await readTelemetry(asProtobuf(message, json), 'protobuf', signal, KEYS, context)
  const same = await readTelemetry(Buffer.from(JSON.stringify(json)), 'json', signal, KEYS, context)
  expect(same).toEqual(result)
  if (typeof result === 'string') throw new Error(result)
  for (const { event } of result.events) {
    const validation = validateInvocation(JSON.parse(JSON.stringify(event)), START_MS + 60_000)
    expect(validation).toMatchObject({ ok: true, unknownFields: 0 })
  }
  return result
}

export const readLogs = (records: readonly TestLogRecord[], request: TestRequest, billing?: Billing) =>
  read(logsJson(records, request), 'logs', billing)
export const readSpans = (spans: readonly TestSpan[], request: TestRequest, billing?: Billing) =>
  read(tracesJson(spans, request), 'traces', billing)

export const eventsOf = ({ events }: ReadTelemetry): SpanEvent[] => events.map(({ event }) => event)
export const codesOf = (event: SpanEvent | undefined): readonly string[] => event?.assumptions?.split(',') ?? []
export const passedOver = ({ senders }: ReadTelemetry): unknown =>
  Object.fromEntries(senders.flatMap((sender) => [...sender.passedOver]))
