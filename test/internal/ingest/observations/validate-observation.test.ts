import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  DATA_BYTES_MAX,
  DATA_DEPTH_MAX,
  DATA_KEY_BYTES_MAX,
  DATA_KEYS_MAX,
  DATA_TEXT_BYTES_MAX,
  looksLikeCall,
  type ObservationValidation,
  validateObservation,
} from '../../../../internal/ingest/observations/validate-observation.js'
import { drawn } from '../../../support/run/rings.js'

const NOW_MS = Date.UTC(2026, 10, 3, 12)

const observation = (stated: Readonly<Record<string, unknown>> = {}): Record<string, unknown> => ({
  event_id: '01890a5d-ac96-774b-bcce-b302099a8057',
  type: 'layer.heartbeat',
  occurred_at: '2026-11-03T12:00:00Z',
  source: 'gateway-7',
  data: {},
  ...stated,
})

const validate = (stated: Readonly<Record<string, unknown>>): ObservationValidation =>
  validateObservation(observation(stated), NOW_MS)

const errorsOf = (validation: ObservationValidation) => (validation.ok ? [] : validation.errors)

const refusedAt = (stated: Readonly<Record<string, unknown>>): string[] =>
  errorsOf(validate(stated)).map(({ pointer }) => pointer)

/** The reason against `data`, or '' when it is taken. */
const faultOf = (data: unknown): string => errorsOf(validate({ data }))[0]?.detail ?? ''

const REQUIRED = ['event_id', 'type', 'occurred_at', 'source', 'data'] as const

describe('the event as a whole', () => {
  test('the required fields are enough', () => {
    expect(validate({})).toEqual({ ok: true, event: observation(), occurredAtMs: NOW_MS, unknownFields: 0 })
  })

  test.each(REQUIRED)('%s may neither be absent nor null', (field) => {
    const { [field]: _, ...rest } = observation()

    expect(errorsOf(validateObservation(rest, NOW_MS))).toEqual([{ pointer: `/${field}`, detail: 'is required' }])
    expect(refusedAt({ [field]: null })).toEqual([`/${field}`])
  })

  test.each([[null], [[]], [[observation()]], ['text'], [1], [true], [undefined]])('%j is not an event', (value) => {
    expect(validateObservation(value, NOW_MS)).toEqual({
      ok: false,
      errors: [{ pointer: '', detail: 'must be a JSON object' }],
    })
  })

  test('unknown fields are counted and not kept', () => {
    const validation = validate({ note: 'x', extra: { a: [1] } })

    expect(validation).toEqual({ ok: true, event: observation(), occurredAtMs: NOW_MS, unknownFields: 2 })
  })

  test('the event_id is folded to lower case', () => {
    expect(validate({ event_id: '01890A5D-AC96-774B-BCCE-B302099A8057' })).toMatchObject({ event: observation() })
  })

  test('a trace_id is kept; null is the same as absent', () => {
    expect(validate({ trace_id: 't' })).toMatchObject({ ok: true, event: { trace_id: 't' } })
    expect(validate({ trace_id: null })).toEqual(validate({}))
  })

  test('each invalid field is reported once', () => {
    expect(refusedAt({ event_id: 'x', type: '', source: 7, trace_id: 7, data: [] }).sort()).toEqual([
      '/data',
      '/event_id',
      '/source',
      '/trace_id',
      '/type',
    ])
  })
})

describe('fields', () => {
  test.each([
    ['type', 128],
    ['source', 256],
    ['trace_id', 256],
  ])('%s has at most %i bytes and no control characters', (field, bytesMax) => {
    expect(validate({ [field]: 'é'.repeat(bytesMax / 2) }).ok).toBe(true)
    expect(refusedAt({ [field]: `${'é'.repeat(bytesMax / 2)}x` })).toEqual([`/${field}`])
    expect(refusedAt({ [field]: '' })).toEqual([`/${field}`])
    for (const text of ['a\nb', 'a\u0000', '\u0085', '\ud800'])
      expect(refusedAt({ [field]: text })).toEqual([`/${field}`])
  })

  test.each(['2026-11-03T12:00:00+01:00', '2026-11-03', '2026-12-31T23:59:60Z', 'now', 1, '2026-02-30T00:00:00Z'])(
    'occurred_at may not be %j',
    (occurred_at) => {
      expect(refusedAt({ occurred_at })).toEqual(['/occurred_at'])
    },
  )

  test('occurred_at may lie 24 hours ahead and as far back as 1970', () => {
    for (const occurred_at of ['2026-11-04T12:00:00Z', '2023-01-01T00:00:00+00:00', '1970-01-01T00:00:00Z']) {
      expect(validate({ occurred_at })).toMatchObject({ ok: true, occurredAtMs: Date.parse(occurred_at) })
    }
    for (const occurred_at of ['2026-11-04T12:00:00.001Z', '1969-12-31T23:59:59Z']) {
      expect(refusedAt({ occurred_at })).toEqual(['/occurred_at'])
    }
  })
})

