import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { apim } from '../../../../internal/ingest/adapters/apim.js'
import { bedrockLog } from '../../../../internal/ingest/adapters/bedrock-log.js'
import { cloudevents } from '../../../../internal/ingest/adapters/cloudevents.js'
import { envoy } from '../../../../internal/ingest/adapters/envoy.js'
import { kong } from '../../../../internal/ingest/adapters/kong.js'
import { portkey } from '../../../../internal/ingest/adapters/portkey.js'
import type { JsonSource } from '../../../../internal/ingest/intake/json-source.js'
import { validateInvocation } from '../../../../internal/invocations/validate-invocation.js'
import { JsonSelector } from '../../../../internal/text/select-json.js'
import { drawn } from '../../../support/run/rings.js'
import {
  apimPayload,
  bedrockPayload,
  cloudEventPayload,
  envoyPayload,
  kongPayload,
  portkeyPayload,
} from './gateway-payloads.js'

type Payload = Record<string, unknown>

/** One call, as a source states it: its id, when it began in milliseconds, and its tokens. */
interface Call {
  readonly id: unknown
  readonly atMs: number
  readonly input: number
  readonly output: number
}

const timeOf = ({ atMs }: Call): string => new Date(atMs).toISOString()

const SOURCES: readonly (readonly [JsonSource, (call: Call) => Payload])[] = [
  [
    envoy,
    (call) =>
      envoyPayload({
        'x-request-id': call.id,
        start_time: timeOf(call),
        'gen_ai.usage.input_tokens': String(call.input),
        'gen_ai.usage.output_tokens': call.output,
        'gen_ai.usage.total_tokens': '-',
      }),
  ],
  [
    kong,
    (call) =>
      kongPayload(
        { request: { id: call.id }, started_at: call.atMs },
        { usage: { prompt_tokens: call.input, completion_tokens: call.output } },
      ),
  ],
  [
    portkey,
    (call) =>
      portkeyPayload(
        {},
        {
          id: call.id,
          created: call.atMs / 1_000,
          usage: { prompt_tokens: call.input, completion_tokens: call.output },
        },
      ),
  ],
  [
    bedrockLog,
    (call) =>
      bedrockPayload(
        { requestId: call.id, timestamp: timeOf(call), output: { outputTokenCount: call.output } },
        { inputTokenCount: call.input, cacheReadInputTokenCount: 0, cacheWriteInputTokenCount: 0 },
      ),
  ],
  [
    apim,
    (call) =>
      apimPayload({
        CorrelationId: call.id,
        TimeGenerated: timeOf(call),
        PromptTokens: call.input,
        CompletionTokens: String(call.output),
        TotalTokens: call.input + call.output,
      }),
  ],
  [
    cloudevents,
    (call) =>
      cloudEventPayload(
        { id: call.id, time: timeOf(call) },
        {
          input_tokens: call.input,
          output_tokens: call.output,
          ...(typeof call.id === 'string' && { response_id: call.id }),
        },
      ),
  ],
]

function eventOf(source: JsonSource, payload: Payload): Payload {
  const selection = new JsonSelector(source.wanted).select(Buffer.from(JSON.stringify(payload)))
  const result = source.map(selection?.value ?? {}, {
    contentType: 'application/json',
    caller: { tenantId: 'tnt_one', isGateway: true },
    receivedAtMs: NOW,
    header: () => '',
  })
  if (result.kind !== 'event') throw new Error(`${JSON.stringify(result)} is no event`)
  const event = JSON.parse(JSON.stringify(result.event)) as Payload
  expect(validateInvocation(event, NOW)).toMatchObject({ ok: true })
  return event
}

