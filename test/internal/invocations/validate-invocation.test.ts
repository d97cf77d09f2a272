import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { encodeEntry } from '../../../internal/invocations/invocation-group.js'
import { type Validation, validateInvocation } from '../../../internal/invocations/validate-invocation.js'
import { idOf, NOW_MS, wireEvent } from '../../support/invocations.js'
import { drawn } from '../../support/run/rings.js'

const validate = (stated: Readonly<Record<string, unknown>>): Validation =>
  validateInvocation(wireEvent(stated), NOW_MS)

/** As it arrives: `__proto__` is then a key like any other. */
const validateText = (text: string): Validation => validateInvocation(JSON.parse(text), NOW_MS)

const errorsOf = (validation: Validation) => (validation.ok ? [] : validation.errors)

const refusedAt = (stated: Readonly<Record<string, unknown>>): string[] =>
  errorsOf(validate(stated)).map(({ pointer }) => pointer)

const without = (field: string): Record<string, unknown> => {
  const { [field]: _, ...rest } = wireEvent()
  return rest
}

const REQUIRED_NAMES = ['ingestion_layer', 'provider', 'requested_model'] as const
const OPTIONAL_NAMES = [
  'served_model',
  'region',
  'attributed_identity',
  'attributed_service',
  'trace_id',
  'parent_span_id',
  'k8s_namespace',
  'k8s_workload',
  'workload_identity',
] as const
const NAMES = [...REQUIRED_NAMES, ...OPTIONAL_NAMES]
const COUNTS = [
  'input_tokens',
  'output_tokens',
  'cached_input_tokens',
  'cache_write_tokens',
  'cache_write_ttl_seconds',
  'reasoning_tokens',
  'audio_input_tokens',
  'audio_output_tokens',
  'latency_ms',
] as const
const AMOUNTS = ['estimated_cost_usd', 'energy_wh', 'carbon_gco2e'] as const
const OTHERS = ['service_tier', 'served_from_cache', 'attribution_confidence', 'tags'] as const
const OPTIONAL = [...OPTIONAL_NAMES, ...COUNTS, ...AMOUNTS, ...OTHERS]

describe('the event as a whole', () => {
  test('the five required fields are enough', () => {
    const shape = { members: 5, bytesMin: JSON.stringify(wireEvent()).length }
    expect(validate({})).toEqual({ ok: true, event: wireEvent(), eventTimeMs: NOW_MS, unknownFields: 0, shape })
  })

  test.each(['event_id', 'ingestion_timestamp', ...REQUIRED_NAMES])('%s may neither be absent nor null', (field) => {
    expect(errorsOf(validateInvocation(without(field), NOW_MS))).toEqual([
      { pointer: `/${field}`, detail: 'is required' },
    ])
    expect(refusedAt({ [field]: null })).toEqual([`/${field}`])
  })

  test.each([[null], [[]], [[wireEvent()]], ['text'], [1], [true], [undefined]])('%j is not an event', (value) => {
    expect(validateInvocation(value, NOW_MS)).toEqual({
      ok: false,
      errors: [{ pointer: '', detail: 'must be a JSON object' }],
    })
  })

  test.each(OPTIONAL)('null in %s is the same as absent', (field) => {
    const validation = validate({ [field]: null })

    expect(validation).toMatchObject({ ok: true, unknownFields: 0 })
    expect(validation.ok && keptOf(validation)).toEqual(wireEvent())
  })

  test('each invalid field is reported once', () => {
    expect(refusedAt({ provider: '', input_tokens: -1, tags: { a: 1 } }).sort()).toEqual([
      '/input_tokens',
      '/provider',
      '/tags',
    ])
  })

  test('at most 20 errors are reported', () => {
    const many = Object.fromEntries(Array.from({ length: 50 }, (_, i) => [`k${i}`, { prompt: 'x' }]))

    expect(refusedAt(many)).toHaveLength(20)
  })
})

