import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { adapterRoutes } from '../../../../internal/ingest/adapters/adapter-routes.js'
import { otlpRoutes } from '../../../../internal/ingest/otlp/otlp-routes.js'
import { type IntakeGateway, startIntakeGateway } from '../../../support/intake-gateway.js'
import { asProtobuf, logsJson, tracesJson } from '../../../support/otlp.js'
import { TENANT } from '../../../support/scope-keys.js'
import {
  apimPayload,
  bedrockPayload,
  cloudEventPayload,
  envoyPayload,
  kongPayload,
  portkeyPayload,
} from '../adapters/gateway-payloads.js'
import { litellmPayload } from '../adapters/litellm-payload.js'

let gateway: IntakeGateway

beforeAll(async () => {
  const routes = [...adapterRoutes(), ...otlpRoutes({ dimensionsOf: () => [] })]
  gateway = await startIntakeGateway({ routes, ingestPerSecond: 10_000_000 })
})
afterAll(() => gateway.stop())

const PAYLOADS: Readonly<Record<string, object>> = {
  litellm: litellmPayload(),
  kong: kongPayload(),
  envoy: envoyPayload(),
  portkey: portkeyPayload(),
  'bedrock-log': bedrockPayload(),
  apim: apimPayload(),
  cloudevents: cloudEventPayload(),
}

/** Payloads of a JSON intake: as its sender writes them, with a member of another type, or none at all. */
const payloads = fc
  .record({
    intake: fc.constantFrom(...Object.keys(PAYLOADS)),
    odd: fc.array(fc.option(fc.tuple(fc.nat(), fc.constantFrom(null, 7, 'x', [], {}))), { minLength: 1, maxLength: 5 }),
    foreign: fc.array(fc.constantFrom('x', 7, null, ['x'], {}), { maxLength: 3 }),
  })
  .map(({ intake, odd, foreign }) => {
    const payload = PAYLOADS[intake] as object
    const names = Object.keys(payload)
    const changed = odd.map((each) =>
      each === null ? payload : { ...payload, [names[each[0] % names.length] as string]: each[1] },
    )
    const all = [...changed, ...foreign]
    return {
      path: `/intake/${intake}`,
      body: Buffer.from(JSON.stringify(all)),
      type: 'application/json',
      size: all.length,
    }
  })

const attributes = fc.dictionary(
  fc.constantFrom(
    'gen_ai.operation.name',
    'gen_ai.provider.name',
    'gen_ai.request.model',
    'gen_ai.usage.input_tokens',
    'my.token_count',
    'event.name',
    'openinference.span.kind',
  ),
  fc.constantFrom('chat', 'invoke_agent', 'openai', 'gpt-4o', 'api_request', 'LLM', 7, 1_000),
)

/** Spans or log records, in either encoding. */
const telemetry = fc
  .record({
    signal: fc.constantFrom('traces', 'logs'),
    isJson: fc.boolean(),
    scope: fc.constantFrom('app', 'litellm', 'com.anthropic.claude_code.events', 'codex_otel.log_only', ''),
    records: fc.array(fc.record({ attributes, spanId: fc.constantFrom('a1b2c3d4e5f60718', '') }), { maxLength: 6 }),
  })
  .map(({ signal, isJson, scope, records }) => {
    const json = signal === 'traces' ? tracesJson(records, { scope }) : logsJson(records, { scope })
    const message = signal === 'traces' ? 'ExportTraceServiceRequest' : 'ExportLogsServiceRequest'
    return {
      path: `/v1/${signal}`,
      body: isJson ? Buffer.from(JSON.stringify(json)) : asProtobuf(message, json),
      type: isJson ? 'application/json' : 'application/x-protobuf',
      size: records.length,
    }
  })

const counted = () => {
  const all = [...gateway.received.of(TENANT).all()].map(({ counts }) => counts)
  return {
    received: all.reduce((sum, { received }) => sum + received, 0),
    accepted: all.reduce((sum, { accepted }) => sum + accepted, 0),
  }
}

test('whatever comes by whatever intake is new, known, passed over or rejected, and counted once', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.oneof(payloads, telemetry), { maxLength: 4 }), async (requests) => {
      let sent = counted().received
      for (const { path, body, type, size } of requests) {
        const headers = { 'x-api-key': gateway.plainKey, 'content-type': type }
        const { status } = await fetch(gateway.url + path, { method: 'POST', body, headers })
        expect(status).toBe(200)
        sent += size
      }
      expect(counted().received).toBe(sent)
      expect(counted().accepted).toBe(new Set(gateway.events().map((event) => event.event_id)).size)
    }),
  )
})
