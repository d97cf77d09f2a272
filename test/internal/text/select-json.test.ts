import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { InText, JsonSelector, type WantedMembers } from '../../../internal/text/select-json.js'
import { unescapedBytes } from '../../../internal/text/unescape-json.js'
import { FUZZ_CASES, FUZZ_MS_MAX } from '../../support/fuzz.js'

const WANTED = {
  a: 'value',
  cost: 'digits',
  list: 'texts',
  free: 'scalars',
  inner: { b: 'value', deeper: { c: 'value' } },
  known: 'skip',
} as const satisfies WantedMembers
const selector = new JsonSelector(WANTED)
const select = (text: string) => selector.select(Buffer.from(text))
const readOf = (value: unknown) => select(JSON.stringify(value))?.value

describe('what is read', () => {
  test.each([
    [{ a: 'x' }, { a: 'x' }],
    [{ a: 'quote " and \\ and \u00e9 and \u{1f600} and \n' }, { a: 'quote " and \\ and \u00e9 and \u{1f600} and \n' }],
    [{ a: null }, { a: null }],
    [{ a: -1.5e3 }, { a: -1500 }],
    [{ a: [1], cost: {}, list: 'x', free: [] }, {}],
    [{ list: ['x', 1, { y: ['z'] }, 'w'] }, { list: ['x', 'w'] }],
    [{ inner: { b: true, other: {}, deeper: { c: 1 } } }, { inner: { b: true, deeper: { c: 1 } } }],
    [{ inner: 'printed' }, { inner: 'printed' }],
    [{ other: { a: 'not this' } }, {}],
    [{}, {}],
  ])('of %j is %j', (value, expected) => {
    expect(readOf(value)).toEqual(expected)
  })

  test('an exact number is its digits', () => {
    expect(select('{"cost": 1.20e-05}')?.value).toEqual({ cost: '1.20e-05' })
  })

  test('free members are those that are no content and not nested', () => {
    const read = readOf({ free: { team: 'x', n: 1, prompt: 'secret', Messages: 'secret', deep: { x: 'secret' } } })
    expect(JSON.parse(JSON.stringify(read))).toEqual({ free: { team: 'x', n: 1 } })
  })

  test('numbers that only Python writes are absent', () => {
    expect(select('{"a": NaN, "cost": -Infinity}')?.value).toEqual({})
  })

  test('a name of the language is a name like others', () => {
    const read = select('{"free": {"__proto__": "x", "constructor": "y"}, "__proto__": {"a": 1}}')
    expect(Object.entries(read?.value['free'] as object)).toEqual([
      ['__proto__', 'x'],
      ['constructor', 'y'],
    ])
    expect(({} as Record<string, unknown>)['a']).toBeUndefined()
  })

  test('other members of an object are read where they are objects, and no content', () => {
    const any = new JsonSelector({ ai: { 'ai-proxy': { a: 'value' }, payload: 'skip', '*': { n: 'value' } } })
    const text =
      '{"ai": {"ai-proxy": {"a": 1, "n": 2}, "own": {"n": 3, "m": 4}, "__proto__": {"n": 5}, "note": "secret", ' +
      '"list": ["secret"], "payload": {"n": 6}, "messages": {"n": 7}}}'

    const read = any.select(Buffer.from(text))

    expect(Object.entries(read?.value['ai'] as object)).toEqual([
      ['ai-proxy', { a: 1 }],
      ['own', { n: 3 }],
      ['__proto__', { n: 5 }],
    ])
    expect(read?.unknownMembers).toBe(2)
  })

  test('an object within a text is read as one that stands there itself; another text is not', () => {
    const inText = new JsonSelector({ message: new InText({ a: 'value' }) })
    const read = (message: unknown) => inText.select(Buffer.from(JSON.stringify({ message })))?.value

    expect(read('{"a":"\\u00e9 \\" \\\\ \\u{1f600}","b":2}')).toEqual({})
    expect(read('{"a":"\\u00e9 \\" \\\\ \u{1f600}","b":2}')).toEqual({ message: { a: 'é " \\ \u{1f600}' } })
    expect(read(' {"a": 1}\n')).toEqual({ message: { a: 1 } })
    expect(read({ a: 1 })).toEqual({ message: { a: 1 } })
    for (const other of ['secret', '{"a": 1', '["a"]', `{"a":"${'x'.repeat(1_100_000)}"}`, 1, null, ['x']]) {
      expect(read(other)).toEqual({})
    }
  })

  test('the bytes of any text are those that JSON escapes', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), fc.boolean(), (text, escapesAll) => {
        const units = Array.from({ length: text.length }, (_, i) => text.charCodeAt(i).toString(16).padStart(4, '0'))
        const escaped = escapesAll ? units.map((unit) => `\\u${unit}`).join('') : JSON.stringify(text).slice(1, -1)
        expect(unescapedBytes(Buffer.from(escaped))?.equals(Buffer.from(text))).toBe(true)
      }),
    )
    for (const invalid of ['\\x', '\\u12', '\\']) expect(unescapedBytes(Buffer.from(invalid))).toBeUndefined()
  })

  test('members that are not wanted are counted, in the objects that are read', () => {
    expect(select('{"x": {"y": 1, "z": 2}, "known": 1, "inner": {"q": 1}}')?.unknownMembers).toBe(2)
  })
})

