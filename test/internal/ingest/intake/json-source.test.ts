import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { GrowingBytes } from '../../../../internal/ingest/bodies/growing-bytes.js'
import { JsonObjects } from '../../../../internal/ingest/bodies/json-objects.js'
import { jsonRoute, lacks, mappedEvent, skipped } from '../../../../internal/ingest/intake/json-source.js'
import { drawn } from '../../../support/run/rings.js'

/** A source whose payloads have an `id`, and may stand for several calls. */
const route = jsonRoute({
  name: 'test',
  wanted: { id: 'value', calls: 'value' },
  map({ id, calls }) {
    if (typeof id !== 'string') return id === undefined ? skipped('no_model_call') : lacks('/id', 'must be a text')
    const eventOf = (eventId: string) =>
      mappedEvent({
        event_id: eventId,
        ingestion_layer: 'gateway',
        ingestion_timestamp: '2026-11-24T13:00:00Z',
        provider: 'openai',
        requested_model: 'gpt-4o',
      })
    if (typeof calls !== 'number') return eventOf(id)
    const events = Array.from({ length: calls }, (_, i) => eventOf(`${id}.${i}`))
    return { kind: 'events', events: events.flatMap((one) => (one.kind === 'event' ? [one.event] : [])) }
  },
})

async function read(body: string) {
  const found = await route.read(Buffer.from(body), {
    contentType: 'application/json',
    caller: { tenantId: 'tnt_one', isGateway: false },
    receivedAtMs: 0,
    header: () => '',
  })
  if (found.kind === 'refused') return found.problem.code
  const admitted = { accepted: found.events.length, duplicates: 0, rejected: [] }
  const report = JSON.parse(String(found.answer(admitted).body))
  return { ids: found.events.map(({ event }) => event.event_id), ...report }
}

const one = '{"id":"one"}'
const two = '{"id":"two"}'