const NOW = Date.UTC(2026, 10, 21, 10)
const NO_IDS = ['-', '', ' ', 'null', 'None', 'undefined', null, undefined, 7, {}]
const OVERLONG = `${'bGl0ZWxsbTpjdXN0b21fbGxt'.repeat(16)}${'='.repeat(9)}`
const noId = fc.constantFrom(...NO_IDS)
const call = fc.record({
  id: fc.constant(undefined as unknown),
  atMs: fc.integer({ min: NOW - 86_400_000, max: NOW - 1 }),
  input: fc.integer({ min: 1, max: 200_000 }),
  output: fc.integer({ min: 1, max: 200_000 }),
})
const calls = fc.uniqueArray(call, { minLength: 1, maxLength: 6, selector: (one) => JSON.stringify(one) })

describe.each(SOURCES.map(([source, payloadOf]) => [source.name, source, payloadOf] as const))(
  '%s',
  (_, source, payloadOf) => {
    const idOf = (one: Call): unknown => eventOf(source, payloadOf(one))['event_id']

    test('calls whose id names nothing are as many events, each the same when it is sent again', () => {
      fc.assert(
        fc.property(calls, noId, noId, (drawn, id, again) => {
          const ids = drawn.map((one) => idOf({ ...one, id }))
          expect(new Set(ids).size).toBe(drawn.length)
          expect(drawn.map((one) => idOf({ ...one, id }))).toEqual(ids)
          if (source !== cloudevents) expect(drawn.map((one) => idOf({ ...one, id: again }))).toEqual(ids)
        }),
        { numRuns: drawn(50) },
      )
    })

    test('an id of 393 characters costs no event, and tells calls apart', () => {
      const one = { id: OVERLONG, atMs: NOW - 1_000, input: 120, output: 40 }
      expect(OVERLONG).toHaveLength(393)
      expect(idOf(one)).toBe(idOf({ ...one }))
      expect(idOf(one)).not.toBe(idOf({ ...one, id: `${OVERLONG}=` }))
    })

    test('an id that the source gives is that of the call, whatever else a repeat states', () => {
      if (source === envoy) return
      const one = { id: 'a1b2', atMs: NOW - 1_000, input: 120, output: 40 }
      expect(idOf(one)).toBe(idOf({ ...one, output: 41 }))
    })
  },
)

test('five calls to which a client gave one x-request-id stay five, and one line posted twice is one', () => {
  const lines = [0, 1, 2, 3, 4].map((place) =>
    envoyPayload({ 'x-request-id': 'my-job', start_time: `2026-11-21T09:50:0${place}.250Z` }),
  )
  const ids = lines.map((line) => eventOf(envoy, line)['event_id'])
  expect(new Set(ids).size).toBe(5)
  expect(lines.map((line) => eventOf(envoy, line)['event_id'])).toEqual(ids)
})

test('a call of Envoy is the same whether numbers come as texts or as numbers', () => {
  const texts = envoyPayload({ duration: '1040', 'gen_ai.usage.output_tokens': '40', response_code: '200' })
  const numbers = envoyPayload({ duration: 1040, 'gen_ai.usage.output_tokens': 40, response_code: 200 })
  expect(eventOf(envoy, texts)).toEqual(eventOf(envoy, numbers))
})

describe.each([
  ['envoy', envoy, envoyPayload()],
  ['kong', kong, kongPayload()],
  ['bedrock-log', bedrockLog, bedrockPayload()],
])('a line of %s within what a collector sends', (_, source, payload) => {
  test.each(['message', 'log', 'line'])('as the text of %s is the same call', (member) => {
    const shipped = { file: '/var/log/a.log', timestamp: '2026-11-21T10:00:00Z', [member]: JSON.stringify(payload) }
    expect(eventOf(source, shipped)).toEqual(eventOf(source, payload))
    expect(eventOf(source, { ...shipped, [member]: `${JSON.stringify(payload)}\n` })).toEqual(eventOf(source, payload))
  })

  test('a member that is no line is not read', () => {
    expect(eventOf(source, { ...payload, message: 'text', log: ['x'], line: 7 })).toEqual(eventOf(source, payload))
  })
})