describe('event_id', () => {
  test.each([
    '01890a5d-ac96-774b-bcce-b302099a8057',
    '01890A5D-AC96-774B-BCCE-B302099A8057',
    '00000000-0000-0000-0000-000000000000',
    'ffffffff-ffff-ffff-ffff-ffffffffffff',
  ])('%s is taken: a UUID of any version, in either case', (event_id) => {
    expect(validate({ event_id }).ok).toBe(true)
  })

  test.each([
    '',
    '01890a5dac96774bbcceb302099a8057',
    '{01890a5d-ac96-774b-bcce-b302099a8057}',
    'urn:uuid:01890a5d-ac96-774b-bcce-b302099a8057',
    '01890a5d-ac96-774b-bcce-b302099a805',
    '01890a5d-ac96-774b-bcce-b302099a80577',
    '01890a5d-ac96-774b-bcce-b302099a805g',
    '01890a5d-ac96-774b-bcce-b302099a8057\n',
    '01JBQ3Z5Y4T8W6N2R0M1K9H7G5',
    7,
  ])('%j is refused', (event_id) => {
    expect(refusedAt({ event_id })).toEqual(['/event_id'])
  })
})

describe('names', () => {
  test.each(NAMES)('%s holds 1 to 256 bytes of text', (field) => {
    expect(validate({ [field]: 'x' }).ok).toBe(true)
    expect(validate({ [field]: 'x'.repeat(256) }).ok).toBe(true)
    expect(refusedAt({ [field]: '' })).toEqual([`/${field}`])
    expect(refusedAt({ [field]: 'x'.repeat(257) })).toEqual([`/${field}`])
    expect(refusedAt({ [field]: 7 })).toEqual([`/${field}`])
    expect(refusedAt({ [field]: ['x'] })).toEqual([`/${field}`])
    expect(refusedAt({ [field]: { name: 'x' } })).toEqual([`/${field}`])
  })

  test.each([
    ['é', 128],
    ['語', 85],
    ['𝒳', 64],
  ])('the limit counts bytes, not characters: %s', (character, fitting) => {
    expect(validate({ provider: character.repeat(fitting) }).ok).toBe(true)
    expect(validate({ provider: `x${character.repeat(fitting - 1)}` }).ok).toBe(true)
    expect(errorsOf(validate({ provider: character.repeat(fitting + 1) }))).toEqual([
      { pointer: '/provider', detail: 'must have at most 256 bytes' },
    ])
  })

  test('a text is accepted if and only if it has 1 to 256 bytes, no control characters, no lone surrogates', () => {
    const units = fc.oneof(
      { weight: 100, arbitrary: fc.constantFrom('a', ' ', '"', '\\', 'é', '€', '😀', '\u2028') },
      { weight: 1, arbitrary: fc.constantFrom('\0', '\n', '\u001f', '\u007f', '\u009f', '\ud83d', '\ude00') },
    )
    fc.assert(
      fc.property(fc.string({ unit: units, maxLength: 120, size: 'max' }), (text) => {
        const bytes = Buffer.byteLength(text)
        const isPlain = !/[\p{Cc}\p{Cs}]/u.test(text)

        expect(validate({ attributed_service: text }).ok).toBe(bytes >= 1 && bytes <= 256 && isPlain)
      }),
      { numRuns: drawn(500) },
    )
  })

  test.each(['\0', '\t', '\n', '\r', '\u001b', '\u001f', '\u007f', '\u0080', '\u0085', '\u009f'])(
    'the control character %j is refused',
    (control) => {
      expect(refusedAt({ attributed_service: `gpt${control}4o` })).toEqual(['/attributed_service'])
    },
  )

  test.each([' ', '~', '\u00a0', '\u2028', '\ufeff', '\ud7ff', '\ue000', '\uffff', '\u{10000}', '\u{10ffff}'])(
    '%j is no control character',
    (character) => {
      expect(validate({ attributed_service: `gpt${character}4o` }).ok).toBe(true)
    },
  )

  test.each(['\ud83d', '\ude00', '\ude00\ud83d', 'x\udfff'])('the lone surrogate in %j is refused', (text) => {
    expect(refusedAt({ requested_model: text })).toEqual(['/requested_model'])
  })
})