describe('data', () => {
  const keys = (count: number, prefix = 'k'): Record<string, number> =>
    Object.fromEntries(Array.from({ length: count }, (_, i) => [`${prefix}${i}`, i]))

  /** An object in an object, so that there are `depth` in all. */
  const nested = (depth: number, wrap: (inner: unknown) => unknown = (inner) => ({ a: inner })): unknown =>
    depth === 0 ? 1 : wrap(nested(depth - 1, wrap))

  test('is kept as it is', () => {
    const data = JSON.parse('{"a":[1,-2.5,"",null,true,{"b":"é"}],"__proto__":{"c":0}}')

    const validation = validate({ data })

    expect(validation.ok && JSON.stringify(validation.event.data)).toBe(JSON.stringify(data))
  })

  test.each([['text'], [1], [true], [[]], [[1]]])('%j is not valid data', (data) => {
    expect(errorsOf(validate({ data }))).toEqual([{ pointer: '/data', detail: 'must be an object' }])
  })

  test('has at most 5 levels, of objects and of arrays', () => {
    expect(faultOf(nested(DATA_DEPTH_MAX))).toBe('')
    expect(faultOf(nested(DATA_DEPTH_MAX + 1))).toBe('must not be nested more than 5 deep')
    const lists = (depth: number) => ({ a: nested(depth - 1, (inner) => [inner]) })
    expect(faultOf(lists(DATA_DEPTH_MAX))).toBe('')
    expect(faultOf(lists(DATA_DEPTH_MAX + 1))).toBe('must not be nested more than 5 deep')
  })

  test('data of any excessive depth is refused without a crash', () => {
    const deep = JSON.parse(`${'{"a":'.repeat(9_000)}1${'}'.repeat(9_000)}`)

    expect(validate({ data: deep }).ok).toBe(false)
  })

  test('has at most 64 keys in all', () => {
    expect(faultOf(keys(DATA_KEYS_MAX))).toBe('')
    expect(faultOf(keys(DATA_KEYS_MAX + 1))).toBe('must have at most 64 keys in all')
    expect(faultOf({ a: keys(31), b: [keys(31)] })).toBe('')
    expect(faultOf({ a: keys(31), b: [keys(32)] })).toBe('must have at most 64 keys in all')
    expect(faultOf({ a: Array.from({ length: 500 }, (_, i) => i) })).toBe('')
  })

  test('has keys of 1 to 64 bytes without control characters', () => {
    const fault = 'must have keys of 1 to 64 bytes without control characters'

    expect(faultOf({ ['é'.repeat(DATA_KEY_BYTES_MAX / 2)]: 1 })).toBe('')
    for (const key of ['', `${'é'.repeat(DATA_KEY_BYTES_MAX / 2)}x`, 'a\nb', '\u0007', '\udc00']) {
      expect(faultOf({ a: [{ [key]: 1 }] })).toBe(fault)
    }
  })

  test('has texts of at most 256 bytes without control characters', () => {
    const fault = 'must have texts of at most 256 bytes without control characters'

    expect(faultOf({ a: 'é'.repeat(DATA_TEXT_BYTES_MAX / 2) })).toBe('')
    for (const text of [`${'é'.repeat(DATA_TEXT_BYTES_MAX / 2)}x`, 'a\tb', '\u009f', '\ud800']) {
      expect(faultOf({ a: [[text]] })).toBe(fault)
    }
  })

  test('has finite numbers', () => {
    expect(faultOf(JSON.parse('{"a":[1e308]}'))).toBe('')
    expect(faultOf(JSON.parse('{"a":[1e999]}'))).toBe('must have finite numbers')
    expect(faultOf(JSON.parse('{"a":-1e999}'))).toBe('must have finite numbers')
  })

  test('has at most 8 KiB as JSON', () => {
    const full = { a: Array.from({ length: 40 }, () => 'x'.repeat(200)), b: '' }
    const room = DATA_BYTES_MAX - Buffer.byteLength(JSON.stringify(full))

    expect(faultOf({ ...full, b: 'x'.repeat(room) })).toBe('')
    expect(faultOf({ ...full, b: 'x'.repeat(room + 1) })).toBe('must have at most 8192 bytes as JSON')
  })

  test('what is wrong with it names neither its keys nor its values', () => {
    for (const data of [{ secret: 'a\nb' }, { 'secret\n': 1 }, nested(9, (inner) => ({ secret: inner }))]) {
      expect(errorsOf(validate({ data }))).toMatchObject([{ pointer: '/data' }])
      expect(JSON.stringify(validate({ data }))).not.toContain('secret')
    }
  })
})