test.each([
  '',
  ' ',
  '[]',
  '"a"',
  '{',
  '{"a"',
  '{"a":',
  '{"a":1',
  '{"a":1,',
  '{"a":1,}',
  '{a:1}',
  '{"a" 1}',
  '{"a":1}}',
  '{"a":1} x',
  '{"x":[}',
  '{"x":{]}',
  '{"x":"',
  '{"x":"\\',
  '{"x":[1,2}',
  '{"a":tru}',
  '{"a":01}',
  '{"a":"\\u00"}',
  '{"x":}',
  '{"x":,}',
  '{"list":["a" "b"]}',
])('%j is no object', (text) => {
  expect(select(text)).toBeUndefined()
})

test('neither is one that is nested without end, or not UTF-8', () => {
  expect(select(`{"x":${'['.repeat(1_000_000)}`)).toBeUndefined()
  expect(select(`{"x":${'['.repeat(900)}${']'.repeat(900)}}`)?.value).toEqual({})
  expect(selector.select(Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d]))).toBeUndefined()
})

/** What the reader reads, from the parsed value. */
function oracle(value: Record<string, unknown>): Record<string, unknown> {
  const scalar = (one: unknown) => typeof one !== 'object' || one === null
  const read: Record<string, unknown> = {}
  if (scalar(value['a']) && 'a' in value) read['a'] = value['a']
  const inner = value['inner'] as Record<string, unknown> | undefined
  if (typeof inner === 'object' && inner !== null && !Array.isArray(inner)) {
    read['inner'] = 'b' in inner && scalar(inner['b']) ? { b: inner['b'] } : {}
  }
  return read
}

test(
  'any object is read as a parser reads it',
  () => {
    const json = fc.jsonValue({ maxDepth: 4 })
    const object = fc.record(
      {
        a: json,
        inner: fc.record({ b: json, z: json }, { requiredKeys: [] }),
        more: json,
        text: fc.string({ unit: 'binary' }),
      },
      { requiredKeys: [] },
    )
    fc.assert(
      fc.property(object, fc.integer({ min: 0, max: 2 }), (value, indent) => {
        const text = JSON.stringify(value, null, indent)
        const bytes = Buffer.from(`xx${text}yy`)
        expect(selector.select(bytes, 2, bytes.length - 2)?.value).toEqual(
          oracle(JSON.parse(text) as Record<string, unknown>),
        )
      }),
      { numRuns: FUZZ_CASES },
    )
  },
  FUZZ_MS_MAX,
)

test(
  'bytes that were cut, changed or doubled anywhere are read or refused, never worse',
  () => {
    const whole = Buffer.from(
      JSON.stringify({
        a: 'b\\"c',
        cost: 1.5,
        list: ['x', 'y'],
        free: { k: 'v' },
        inner: { b: [{}], deeper: { c: '\u00e9' } },
      }),
    )
    fc.assert(
      fc.property(
        fc.nat(whole.length - 1),
        fc.nat(255),
        fc.constantFrom('cut', 'change', 'double'),
        (at, byte, how) => {
          const broken = how === 'cut' ? whole.subarray(0, at) : Buffer.from(whole)
          if (how === 'change') broken[at] = byte
          const bytes = how === 'double' ? Buffer.concat([whole.subarray(0, at), whole]) : broken
          const selection = selector.select(bytes)
          if (how === 'cut') expect(selection).toBeUndefined()
        },
      ),
      { numRuns: FUZZ_CASES },
    )
  },
  FUZZ_MS_MAX,
)