describe('providers and models', () => {
  const FIELDS = ['provider', 'requested_model', 'served_model'] as const

  test.each([
    'gpt-4o-mini',
    'ft:gpt-4o:acme::9f2',
    'arn:aws:bedrock:us-east-1:123456789012:inference-profile/eu.anthropic.claude-3-5-sonnet-20240620-v1:0',
    'publishers/google/models/gemini@001',
    '@cf/meta/llama-3.1-8b',
    'c4ai command r+ 08_2024',
    '通义千问 2.5',
    'ｑwen',
    'मॉडल ٣',
    'e\u0301cole',
  ])('%s is a name of one', (text) => {
    for (const field of FIELDS) expect(refusedAt({ [field]: text })).toEqual([])
  })

  test.each([
    '<b>',
    '=1',
    'a,b',
    'a;b',
    'a"b',
    "a'b",
    'a`b',
    'a\\b',
    '$(x)',
    '{x}',
    'a|b',
    'a\u200bb',
    'a\u202eb',
    '😀',
    'a\u00a0b',
    'a#b',
  ])('%j is refused with its pointer, and stays allowed in names of people and services', (text) => {
    for (const field of FIELDS) {
      expect(errorsOf(validate({ [field]: text }))).toEqual([
        { pointer: `/${field}`, detail: 'must consist of letters, digits, marks, spaces and . _ - / : @ +' },
      ])
    }
    for (const field of ['attributed_identity', 'attributed_service'] as const) {
      expect(refusedAt({ [field]: text })).toEqual([])
    }
  })

  test('a text is one exactly when each of its characters is a letter, digit, mark or one of a few others', () => {
    const unit = fc.oneof(
      fc.constantFrom(...'aé語٣ ._-/:@+\u0301'),
      fc.string({ unit: 'binary', minLength: 1, maxLength: 1 }),
    )
    fc.assert(
      fc.property(fc.string({ unit, minLength: 1, maxLength: 20 }), (text) => {
        const isName = [...text].every(
          (character) => /[\p{L}\p{M}\p{Nd}]/u.test(character) || ' ._-/:@+'.includes(character),
        )

        expect(validate({ requested_model: text }).ok).toBe(isName)
      }),
      { numRuns: drawn(5_000) },
    )
  })
})

describe('counts', () => {
  test.each(COUNTS)('%s is a whole number from 0 to 2^53 - 1', (field) => {
    expect(validateText(withRaw(field, '0')).ok).toBe(true)
    expect(validateText(withRaw(field, '9007199254740991')).ok).toBe(true)
    expect(validateText(withRaw(field, '1.0')).ok).toBe(true)
    for (const raw of [
      '-1',
      '9007199254740992',
      '9007199254740993',
      '1e300',
      '1.5',
      '0.1',
      '"1"',
      'true',
      '[1]',
      '{}',
    ]) {
      expect(errorsOf(validateText(withRaw(field, raw))).map(({ pointer }) => pointer)).toEqual([`/${field}`])
    }
  })
})

describe('amounts', () => {
  test.each(AMOUNTS)('%s is decimal text with at most 12 digits before the point and 18 after it', (field) => {
    for (const good of ['0', '0.0', '007', '1.5', `${'9'.repeat(12)}.${'9'.repeat(18)}`]) {
      expect(validate({ [field]: good }).ok).toBe(true)
    }
    for (const bad of [
      '',
      '9'.repeat(13),
      `0.${'0'.repeat(19)}`,
      '-1',
      '+1',
      '1.',
      '.5',
      '1e3',
      '1,5',
      ' 1',
      '1\n',
      '٣',
      'NaN',
    ]) {
      expect(refusedAt({ [field]: bad })).toEqual([`/${field}`])
    }
  })

  test.each(AMOUNTS)('a JSON number in %s is refused', (field) => {
    expect(errorsOf(validate({ [field]: 0.25 }))).toEqual([{ pointer: `/${field}`, detail: 'must be a string' }])
    expect(refusedAt({ [field]: 0 })).toEqual([`/${field}`])
  })
})

