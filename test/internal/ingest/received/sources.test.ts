import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { adviceFor } from '../../../../internal/ingest/received/advice.js'
import { Counts } from '../../../../internal/ingest/received/counts.js'
import { senderOf } from '../../../../internal/ingest/received/sender.js'
import { type SourceRow, sourcesOf, totalOf } from '../../../../internal/ingest/received/sources.js'
import { Tally } from '../../../../internal/ingest/received/tally.js'

const NOW = Date.UTC(2026, 10, 21, 12)

type Stated = Parameters<Tally['accept']>[0]

interface From {
  readonly intake?: string
  readonly name: string
  readonly version?: string
  readonly service?: string
  readonly calls?: readonly Stated[]
  readonly passedOver?: readonly string[]
  readonly rejected?: readonly string[]
}

function receivedFrom({ intake = 'otlp', name, version = '', service = '', ...held }: From) {
  const sender = senderOf(name, version, service, 'application')
  const tally = new Tally(sender)
  for (const call of held.calls ?? []) tally.accept(call, false)
  for (const reason of held.passedOver ?? []) tally.passOver(reason)
  for (const reason of held.rejected ?? []) tally.reject(reason)
  const counts = new Counts()
  counts.addTally(tally, NOW)
  return { source: { ...sender, principal: 'key_1', intake }, counts }
}

interface Recorded {
  readonly intake?: string
  readonly instrumentation: string
  readonly calls?: number
  readonly withoutService?: number
  readonly last?: { readonly id: Uint8Array; readonly receivedAtMs: number }
}
const recorded = (of: Recorded) => ({
  principal: 'key_1',
  intake: 'otlp',
  calls: 0,
  merged: 0,
  unpriced: 0,
  withoutService: 0,
  perhapsTwice: 0,
  last: undefined,
  ...of,
})

test('a scope is one source whatever its versions, services and signals', () => {
  const rows = sourcesOf(
    [
      receivedFrom({ name: 'codex', version: '1', service: 'a', calls: [{}], passedOver: ['unrelated'] }),
      receivedFrom({ name: 'codex', version: '2', service: 'b', passedOver: ['unrelated', 'unrelated'] }),
      receivedFrom({ name: 'other', passedOver: ['tool'] }),
    ],
    [recorded({ instrumentation: 'codex (log)', calls: 1 })],
  )

  expect(rows).toHaveLength(2)
  const codex = rows.find(({ sender }) => sender === 'codex')
  expect(codex).toMatchObject({ received: 4, calls: 1, lastCallAtMs: NOW })
  expect([...(codex?.versions ?? [])].sort()).toEqual(['1', '2'])
  expect(codex?.passedOver).toEqual(
    expect.arrayContaining([
      { reason: 'unrelated', service: 'a', count: 1, lastAtMs: NOW },
      { reason: 'unrelated', service: 'b', count: 2, lastAtMs: NOW },
    ]),
  )
})

test('a credential of another intake is one source, with the product that sends most', () => {
  const rows = sourcesOf(
    [
      receivedFrom({ intake: 'litellm', name: 'curl', calls: [{}] }),
      receivedFrom({ intake: 'litellm', name: 'litellm', version: '1.2', calls: [{}, {}] }),
    ],
    [recorded({ intake: 'litellm', instrumentation: '', calls: 3 })],
  )

  expect(rows).toMatchObject([{ intake: 'litellm', sender: 'litellm', received: 3, calls: 3 }])
})

test('a source opens the call that came last, of its spans and logs', () => {
  const at = (n: number) => ({ id: Buffer.alloc(16, n), receivedAtMs: NOW + n })
  const all = [
    recorded({ instrumentation: 'codex', last: at(2) }),
    recorded({ instrumentation: 'codex (log)', last: at(1) }),
    recorded({ instrumentation: 'codex (log)' }),
  ]

  expect(sourcesOf([], all)).toMatchObject([{ last: at(2) }])
  expect(sourcesOf([], all.toReversed())).toMatchObject([{ last: at(2) }])
})

test('nothing that was counted is lost, whoever sent it', () => {
  const word = fc.constantFrom('', 'a', 'b', 'a (log)')
  const from = fc.record({
    intake: fc.constantFrom('otlp', 'kong', ''),
    name: word,
    version: word,
    service: word,
    calls: fc.array(fc.constant({})),
    passedOver: fc.array(word),
    rejected: fc.array(word),
  })
  fc.assert(
    fc.property(fc.array(from), (all) => {
      const rows = sourcesOf(all.map(receivedFrom), [])
      const sum = (count: (row: SourceRow) => number) => rows.reduce((total, row) => total + count(row), 0)
      const sizes = (part: 'calls' | 'passedOver' | 'rejected') => all.flatMap((each) => each[part]).length
      expect(sum(({ passedOver }) => totalOf(passedOver))).toBe(sizes('passedOver'))
      expect(sum(({ rejected }) => totalOf(rejected))).toBe(sizes('rejected'))
      expect(sum(({ received }) => received)).toBe(sizes('calls') + sizes('passedOver') + sizes('rejected'))
    }),
  )
})

describe('advice', () => {
  const TOKENS = { provider: 'openai', attributed_service: 'search', input_tokens: 7, output_tokens: 1 }
  const FULL = { ...TOKENS, cached_input_tokens: 0 }
  const advised = (from: From, withoutService = 0): string[] =>
    sourcesOf(
      [receivedFrom(from)],
      [recorded({ instrumentation: from.name, calls: from.calls?.length ?? 0, withoutService })],
    )
      .flatMap((row) => adviceFor(row))
      .map(({ code }) => code)

  test.each<[string[], From]>([
    [[], { name: 'openai-app', calls: [FULL, TOKENS] }],
    [['no_cache_counts'], { name: '@traceloop/instrumentation-openai', calls: [TOKENS] }],
    [['no_cache_counts'], { name: 'semantic_kernel.utils.telemetry', calls: [TOKENS] }],
    [[], { name: '@traceloop/instrumentation-openai', calls: [FULL] }],
    [['no_usage'], { name: 'openai-app', calls: [{ provider: 'openai', attributed_service: 'x' }] }],
    [[], { name: 'x', calls: [{ provider: 'openai', attributed_service: 'x', estimated_cost_usd: '1' }] }],
    [['no_provider'], { name: 'x', calls: [{ ...FULL, provider: 'unknown' }] }],
    [['unread_calls'], { name: 'x', passedOver: ['unread_call'] }],
    [[], { name: 'x', calls: [FULL], passedOver: ['unread_call'] }],
    [['logs_needed'], { name: 'codex', passedOver: ['in_logs', 'agent'] }],
    [['only_metrics'], { name: 'OTel-OTLP-Exporter', passedOver: ['metrics_request'] }],
    [['seat_or_api'], { name: 'com.anthropic.claude_code.events', calls: [FULL] }],
    [['layer_not_allowed'], { name: 'x', rejected: ['layer_not_allowed'] }],
  ])('%j', (codes, from) => {
    expect(advised(from)).toEqual(codes)
  })

  test('of a missing service only where nothing else named one', () => {
    const calls = [{ ...FULL, attributed_service: undefined }]

    expect([advised({ name: 'x', calls }), advised({ name: 'x', calls }, 1)]).toEqual([[], ['no_service']])
  })
})