describe('a body', () => {
  test.each<[string, string]>([
    ['whose first line is text', `Traceback (most recent call last):\n${one}\n${two}`],
    ['whose first line begins with a bracket', `[2026-11-24 13:00:00] started\n${one}\n${two}`],
    ['whose first line ends too early', `{"id":"x","mod\n${one}\n${two}`],
    ['whose first line is a list', `[1, 2]\n${one}\n${two}`],
    ['whose last line is text', `${one}\n${two}\nbye }`],
    ['whose first line ends as an object does', `started {}\n${one}\r\n\r\n${two}\n`],
  ])('%s loses nothing else', async (_, body) => {
    expect(await read(body)).toMatchObject({ ids: ['one', 'two'], received: 3, rejected: 1 })
  })

  test.each<[string, string, readonly string[]]>([
    ['one object on many lines', '{\n"id":\n"one"}\n', ['one']],
    ['one object whose first line ends as an object does', '{"calls": {}\n,"id":"one"}', ['one']],
    ['an array on many lines', `[\n${one},\n${two}\n]`, ['one', 'two']],
    ['lines', `${one}\n${two}`, ['one', 'two']],
  ])('may be %s', async (_, body, ids) => {
    expect(await read(body)).toMatchObject({ ids, rejected: 0 })
  })

  test.each([
    `[\n  ${one},\n  ${two}`,
    `[${one}, ${two}`,
    `${one}${two}`,
    `${one},${two}`,
    `[${one}]\n[${two}]`,
    `\x1e${one}\n\x1e${two}\n`,
  ])('may be the beginning of an array, or objects one behind the other: %s', async (body) => {
    expect(await read(body)).toMatchObject({ ids: ['one', 'two'], received: 2, rejected: 0 })
  })

  test('that is a text is one payload, rejected', async () => {
    expect(await read('[2026-11-24] started')).toMatchObject({ ids: [], received: 1, rejected: 1 })
  })

  /** What is no payload, and costs no other: by rest of a line, quotes, brackets and commas. */
  const BAD = [
    'text',
    '"text"',
    '7',
    'null',
    '[]',
    '{"id":}',
    '{"id" "x"}',
    '{"id":"x"',
    '{"id":"x",',
    '{"id":"x","calls":{"a":[1,{"b":2}}',
    '{"id":"x}',
    '{id:"x"}',
    '{"id":"he said "no" to it"}',
    '{"id":"x\\',
    '{',
  ]
  /** These end with a bracket or quote too few or many: where, only a line tells. */
  const LINES_ONLY = new Set(['text', '[]', '{"id":"x\\', '{"id":"x","calls":{"a":[1,{"b":2}}', '{'])

  test.each(BAD)('that holds %s first, in the middle or last loses nothing else', async (bad) => {
    const rejected = bad === '[]' ? {} : { rejected: 1 }
    for (const place of [0, 1, 2]) {
      const parts = [one, two].toSpliced(place, 0, bad)
      expect(await read(parts.join('\n'))).toMatchObject({ ids: ['one', 'two'], ...rejected })
      expect(await read(`[\n${parts.join(',\n')}\n]`)).toMatchObject({ ids: ['one', 'two'] })
      if (!LINES_ONLY.has(bad)) expect(await read(`[${parts.join(',')}]`)).toMatchObject({ ids: ['one', 'two'] })
    }
  })

  test('that ends anywhere loses the last payload only', async () => {
    const many = Array.from({ length: 5 }, (_, i) => `{"id":"n${i}","content":{"a":["x\\"}",{"b":"]"}]},"calls":null}`)
    for (const [body, open] of [
      [many.join('\n'), 0],
      [`[${many.join(',')}]`, 1],
      [many.join(''), 0],
    ] as const) {
      for (let length = 0; length <= body.length; length++) {
        const report = await read(body.slice(0, length))
        const complete = body.slice(0, length).split('"calls":null}').length - 1
        expect(report.ids).toEqual(['n0', 'n1', 'n2', 'n3', 'n4'].slice(0, complete))
        expect(report.rejected).toBeLessThanOrEqual(1)
        expect(report.received).toBeLessThanOrEqual(complete + 1 + open)
      }
    }
  })

  test('is read alike in whatever chunks it comes, and keeps no content', () => {
    const payloads = fc.array(
      fc.record({
        id: fc.oneof(fc.string({ unit: 'grapheme' }), fc.nat()),
        messages: fc.jsonValue(),
        calls: fc.option(fc.nat()),
      }),
      { maxLength: 6 },
    )
    fc.assert(
      fc.property(payloads, fc.nat(2), fc.integer({ min: 1, max: 80 }), (all, form, chunkBytes) => {
        const texts = all.map((each) => JSON.stringify(each, null, form))
        const body = Buffer.from(form === 1 ? `[${texts.join(',')}]` : texts.join('\n'))
        const copy = new JsonObjects(new GrowingBytes(), {
          members: new Map([
            ['id', 'scalar'],
            ['calls', 'scalar'],
          ]),
        })
        for (let at = 0; at < body.length; at += chunkBytes) copy.write(body.subarray(at, at + chunkBytes))
        copy.end()

        const left = copy.starts.map((start, i) => JSON.parse(copy.kept.bytes.toString('utf8', start, copy.ends[i])))
        expect(left).toEqual(all.map((each) => ({ ...each, messages: null })))
      }),
      { numRuns: drawn(300) },
    )
  })

  test('of lines loses none of them, whatever stands between', async () => {
    const noise = fc.oneof(
      fc.constantFrom('', '[', ']', '{', '}', '{}', '[{', '"', '{"id":', '{"id":1}', 'text', '[]'),
      fc.string({ unit: 'grapheme' }).map((text) => `# ${text.replace(/[\r\n\u2028\u2029]/g, ' ')}`),
    )
    const lines = fc.array(
      fc.oneof(
        noise,
        fc.nat(9).map((n) => `{"id":"c${n}"}`),
      ),
      { maxLength: 12 },
    )
    await fc.assert(
      fc.asyncProperty(lines, async (drawn) => {
        // A line of an object beyond doubt: else it may be part of something else.
        const body = [...drawn, one, two].join('\n')
        const sent = body.split('\n').filter((line) => /^\{"id":"\w+"\}$/.test(line))
        expect(await read(body)).toMatchObject({ ids: sent.map((line) => JSON.parse(line).id) })
      }),
      { numRuns: drawn(300), examples: [[['[', '[', '}']]] },
    )
  })
})

test('a payload of several calls counts as several', async () => {
  expect(await read(`{"id":"one","calls":2}\n${two}`)).toMatchObject({
    ids: ['one.0', 'one.1', 'two'],
    received: 3,
    accepted: 3,
  })
})