describe('the other fields', () => {
  test('attribution_confidence lies from 0 to 0.95', () => {
    for (const good of [0, 0.5, 0.95]) expect(validate({ attribution_confidence: good }).ok).toBe(true)
    for (const bad of [0.951, 0.9500000000000001, 1, -0.001, '0.9', true]) {
      expect(refusedAt({ attribution_confidence: bad })).toEqual(['/attribution_confidence'])
    }
  })

  test('service_tier is one of the words of providers', () => {
    const good = ['standard', 'default', 'batch', 'flex', 'flex_discount', 'priority', 'priority_on_demand', 'scale']
    for (const tier of good) expect(validate({ service_tier: tier }).ok).toBe(true)
    for (const bad of ['Standard', 'auto', '', 1]) expect(refusedAt({ service_tier: bad })).toEqual(['/service_tier'])
  })

  test('served_from_cache is true or false', () => {
    for (const good of [true, false]) expect(validate({ served_from_cache: good }).ok).toBe(true)
    for (const bad of ['true', 1, 0]) expect(refusedAt({ served_from_cache: bad })).toEqual(['/served_from_cache'])
  })
})

describe('ingestion_timestamp', () => {
  const DAY_MS = 24 * 60 * 60 * 1000
  const at = (ms: number) => validate({ ingestion_timestamp: new Date(ms).toISOString() })

  test('may lie up to 24 hours ahead', () => {
    expect(at(NOW_MS + DAY_MS)).toMatchObject({ ok: true, eventTimeMs: NOW_MS + DAY_MS })
    expect(errorsOf(at(NOW_MS + DAY_MS + 1)).map(({ pointer }) => pointer)).toEqual(['/ingestion_timestamp'])
  })

  test('begins with 1970', () => {
    expect(at(0)).toMatchObject({ ok: true, eventTimeMs: 0 })
    expect(errorsOf(at(-1)).map(({ pointer }) => pointer)).toEqual(['/ingestion_timestamp'])
  })

  test.each([
    '',
    'now',
    '2026-11-03',
    '2026-11-03T12:00:00',
    '2026-11-03T13:00:00+01:00',
    '2026-02-30T12:00:00Z',
    1_793_707_200_000,
  ])('%j is refused', (ingestion_timestamp) => {
    expect(refusedAt({ ingestion_timestamp })).toEqual(['/ingestion_timestamp'])
  })
})

describe('tags', () => {
  const tagsOf = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, i) => [`tag${i}`, 'x']))

  test('there may be 16 of them', () => {
    expect(validate({ tags: {} }).ok).toBe(true)
    expect(validate({ tags: tagsOf(16) }).ok).toBe(true)
    expect(refusedAt({ tags: tagsOf(17) })).toEqual(['/tags'])
  })

  test('a key has 1 to 64 bytes and a value 1 to 256', () => {
    expect(validate({ tags: { ['k'.repeat(64)]: 'v'.repeat(256) } }).ok).toBe(true)
    expect(validate({ tags: { ['é'.repeat(32)]: 'é'.repeat(128) } }).ok).toBe(true)
    for (const tags of [
      { '': 'v' },
      { ['k'.repeat(65)]: 'v' },
      { ['é'.repeat(33)]: 'v' },
      { k: '' },
      { k: 'v'.repeat(257) },
      { k: 'é'.repeat(129) },
    ]) {
      expect(refusedAt({ tags })).toEqual(['/tags'])
    }
  })

  test('the error states the limit in bytes', () => {
    expect(errorsOf(validate({ tags: { ['é'.repeat(33)]: 'v' } }))[0]?.detail).toBe('must have at most 64 bytes')
    expect(errorsOf(validate({ tags: { k: 'é'.repeat(129) } }))[0]?.detail).toBe('must have at most 256 bytes')
  })

  test.each([
    { k: 1 },
    { k: null },
    { k: ['v'] },
    { k: { k: 'v' } },
    { 'k\n': 'v' },
    { k: 'v\n' },
    ['k'],
    'k',
    1,
    true,
  ])('%j is not a map of texts', (tags) => {
    expect(refusedAt({ tags })).toEqual(['/tags'])
  })

  test.each(['__proto__', 'constructor', 'toString', 'hasOwnProperty'])(
    'a tag named %s is a tag like any other',
    (key) => {
      const validation = validateText(withRaw('tags', `{"${key}":"v"}`))

      expect(validation.ok && keptText(validation)).toContain(`"tags":{"${key}":"v"}`)
    },
  )

  test.each(['__proto__', 'constructor'])('a tag named %s has the limits of any other', (key) => {
    expect(validateText(withRaw('tags', `{"${key}":1}`)).ok).toBe(false)
    expect(validateText(withRaw('tags', `{"${key}":"${'v'.repeat(257)}"}`)).ok).toBe(false)
  })
})

