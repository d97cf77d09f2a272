import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  entryBytesMax,
  type ParsedEvent,
  type TextRange,
  writeEntry,
} from '../../../internal/invocations/entry-bytes.js'
import { type Admission, encodeEntry } from '../../../internal/invocations/invocation-group.js'
import type { InvocationEvent } from '../../../internal/invocations/invocation-schema.js'
import { validateInvocation } from '../../../internal/invocations/validate-invocation.js'
import { idOf, NOW_MS, validEvent } from '../../support/invocations.js'
import { drawn } from '../../support/run/rings.js'

const admission: Admission = { tenantId: 'tnt_é"', principal: 'key_one', id: idOf(0xfffefdfc), receivedAtMs: NOW_MS }
const key = { hash: Buffer.alloc(16, 0xfb), fingerprint: Buffer.alloc(8, 0x1e), flags: 0 }

interface Received extends ParsedEvent {
  readonly text: TextRange
}

/** A text as it comes, somewhere in a larger body, with what the checks say of it. */
function received(text: string): Received {
  const event = JSON.parse(text) as InvocationEvent
  const validation = validateInvocation(event, NOW_MS)
  if (!validation.ok) throw new Error(JSON.stringify(validation.errors))
  const body = Buffer.from(`[ ${text} ,"prompt"]`)
  return { event, shape: validation.shape, text: { bytes: body, start: 2, end: 2 + Buffer.byteLength(text) } }
}

/** As it stands in a buffer that has just the room that was asked for, some of it taken. */
function written({ text, ...parsed }: Received, by: Admission = admission): string {
  const into = Buffer.alloc(7 + entryBytesMax(by, text), '#')
  const end = writeEntry(into, 7, by, text, parsed)
  expect(into.toString('utf8', 0, 7)).toBe('#######')
  return into.toString('utf8', 7, end)
}

describe('an entry in bytes', () => {
  test('is the same as the entry in text', () => {
    const event = validEvent({ input_tokens: 7, tags: { team: 'ä "quoted" \\ : {x}' }, estimated_cost_usd: '0.10' })
    for (const by of [
      admission,
      { ...admission, key },
      { ...admission, key: { ...key, flags: 3 } },
      { ...admission, receivedAtMs: 1 },
      { ...admission, isUnconfirmed: true },
      { ...admission, isUnconfirmed: true, key: { ...key, flags: 4 } },
      { ...admission, traceparent: `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01` },
      { ...admission, traceparent: `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`, isUnconfirmed: true, key },
    ]) {
      expect(written(received(JSON.stringify(event)), by)).toBe(encodeEntry(by, event))
    }
  })

  test('copies the text unchanged, including its blanks and spelling', () => {
    const text = JSON.stringify(validEvent({ attribution_confidence: 0.5 }), null, 2).replace('0.5', '5e-1')
    expect(written(received(text))).toContain(`"e":${text}}`)
  })

  test('copies an unparsed text that holds exactly the fields to keep', () => {
    const { text, event } = received(JSON.stringify(validEvent()))
    const into = Buffer.alloc(entryBytesMax(admission, text))
    const end = writeEntry(into, 0, admission, text, undefined)
    expect(into.toString('utf8', 0, end)).toBe(encodeEntry(admission, event))
  })
})

/** Stands in whatever must not be kept. */
const MARK = 'unkept'

