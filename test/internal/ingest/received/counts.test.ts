import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  addStored,
  CountsBySource,
  SOURCES_MAX,
  type Source,
  type StoredSources,
  storedForm,
} from '../../../../internal/ingest/received/counts.js'
import { isOfCall, tellingName } from '../../../../internal/ingest/received/field-names.js'
import { PendingCounts } from '../../../../internal/ingest/received/pending-counts.js'
import { senderByUserAgent, senderOf } from '../../../../internal/ingest/received/sender.js'
import { reasonOf, Tally } from '../../../../internal/ingest/received/tally.js'
import { problem } from '../../../../internal/problems/problem-catalogue.js'

const NOW = Date.UTC(2026, 10, 28, 12)
const KEY = { tenantId: 'tnt_1', principal: 'key_1' }
const SCOPE = senderOf('openai-v2', '2.4b0', 'search', 'application')

const receivedIn = (sources: CountsBySource): number =>
  [...sources.all()].reduce((sum, each) => sum + each.counts.received, 0)

describe('what a hostile tenant sends', () => {
  test('cannot make more sources than are told apart: the others count together', () => {
    const pending = new PendingCounts()
    for (let i = 0; i < 5 * SOURCES_MAX; i++) {
      const tally = new Tally(senderOf(i % 2 === 0 ? `scope-${i}` : 'other', `${i}`, `${i}`, 'application'))
      tally.passOver('unrelated')
      pending.add(KEY, 'otlp', [tally], NOW)
    }
    const sources = pending.of('tnt_1')

    expect([...sources.all()]).toHaveLength(SOURCES_MAX + 1)
    expect(receivedIn(sources)).toBe(5 * SOURCES_MAX)
    expect([...sources.all()].at(-1)).toMatchObject({
      source: { principal: '', intake: 'otlp', name: 'other', version: '', service: '' },
      counts: { received: 4 * SOURCES_MAX },
    })
  })

  test('cannot make more reasons or field names', () => {
    const pending = new PendingCounts()
    const tally = new Tally(SCOPE)
    for (let i = 0; i < 1_000; i++) {
      tally.reject(`invalid_${i}`)
      tally.noteField(`tokens_${i}`)
    }
    pending.add(KEY, 'otlp', [tally], NOW)
    const [{ counts } = expect.fail('nothing')] = pending.of('tnt_1').all()

    expect([...counts.rejected.entries()]).toHaveLength(25)
    expect(counts.rejected.total).toBe(1_000)
    expect(counts.fieldNames.size).toBe(16)
  })

  test.each([
    ['ada@example.com', ''],
    ['one\nline', ''],
    ['x'.repeat(200), 'x'.repeat(96)],
    ['@opentelemetry/instrumentation-openai', '@opentelemetry/instrumentation-openai'],
  ])('shows of the name %j only %j', (name, shown) => {
    expect(senderOf(name, '', name, 'application')).toMatchObject({ name: shown, service: shown })
  })
})

test('what people send with their own sign-in counts together', () => {
  const pending = new PendingCounts()
  for (const principal of ['usr_ada', 'usr_grace']) pending.ofApi({ tenantId: 'tnt_1', principal }).accept(false, NOW)

  expect([...pending.of('tnt_1').all()]).toMatchObject([
    { source: { principal: '', intake: '' }, counts: { accepted: 2 } },
  ])
})

describe('a refusal', () => {
  const invalid = (pointer: string) => problem('VALIDATION_FAILED', '', { errors: [{ pointer, detail: 'is secret' }] })
  test.each([
    [invalid('/input_tokens'), 'invalid_input_tokens'],
    [invalid('/tags/Ada Lovelace'), 'invalid_tags'],
    [invalid('/Ada Lovelace'), 'invalid_event'],
    [invalid(''), 'malformed'],
    [problem('INSUFFICIENT_SCOPE', ''), 'layer_not_allowed'],
    [problem('PAYLOAD_TOO_LARGE', ''), 'too_large'],
  ])('is counted by a code without any value', (refused, reason) => {
    expect(reasonOf(refused)).toBe(reason)
  })
})