describe('unknown fields', () => {
  test('are counted, ignored and not kept', () => {
    const validation = validate({ vendor_note: 'a text', vendor_list: [1, { deep: true }], temperature: 0.2 })

    expect(validation).toMatchObject({ ok: true, unknownFields: 3 })
    expect(validation.ok && keptOf(validation)).toEqual(wireEvent())
  })

  test.each(['__proto__', 'constructor', 'toString', 'valueOf', 'hasOwnProperty'])('a field named %s is one', (key) => {
    const validation = validateText(withRaw(key, '{"provider":"smuggled","note":"a text"}'))

    expect(validation).toMatchObject({ ok: true, unknownFields: 1 })
    expect(validation.ok && keptOf(validation)).toEqual(wireEvent())
  })

  test('a required field cannot come from a prototype', () => {
    const { provider: _, ...rest } = wireEvent()

    expect(validateText(`{"__proto__":{"provider":"smuggled"},${JSON.stringify(rest).slice(1)}`)).toMatchObject({
      ok: false,
      errors: [{ pointer: '/provider', detail: 'is required' }],
    })
  })

  test('of two equal keys one counts, and only that is checked and kept', () => {
    const twice = (first: string, second: string) =>
      validateText(JSON.stringify(wireEvent()).replace('"openai"', `${first},"provider":${second}`))

    const kept = twice('"a text that is not kept"', '"openai"')

    expect(kept.ok && keptText(kept)).toContain('"provider":"openai"')
    expect(kept.ok && keptText(kept)).not.toContain('not kept')
    expect(twice('"openai"', '""').ok).toBe(false)
    expect(validateText('{"prompt":"x","prompt":null}')).toMatchObject({
      ok: false,
      errors: [{ pointer: '/prompt' }, {}, {}, {}, {}, {}],
    })
  })
})