describe('the shape of a text', () => {
  /** What a producer may make of a number or a text, shorter or longer than is usual. */
  const spellings = fc.oneof(
    fc.nat({ max: Number.MAX_SAFE_INTEGER }).map((n) => [n, String(n)] as const),
    fc.tuple(fc.nat(9), fc.nat(15)).map(([n, e]) => [n * 10 ** e, `${n}e${e}`] as const),
    fc.constantFrom([100, '1e2'] as const, [1, '1.0'] as const, [0, '-0'] as const, [12000, '1.2e4'] as const),
  )
  const names = fc.oneof(
    fc.string({ unit: 'grapheme', minLength: 1, maxLength: 20 }),
    fc.constantFrom('a"b', 'a\\b', 'a/b'),
  )

  test('never takes a text for the shortest that could hold more', () => {
    fc.assert(
      fc.property(
        spellings,
        names,
        fc.dictionary(names, names, { minKeys: 1, maxKeys: 3 }),
        fc.boolean(),
        (count, name, tags, blank) => {
          const stated = { ...validEvent(), region: name, tags, served_from_cache: true, attribution_confidence: 0.25 }
          const gap = blank ? ' ' : ''
          const text = `${JSON.stringify(stated).slice(0, -1)},${gap}"latency_ms":${count[1]}}`
          const validation = validateInvocation(JSON.parse(text), NOW_MS)
          if (!validation.ok) return
          const { bytesMin } = validation.shape
          if (!Number.isNaN(bytesMin)) expect(Buffer.byteLength(text)).toBeGreaterThanOrEqual(bytesMin)
          const isPlain = /^[ !#-[\]-~]*$/.test(name + Object.entries(tags).flat().join(''))
          if (!blank && isPlain && String(count[0]) === count[1] && (count[0] < 1000 || count[0] % 1000 !== 0)) {
            expect(bytesMin).toBe(text.length)
          }
        },
      ),
      { numRuns: drawn(500) },
    )
  })

  test.each(['0.009', '1e-7', '0.010'])('is not certain of a small number or a long one: %s', (confidence) => {
    const text = `${JSON.stringify(validEvent()).slice(0, -1)},"attribution_confidence":${confidence}}`
    expect(received(text).shape.bytesMin).not.toBe(text.length)
  })
})

describe('members that are not kept', () => {
  const required = JSON.stringify(validEvent()).slice(1, -1)

  test.each([
    ['an unknown field', `{${required},"note":"${MARK}"}`],
    ['an unknown object', `{${required},"note":{"a":{"b":"${MARK}"}}}`],
    ['a null', `{${required},"region":null}`],
    ['a field that is named twice', `{"provider":"${MARK}",${required}}`],
    ['the same in another spelling', `{"pro\\u0076ider":"${MARK}",${required}}`],
    ['a value of another type that was overruled', `{"provider":{"a":["${MARK}",{"b":1}]},${required}}`],
    ['a list that was overruled', `{"provider":["${MARK}"],${required}}`],
    ['a tag that is named twice', `{${required},"tags":{"team":"${MARK}","team":"core"}}`],
    ['tags that were overruled', `{"tags":{"team":"${MARK}"},${required},"tags":{"team":"core"}}`],
    ['colons in strings, which are no members', `{"provider":"${MARK}:\\"::",${required},"region":"a:b"}`],
    ['a prototype', `{${required},"__proto__":{"note":"${MARK}"}}`],
  ])('%s', (_, text) => {
    const what = received(text)
    const entry = written(what)
    expect(entry).not.toContain(MARK)
    expect(entry).not.toContain('null')
    expect(entry).toBe(encodeEntry(admission, what.event))
  })

  test('in any mixture of members, none is kept that the parsed event does not hold', () => {
    const value = fc.oneof(fc.constant(`"${MARK}"`), fc.constant(`{"a":"${MARK}","b":[":","\\""]}`), fc.constant('1'))
    const early = fc.array(fc.tuple(fc.constantFrom('provider', 'region', 'tags', 'k8s_workload', 'note'), value), {
      maxLength: 5,
    })
    const late = fc.subarray(['"region":"eu:\\\\"', '"tags":{"a:":"b","c":"\\u003a"}', '"k8s_workload":"w"'])
    fc.assert(
      fc.property(early, late, (first, last) => {
        const names = ['provider', ...last.map((text) => /\w+/.exec(text)?.[0])]
        const kept = first.filter(([name]) => name === 'note' || names.includes(name))
        const text = `{${[...kept.map(([name, it]) => `"${name}":${it}`), required, ...last].join(',')}}`
        const what = received(text)
        const entry = written(what)
        expect(entry).not.toContain(MARK)
        expect((JSON.parse(entry) as { e: unknown }).e).toEqual(
          (JSON.parse(encodeEntry(admission, what.event)) as { e: unknown }).e,
        )
      }),
      { numRuns: drawn(500) },
    )
  })

  test('numbers that grow when they are rewritten fit', () => {
    const counts = ['input_tokens', 'output_tokens', 'latency_ms', 'reasoning_tokens'].map((name) => `"${name}":9e15`)
    const what = received(`{${required},${counts.join(',')},"region":null}`)
    expect(written(what)).toContain('9000000000000000')
  })
})
