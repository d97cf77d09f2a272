import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { uuidBytes } from '../../../internal/ids/ids.js'
import { writeEntry } from '../../../internal/invocations/entry-bytes.js'
import { readUsualText } from '../../../internal/invocations/hot-reader.js'
import { validateInvocation } from '../../../internal/invocations/validate-invocation.js'
import { parseJson } from '../../../internal/text/parse-json.js'
import { FULL_EVENT } from '../../support/full-event.js'
import { idOf, NOW_MS, validEvent, wireEvent } from '../../support/invocations.js'
import { drawn } from '../../support/run/rings.js'

const ALL_TAGS = Array.from({ length: 16 }, (_, i) => [`key-${i}`, i === 0 ? 'v'.repeat(256) : `v${i}`] as const)

/** What is read of a text that stands somewhere in a larger body. */
function read(text: string | Buffer, before = '[', behind = ',{"provider":"x"}]') {
  const bytes = Buffer.concat([Buffer.from(before), Buffer.from(text), Buffer.from(behind)])
  const start = before.length
  const usual = readUsualText(bytes, start, bytes.length - behind.length, NOW_MS)
  if (usual === undefined) return undefined
  const { uuid, ingestionLayer } = usual
  return { uuid: Uint8Array.from(uuid), ingestionLayer }
}

/** What `read` must have found, if anything: the general way is asked. */
function expected(text: string | Buffer) {
  const bytes = Buffer.from(text)
  const validation = validateInvocation(parseJson(bytes), NOW_MS)
  if (!validation.ok) return undefined
  const { event, shape } = validation
  // Taken over as it came: whatever is named twice, unknown or null would be kept with it.
  const admission = { tenantId: 'tnt_one', principal: 'key_one', id: idOf(1), receivedAtMs: NOW_MS }
  const into = Buffer.alloc(4096)
  const entry = into.toString('utf8', 0, writeEntry(into, 0, admission, range(bytes), { event, shape }))
  const asItCame = into.toString('utf8', 0, writeEntry(into, 0, admission, range(bytes), undefined))
  if (entry !== asItCame) return undefined
  const { event_id: eventId, ingestion_layer: ingestionLayer } = event
  return { uuid: uuidBytes(eventId), ingestionLayer }
}
const range = (bytes: Buffer) => ({ bytes, start: 0, end: bytes.length })

test('a call from before the retention of records is refused, in the common form and in general', () => {
  const bytes = Buffer.from(JSON.stringify(wireEvent()))
  for (const [retainedFromMs, isTaken] of [
    [NOW_MS, true],
    [NOW_MS + 1, false],
  ] as const) {
    expect(readUsualText(bytes, 0, bytes.length, NOW_MS, retainedFromMs) !== undefined).toBe(isTaken)
    expect(validateInvocation(wireEvent(), NOW_MS, retainedFromMs)).toMatchObject(
      isTaken ? { ok: true } : { ok: false, errors: [{ pointer: '/ingestion_timestamp' }] },
    )
  }
})

describe('an event in the common form', () => {
  test.each([
    ['of the required fields', wireEvent()],
    ['of all fields', wireEvent(FULL_EVENT)],
    ['in another order', Object.fromEntries(Object.entries(wireEvent(FULL_EVENT)).reverse())],
    ['with its id in capitals', wireEvent({ event_id: '01890A5D-AC96-774B-BCCE-B302099A8057' })],
    ['with a time of milliseconds', wireEvent({ ingestion_timestamp: '2026-11-03T11:59:59.123Z' })],
    ['with a time of another spelling', wireEvent({ ingestion_timestamp: '2026-11-03t11:59:59.123456+00:00' })],
    ['that was served from a cache', wireEvent({ served_from_cache: true, attribution_confidence: 0 })],
    ['with a tag', wireEvent({ tags: { team: 'core' } })],
    [
      'with tags that come again',
      wireEvent({ tags: { team: 'edge', 'caller.user-agent': 'x/1 (y; z)', 'a b': '{1}' } }),
    ],
    ['with all tags', wireEvent({ tags: Object.fromEntries(ALL_TAGS) })],
    ['with a small confidence', wireEvent({ attribution_confidence: 0.001 })],
  ])('%s is read', (_, event) => {
    const text = JSON.stringify(event)
    expect(expected(text)).toBeDefined()
    expect(read(text)).toEqual(expected(text))
    // As Python writes it, and with a line's end.
    const members = Object.entries(event).map(([key, value]) => `"${key}": ${JSON.stringify(value)}`)
    expect(read(`{${members.join(', ')}} \r\n`)).toEqual(expected(text))
  })

  test('is read independently of the event before it', () => {
    const texts = ['gateway', 'proxy', 'proxy2', 'gateway'].map((layer) =>
      JSON.stringify(wireEvent({ ingestion_layer: layer })),
    )
    expect(texts.map((text) => read(text))).toEqual(texts.map((text) => expected(text)))
    expect(texts.map((text) => read(text)?.ingestionLayer)).toEqual(['gateway', 'proxy', 'proxy2', 'gateway'])
  })
})