describe('content', () => {
  const REFUSED = 'prompt and completion content is not accepted'
  const WORDS = [
    'prompt',
    'messages',
    'completion',
    'content',
    'input',
    'output',
    'system_prompt',
    'input_text',
    'tool_calls',
    'response_body',
  ]

  /** The same words in snake_case, camelCase, kebab-case, with dots or in capitals. */
  const spellings = fc
    .tuple(
      fc.constantFrom(...WORDS),
      fc.constantFrom('_', '-', '.', '', ' '),
      fc.array(fc.boolean(), { minLength: 16, maxLength: 16 }),
    )
    .map(([word, separator, capitals]) =>
      [...word.replaceAll('_', separator)].map((letter, i) => (capitals[i] ? letter.toUpperCase() : letter)).join(''),
    )

  test.each(WORDS)('the key %s is refused whatever its value', (key) => {
    for (const value of ['a text', '', null, 0, false, [], {}]) {
      expect(errorsOf(validate({ [key]: value }))).toEqual([{ pointer: `/${key}`, detail: REFUSED }])
    }
  })

  test('a content key is refused in any spelling, at any depth, in objects and in arrays', () => {
    const wrappers = fc.array(fc.constantFrom('object', 'array'), { maxLength: 14 })
    fc.assert(
      fc.property(spellings, wrappers, (key, wrapped) => {
        let value: unknown = { [key]: 'a text' }
        for (const kind of wrapped) value = kind === 'array' ? [value] : { inner: value }

        expect(errorsOf(validate({ vendor: value })).map(({ detail }) => detail)).toEqual([REFUSED])
      }),
    )
  })

  test('a content key among the tags is refused', () => {
    expect(errorsOf(validate({ tags: { prompt: 'a text' } }))).toEqual([{ pointer: '/tags/prompt', detail: REFUSED }])
  })

  test('a name that merely holds such a word is not content', () => {
    for (const key of ['prompt_tokens', 'input_token_count', 'content_type', 'messages_count', 'outputs_total']) {
      expect(validate({ [key]: 1 }).ok).toBe(true)
    }
  })

  test('an event is checked to a depth of 16, and refused if it is deeper', () => {
    const nested = (depth: number): unknown => (depth === 0 ? 1 : { inner: nested(depth - 1) })

    expect(validate({ vendor: nested(16) }).ok).toBe(true)
    expect(errorsOf(validate({ vendor: nested(17) }))[0]?.detail).toBe('must not be nested more than 16 deep')
    expect(validateText(withRaw('vendor', '['.repeat(100_000) + ']'.repeat(100_000))).ok).toBe(false)
  })

  test('no error repeats a value, nor a key that could hold a text', () => {
    const SECRET = 'the quick brown fox'
    const leaves = fc.constantFrom(SECRET, `${SECRET}\n`, SECRET.repeat(20), `${SECRET}\ud800`, 1, null)
    const keys = fc.constantFrom(SECRET, `${SECRET}\n`, SECRET.repeat(20), 'é'.repeat(33) + SECRET, 'prompt', 'k')
    const values = fc.oneof(leaves, fc.array(leaves, { maxLength: 2 }), fc.dictionary(keys, leaves, { maxKeys: 3 }))
    const fields = fc.constantFrom(
      'event_id',
      'ingestion_timestamp',
      'tags',
      ...NAMES,
      ...COUNTS,
      ...AMOUNTS,
      ...OTHERS,
      SECRET,
      'vendor',
      'prompt',
    )
    fc.assert(
      fc.property(fc.dictionary(fields, values, { minKeys: 1, maxKeys: 4 }), (stated) => {
        expect(JSON.stringify(errorsOf(validate(stated)))).not.toContain('quick')
      }),
      { numRuns: drawn(1000) },
    )
  })

  test('every error states its pointer and its full reason', () => {
    const values = fc.oneof(
      fc.string({ maxLength: 300, size: 'max' }),
      fc.double(),
      fc.boolean(),
      fc.dictionary(fc.string(), fc.string()),
    )
    fc.assert(
      fc.property(
        fc.dictionary(fc.constantFrom(...NAMES, ...COUNTS, ...AMOUNTS, ...OTHERS), values, { minKeys: 1 }),
        (stated) => {
          for (const { pointer, detail } of errorsOf(validate(stated))) {
            expect(pointer).toMatch(/^\/[\w.()-]+(\/[\w.()-]+)*$/)
            expect(detail).not.toMatch(/undefined|\[object|^$/)
          }
        },
      ),
      { numRuns: drawn(1000) },
    )
  })
})

/** What the log keeps of a valid event. */
const keptText = ({ event }: Extract<Validation, { ok: true }>): string =>
  encodeEntry({ tenantId: 'tnt_one', principal: 'key_one', id: idOf(1), receivedAtMs: NOW_MS }, event)

const keptOf = (validation: Extract<Validation, { ok: true }>): unknown =>
  (JSON.parse(keptText(validation)) as { e: unknown }).e

/** The text of an event in which a field is written as it stands. */
const withRaw = (field: string, raw: string): string => `${JSON.stringify(wireEvent()).slice(0, -1)},"${field}":${raw}}`

describe('units besides tokens', () => {
  test.each(['0', '12.5', '999999999999.999999999999999999'])('a quantity is a decimal, 0 or more: %s', (quantity) => {
    expect(refusedAt({ billed_units: { seconds: quantity, pages: '1' } })).toEqual([])
  })

  test.each(['-1', '1e3', '', '.5', '1.1234567890123456789', 12.5, null])('no other is: %s', (quantity) => {
    expect(refusedAt({ billed_units: { seconds: quantity } })).toContain('/billed_units/seconds')
  })

  test('an unknown unit is named, with the known ones', () => {
    expect(errorsOf(validate({ billed_units: { minutes: '1' } }))).toContainEqual({
      pointer: '/billed_units/minutes',
      detail:
        'is unknown; known are seconds, images, characters, pages, requests, search_units, documents, container_minutes',
    })
    expect(refusedAt({ billed_units: { 'write me a poem': '1' } })).toContain('/billed_units/(unnamed)')
  })
})