describe('content', () => {
  test.each(['prompt', 'messages', 'Completion', 'content', 'input', 'output_text', 'system-prompt', 'toolCalls'])(
    'a key %s is refused at any depth, and its value is not echoed',
    (key) => {
      const places = [
        { [key]: 'a secret' },
        { data: { [key]: 'a secret' } },
        { data: { a: [{ b: { [key]: ['a secret'] } }] } },
        { unknown: { [key]: 'a secret' } },
      ]
      for (const stated of places) {
        const validation = validate(stated)

        expect(errorsOf(validation)).toMatchObject([{ detail: 'prompt and completion content is not accepted' }])
        expect(JSON.stringify(validation)).not.toContain('a secret')
      }
    },
  )

  test('keys that merely resemble content keys are accepted', () => {
    expect(faultOf({ input_tokens: 5, prompts_total: 1, outputs_per_minute: 2 })).toBe('')
  })
})

test('only a valid event is accepted, and only schema fields are kept, for any value', () => {
  const data = fc.dictionary(fc.string(), fc.jsonValue(), { noNullPrototype: true, maxKeys: 5 })
  const events = fc.record(
    { data, source: fc.string(), type: fc.string(), trace_id: fc.option(fc.string()), more: fc.jsonValue() },
    { requiredKeys: [], noNullPrototype: true },
  )
  fc.assert(
    fc.property(fc.oneof(fc.jsonValue(), events.map(observation)), (value) => {
      const validation = validateObservation(value, NOW_MS)

      if (!validation.ok) {
        expect(validation.errors.length).toBeGreaterThan(0)
        return
      }
      const { event } = validation
      expect(Object.keys(event).filter((key) => key !== 'trace_id')).toEqual([...REQUIRED])
      expect(Buffer.byteLength(JSON.stringify(event.data))).toBeLessThanOrEqual(DATA_BYTES_MAX)
      expect(validateObservation(event, NOW_MS)).toMatchObject({ ok: true, event })
    }),
    { numRuns: drawn(500) },
  )
})

test.each([
  { data: { model: 'gpt-4o', prompt_tokens: 12 } },
  { data: {}, model: 'gpt-4o', response_cost: 0.1 },
  { data: { usage: { input_tokens: 1, cost: 2 } } },
  { data: { 'gen_ai.request.model': 'm', 'gen_ai.usage.output_tokens': 3 } },
  { data: { requested_model: 'm', estimated_cost_usd: '0.1' } },
])('%j looks like a call', (event) => {
  expect(looksLikeCall(event)).toBe(true)
})

test.each([
  { data: { version: '1.4.2', queue_depth: 0 } },
  { data: { model: 'gpt-4o' } },
  { data: { tokens_per_second: 4, costly: true } },
  { data: { model: null, total_tokens: 3 } },
  { data: { a: { b: { c: { d: { e: { model: 'm', cost: 1 } } } } } } },
])('%j does not', (event) => {
  expect(looksLikeCall(event)).toBe(false)
})