describe('any other text', () => {
  const valid = JSON.stringify(validEvent())
  const rest = valid.slice(1, -1)

  test.each([
    ['a null', `{${rest},"region":null}`],
    ['no tags', `{${rest},"tags":{}}`],
    ['a tag too many', `{${rest},"tags":${JSON.stringify(Object.fromEntries([...ALL_TAGS, ['more', 'x']]))}}`],
    ['a tag that comes twice', `{${rest},"tags":{"team":"core","team":"edge"}}`],
    ['a tag with the key of content', `{${rest},"tags":{"team":"core","systemPrompt":"x"}}`],
    ['a tag with the key of prototypes', `{${rest},"tags":{"__proto__":"x"}}`],
    ['a tag with a long key', `{${rest},"tags":{"${'k'.repeat(65)}":"x"}}`],
    ['a tag with a long value', `{${rest},"tags":{"k":"${'x'.repeat(257)}"}}`],
    ['a tag without a key', `{${rest},"tags":{"":"x"}}`],
    ['a tag without a value', `{${rest},"tags":{"k":""}}`],
    ['a tag that is a number', `{${rest},"tags":{"k":1}}`],
    ['a tag that is an object', `{${rest},"tags":{"k":{"prompt":"x"}}}`],
    ['tags in a list', `{${rest},"tags":["k"]}`],
    ['tags with a comma too many', `{${rest},"tags":{"k":"x",}}`],
    ['tags that do not end', `{${rest},"tags":{"k":"x"`],
    ['a field of its own', `{${rest},"note":"x"}`],
    ['a field that is named twice', `{"provider":"a",${rest}}`],
    ['an escape', `{${rest},"region":"a\\u0062"}`],
    ['an escape in a key', `{${rest},"reg\\u0069on":"a"}`],
    ['letters beyond ASCII', `{${rest},"region":"é"}`],
    ['a control character', `{${rest},"region":"a\tb"}`],
    ['a delete character', `{${rest},"region":"a\x7fb"}`],
    ['an empty name', `{${rest},"region":""}`],
    ['a model with a character that models have not', valid.replace('"openai"', '"open<ai"')],
    ['a long name', `{${rest},"region":"${'x'.repeat(257)}"}`],
    ['a number in place of a name', `{${rest},"region":1}`],
    ['a leading zero', `{${rest},"latency_ms":01}`],
    ['a fraction', `{${rest},"latency_ms":1.5}`],
    ['an exponent', `{${rest},"latency_ms":1e3}`],
    ['a negative count', `{${rest},"latency_ms":-1}`],
    ['no count', `{${rest},"latency_ms":}`],
    ['a count beyond the exact ones', `{${rest},"latency_ms":9007199254740993}`],
    ['a confidence that is too high', `{${rest},"attribution_confidence":0.951}`],
    ['a confidence of one', `{${rest},"attribution_confidence":1}`],
    ['a confidence without digits', `{${rest},"attribution_confidence":0.}`],
    ['no word of JSON', `{${rest},"served_from_cache":trux}`],
    ['a tier that there is not', `{${rest},"service_tier":"fast"}`],
    ['an amount that is none', `{${rest},"estimated_cost_usd":"1e3"}`],
    ['a time to come', valid.replace('2026-11-03', '2027-11-03')],
    ['a time that is none', valid.replace('T12:', 'T25:')],
    ['an id that is none', valid.replace('01890a5d', '01890a5g')],
    ['an id whose hyphens stand elsewhere', valid.replace('5d-ac96', '5-dac96')],
    ['a field too few', valid.replace(',"provider":"openai"', '')],
    ['an array', `[${valid}]`],
    ['nothing', ''],
    ['an empty object', '{}'],
    ['a comma too many', `{${rest},}`],
    ['something behind it', `${valid}x`],
    ['another event behind it', `${valid},${valid}`],
    ['a line break within', `{\n${rest}}`],
    ['no end', valid.slice(0, -1)],
    ['an end within a string', valid.slice(0, -3)],
    ['an end within a key', `{${rest},"reg`],
  ])('%s is left to the general way', (_, text) => {
    expect(read(text)).toBeUndefined()
    // Nor does it go on behind the end.
    expect(read(text, '', '')).toBeUndefined()
  })

  const letters = fc.string({ unit: fc.constantFrom('a', '~', ' ', '"', '\\', 'é', '\n', '}', ','), maxLength: 5 })
  const tagKeys = fc.oneof(
    fc.constantFrom('team', 'prompt', 'in-put', 'System.Prompt', '__proto__', '7', 'k'.repeat(64), 'k'.repeat(65)),
    letters,
    fc.string({ unit: 'grapheme-ascii', minLength: 1, maxLength: 66 }),
  )
  const values = fc.oneof(
    fc.constantFrom(...Object.values(wireEvent(FULL_EVENT))),
    fc.constantFrom('2026-11-03T12:00:00Z', '2027-11-03T12:00:00Z', '1969-01-01T00:00:00Z', '', 'x'.repeat(257)),
    letters,
    fc.nat(),
    fc.integer(),
    fc.double(),
    fc.dictionary(tagKeys, fc.oneof(letters, fc.constantFrom('x', 'y', null, 1)), { maxKeys: 18 }),
    fc.constantFrom(null, true, false, {}, [], { a: 'b' }, 0.95, 0.9501, 1e15, 1e16),
  )
  const keys = fc.constantFrom(...Object.keys(wireEvent(FULL_EVENT)), 'tags', 'note', 'prompt', 'event', '')
  const edits = fc.array(
    fc.record({
      at: fc.nat(),
      remove: fc.nat({ max: 3 }),
      insert: fc.oneof(
        fc.constantFrom('', ' ', '\n', '"', ',', ':', '{', '}', '0', '9', '.', '-', 'e', '\\', '\0', 'null'),
        letters,
      ),
    }),
    { maxLength: 3 },
  )

  test('is accepted only if the general path copies it unchanged', () => {
    let taken = 0
    fc.assert(
      fc.property(
        fc.subarray(Object.entries(wireEvent(FULL_EVENT)), { minLength: 4 }),
        fc.array(fc.tuple(keys, values), { maxLength: 2 }),
        edits,
        (own, others, all) => {
          const members = [...own, ...others].map(([key, value]) => `${JSON.stringify(key)}:${JSON.stringify(value)}`)
          const text = all.reduce(
            (it, { at, remove, insert }) => {
              const place = at % (it.length + 1)
              return it.slice(0, place) + insert + it.slice(place + remove)
            },
            `{${members.join(',')}}`,
          )
          const usual = read(text)
          if (usual === undefined) return
          taken++
          expect(usual).toEqual(expected(text))
        },
      ),
      { numRuns: drawn(10_000) },
    )
    expect(taken).toBeGreaterThan(drawn(100))
  })

  test('has tags only if the general path copies them unchanged', () => {
    const someTags = fc.array(fc.tuple(tagKeys, fc.oneof(letters, fc.constant('x'))), { maxLength: 18 })
    let taken = 0
    fc.assert(
      fc.property(someTags, (tags) => {
        // Written by hand, since an object has a key only once.
        const members = tags.map((pair) => pair.map((part) => JSON.stringify(part)).join(':'))
        const text = `{${rest},"tags":{${members.join(',')}}}`
        const usual = read(text)
        if (usual === undefined) return
        taken++
        expect(usual).toEqual(expected(text))
      }),
      { numRuns: drawn(10_000) },
    )
    expect(taken).toBeGreaterThan(drawn(100))
  })

  test('has the schema’s characters in every field: of each ASCII character it reads what the schema accepts', () => {
    const names = Object.entries(wireEvent(FULL_EVENT)).filter(([, value]) => typeof value === 'string')
    for (const [field] of names) {
      for (let code = 0; code < 128; code++) {
        const text = JSON.stringify(wireEvent({ ...FULL_EVENT, [field]: String.fromCharCode(code) }))
        const usual = read(text)
        if (usual !== undefined) expect(usual, `${field} ${code}`).toEqual(expected(text))
        const isEscaped = code < 0x20 || code === 0x22 || code === 0x5c || code === 0x7f
        if (!isEscaped) expect(usual !== undefined, `${field} ${code}`).toBe(expected(text) !== undefined)
      }
    }
  })
})
