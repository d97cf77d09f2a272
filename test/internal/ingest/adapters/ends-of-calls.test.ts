import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { apim } from '../../../../internal/ingest/adapters/apim.js'
import { bedrockLog } from '../../../../internal/ingest/adapters/bedrock-log.js'
import { envoy } from '../../../../internal/ingest/adapters/envoy.js'
import { kong } from '../../../../internal/ingest/adapters/kong.js'
import { litellm } from '../../../../internal/ingest/adapters/litellm.js'
import type { JsonSource, Mapped } from '../../../../internal/ingest/intake/json-source.js'
import { JsonSelector } from '../../../../internal/text/select-json.js'
import { apimPayload, bedrockPayload, envoyPayload, kongPayload } from './gateway-payloads.js'
import { litellmPayload } from './litellm-payload.js'

type Payload = Record<string, unknown>
type End = 'success' | 'cancelled' | 'error'

/** How a call ended, and what its source knows of its tokens: counts, zeros, or nothing. */
interface Ended {
  readonly end: End
  readonly status: number
  readonly input: unknown
  readonly output: unknown
}

const FAILED = { errorCode: 'ModelStreamErrorException' }
/** Bedrock's log says nothing of clients. */
const ENDS: readonly End[] = ['success', 'cancelled', 'error']

const SOURCES: readonly (readonly [JsonSource, readonly End[], (call: Ended) => Payload])[] = [
  [
    envoy,
    ENDS,
    ({ status, input, output }) =>
      envoyPayload({
        response_code: status,
        'gen_ai.usage.input_tokens': input,
        'gen_ai.usage.output_tokens': output,
        'gen_ai.usage.total_tokens': '-',
      }),
  ],
  [
    kong,
    ENDS,
    ({ status, input, output }) =>
      kongPayload(
        { response: { status } },
        { usage: { prompt_tokens: input, completion_tokens: output, total_tokens: 0, cost: 0 } },
      ),
  ],
  [
    bedrockLog,
    ['success', 'error'],
    ({ end, input, output }) =>
      bedrockPayload(
        { output: { outputTokenCount: output }, ...(end === 'error' && FAILED) },
        { inputTokenCount: input, cacheReadInputTokenCount: 0, cacheWriteInputTokenCount: 0 },
      ),
  ],
  [
    apim,
    ENDS,
    ({ status, input, output }) =>
      apimPayload({ ResponseCode: status, PromptTokens: input, CompletionTokens: output, TotalTokens: null }),
  ],
  [
    litellm,
    ENDS,
    ({ end, status, input, output }) =>
      litellmPayload(
        {
          // As LiteLLM says it: a client that hung up is a success with an error code.
          status: end === 'error' ? 'failure' : 'success',
          error_information: end === 'success' ? null : { error_code: String(status === 0 ? 499 : status) },
          prompt_tokens: input,
          completion_tokens: output,
          total_tokens: 0,
          response_cost: 0,
          cost_breakdown: null,
        },
        { usage_object: null },
      ),
  ],
]

function mapped(source: JsonSource, payload: Payload): Mapped {
  const selection = new JsonSelector(source.wanted).select(Buffer.from(JSON.stringify(payload)))
  return source.map(selection?.value ?? {}, {
    contentType: 'application/json',
    caller: { tenantId: 'tnt_one', isGateway: true },
    receivedAtMs: Date.UTC(2026, 10, 21, 10),
    header: () => '',
  })
}

const STATUSES: Readonly<Record<End, readonly number[]>> = {
  success: [200, 201],
  cancelled: [499, 0],
  error: [429, 500, 503, 529],
}

describe.each(SOURCES.map((source) => [source[0].name, ...source] as const))('%s', (_, source, ends, payloadOf) => {
  const drawn = fc
    .constantFrom(...ends)
    .chain((end) => fc.record({ end: fc.constant(end), status: fc.constantFrom(...STATUSES[end]) }))

  test('counts of a call that broke are those until then, and it ended as its source says', () => {
    const count = fc.integer({ min: 1, max: 100_000 })
    fc.assert(
      fc.property(drawn, count, count, ({ end, status }, input, output) => {
        const result = mapped(source, payloadOf({ end, status, input, output }))
        expect(result).toMatchObject({ kind: 'event', event: { outcome: end, input_tokens: input } })
        const basis = result.kind === 'event' ? result.event.usage_basis : null
        expect(basis).toBe(end === 'success' ? undefined : 'partial')
      }),
      { numRuns: 40 },
    )
  })

  test('a call without counts is unknown and never free; only one that was refused is none', () => {
    const nothing = fc.constantFrom(0, null, undefined)
    fc.assert(
      fc.property(drawn, nothing, nothing, ({ end, status }, input, output) => {
        const result = mapped(source, payloadOf({ end, status, input, output }))
        if (end === 'error') {
          expect(result).toEqual({ kind: 'skipped', reason: 'failed_without_usage' })
          return
        }
        if (result.kind !== 'event') throw new Error('no event')
        const { event } = result
        expect([event.outcome, event.input_tokens, event.output_tokens, event.estimated_cost_usd]).toEqual([
          end,
          undefined,
          undefined,
          undefined,
        ])
        expect(event.usage_basis).toBeUndefined()
      }),
      { numRuns: 40 },
    )
  })
})