test.each([
  ['litellm/1.108.7', 'litellm', '1.108.7'],
  ['OTel-OTLP-Exporter-Python/1.27.0 (linux)', 'OTel-OTLP-Exporter-Python', '1.27.0'],
  ['Vector', 'Vector', ''],
  ['<script>', '', ''],
  ['', '', ''],
])('the User-Agent %j names its program', (userAgent, name, version) => {
  expect(senderByUserAgent(userAgent, 'gateway')).toEqual({ name, version, service: '', layer: 'gateway' })
})

test.each([
  ['gen_ai.usage.raw', 'gen_ai.usage.raw'],
  ['llm.token_count.prompt_details.cache_write', 'llm.token_count.prompt_details.cache_write'],
  ['mlflow.chat.tokenUsage', 'mlflow.chat.tokenUsage'],
  ['llm.choice.12.model', 'llm.choice.N.model'],
  ['gen_ai.request.max_tokens', undefined],
  ['gen_ai.input.messages', undefined],
  ['llm.prompt.model', undefined],
  ['tokens of ada@example.com', undefined],
  ['http.request.method', undefined],
])('of the name %s is shown: %s', (name, shown) => {
  expect(tellingName(name)).toBe(shown)
})

test.each([
  ['mlflow.chat.tokenUsage', true],
  ['app.llm.model', true],
  ['completion_tokens', true],
  ['auth.token', false],
  ['device.model.name', false],
  ['llm.request.max_tokens', false],
  ['system.memory.usage', false],
])('only a call of a model states %s: %s', (name, expected) => {
  expect(isOfCall(name)).toBe(expected)
})

/** What one request holds, in any mixture. */
const tallies = fc
  .record({
    sender: fc.constantFrom('a', 'b', 'c'),
    principal: fc.constantFrom('key_1', 'key_2', 'usr_1'),
    intake: fc.constantFrom('', 'otlp', 'litellm'),
    accepted: fc.nat(9),
    duplicates: fc.nat(9),
    passedOver: fc.array(fc.constantFrom('agent', 'tool', 'same_call'), { maxLength: 9 }),
    rejected: fc.array(fc.constantFrom('no_model', '__proto__', 'constructor'), { maxLength: 9 }),
    atMs: fc.integer({ min: NOW, max: NOW + 1_000 }),
  })
  .map(({ sender, principal, intake, accepted, duplicates, passedOver, rejected, atMs }) => {
    const tally = new Tally(senderOf(sender, '1', '', 'application'))
    tally.accepted = accepted
    tally.duplicates = duplicates
    for (const reason of passedOver) tally.passOver(reason)
    for (const reason of rejected) tally.reject(reason)
    return { tally, principal, intake, atMs, size: accepted + duplicates + passedOver.length + rejected.length }
  })

test('each thing is counted once, however gateways share the requests and whatever they store', () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(tallies, fc.nat(2)), { maxLength: 40 }), (requests) => {
      const gateways = [new PendingCounts(), new PendingCounts(), new PendingCounts()]
      let size = 0
      for (const [{ tally, principal, intake, atMs, size: own }, gateway] of requests) {
        gateways[gateway]?.add({ tenantId: 'tnt_1', principal }, intake, [tally], atMs)
        size += own
      }
      let stored: StoredSources = []
      for (const gateway of gateways) {
        const sources = new CountsBySource()
        addStored(stored, sources)
        sources.addAll(gateway.of('tnt_1'))
        stored = JSON.parse(JSON.stringify(storedForm(sources))) as StoredSources
      }
      const sources = new CountsBySource()
      addStored(stored, sources)

      expect(receivedIn(sources)).toBe(size)
      const last = Math.max(0, ...requests.map(([{ atMs }]) => atMs))
      expect(Math.max(0, ...[...sources.all()].map(({ counts }) => counts.lastAtMs))).toBe(last)
    }),
  )
})

test('a stored form of a later version, with parts that are not known here, is read as far as it is known', () => {
  const source: Source = { principal: 'key_1', intake: 'otlp', ...SCOPE }
  const sources = new CountsBySource()
  addStored([{ ...source, accepted: 3, ...{ new_part: 9 } }], sources)

  expect([...sources.all()]).toMatchObject([{ source, counts: { accepted: 3, duplicates: 0, received: 3 } }])
})
