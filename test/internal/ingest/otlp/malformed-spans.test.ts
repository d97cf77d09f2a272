import { expect, test } from 'vitest'
import { KeyList } from '../../../../internal/ingest/otlp/key-list.js'
import { type Encoding, readTelemetry } from '../../../../internal/ingest/otlp/read-request.js'
import { asProtobuf, START_MS, type TestSpan, tracesJson } from '../../../support/otlp.js'

const CONTEXT = { tenantId: 'tnt_1', isGateway: false }
const COUNT = 5

const call = (index: number): TestSpan => ({
  spanId: (index + 1).toString(16).padStart(16, '0'),
  startMs: START_MS,
  attributes: {
    'gen_ai.operation.name': 'chat',
    'gen_ai.system': 'openai',
    'gen_ai.request.model': 'gpt-4o',
    'gen_ai.input.messages': 'content',
  },
})
const CALLS = tracesJson(Array.from({ length: COUNT }, (_, index) => call(index)))
const BODIES: Readonly<Record<Encoding, Buffer>> = {
  protobuf: asProtobuf('ExportTraceServiceRequest', CALLS),
  json: Buffer.from(JSON.stringify(CALLS)),
}

async function read(bytes: Buffer, encoding: Encoding) {
  const result = await readTelemetry(bytes, encoding, 'traces', new KeyList(), CONTEXT)
  if (typeof result === 'string') return result
  const counted = result.senders.flatMap(({ rejected }) => [...rejected])
  return { places: result.events.map(({ event }) => Number(event.span_id) - 1), malformed: result.malformed, counted }
}

/** Where a span's id stands in the body. */
const idAt = (index: number, encoding: Encoding): number =>
  BODIES[encoding].indexOf(
    encoding === 'json' ? (call(index).spanId as string) : Buffer.from(call(index).spanId as string, 'hex'),
  )

/** Bytes of a span that make it no span, in place of those before its id. */
const DAMAGES: readonly (readonly [Encoding, string, (index: number) => Buffer])[] = [
  ['protobuf', 'a group', (index) => altered(index, [0x13, 0x08])],
  ['protobuf', 'a length beyond its own', (index) => altered(index, [0x12, 0xff, 0xff, 0x7f])],
  ['protobuf', 'a number as its id', (index) => altered(index, [0x10, 0x08])],
  ['json', 'a number for a name', (index) => rewritten(index, '"spanId":', '7')],
  ['json', 'a word that is none', (index) => rewritten(index, '"kind":3', '"status":tru')],
  ['json', 'a comma too many', (index) => rewritten(index, '"kind":3,', ',')],
  ['json', 'no end', (index) => rewritten(index, '"status":{}}', '"status":{}')],
]

function rewritten(index: number, text: string, instead: string): Buffer {
  const json = BODIES.json.toString()
  const at = json.indexOf(text, instead === '7' ? idAt(index, 'json') - 12 : idAt(index, 'json'))
  return Buffer.from(json.slice(0, at) + instead + json.slice(at + text.length))
}

/** @param tagAndLength in place of those of the span's id */
function altered(index: number, tagAndLength: readonly number[]): Buffer {
  const bytes = Buffer.from(BODIES.protobuf)
  bytes.set(tagAndLength, idAt(index, 'protobuf') - 2)
  return bytes
}

test.each(DAMAGES)('%s: a span with %s costs only itself, wherever it is', async (encoding, _, damaged) => {
  for (const index of [0, 2, COUNT - 1]) {
    expect(await read(damaged(index), encoding)).toEqual({
      places: [0, 1, 2, 3, 4].filter((each) => each !== index),
      malformed: 1,
      counted: [['malformed', 1]],
    })
  }
})

test('JSON: a bracket too many costs no span', async () => {
  expect(await read(rewritten(1, '"status":{}}', '"status":{}}}'), 'json')).toMatchObject({
    places: [0, 1, 2, 3, 4],
    malformed: 1,
  })
})

test('JSON: a span that is none costs only itself', async () => {
  const spans = ['1', '{"traceId":{},"attributes":5}', JSON.stringify(CALLS.resourceSpans[0]?.scopeSpans[0]?.spans[1])]
  const body = Buffer.from(`{"resourceSpans":[{"scopeSpans":[{"spans":[${spans}]}]}]}`)

  expect(await read(body, 'json')).toEqual({ places: [1], malformed: 2, counted: [['malformed', 2]] })
})

test.each(['protobuf', 'json'] as const)('%s that ends too early costs the last span', async (encoding) => {
  const whole = BODIES[encoding]
  for (let length = 1; length < whole.length; length++) {
    const left = await read(whole.subarray(0, length), encoding)
    if (typeof left === 'string') expect(length).toBeLessThan(idAt(1, encoding))
    else {
      expect(left).toEqual({
        places: [0, 1, 2, 3, 4].slice(0, left.places.length),
        malformed: 1,
        counted: [['malformed', 1]],
      })
      const next = left.places.length
      expect(length).toBeGreaterThan(idAt(next - 1, encoding))
      if (next + 1 < COUNT) expect(length).toBeLessThan(idAt(next + 1, encoding))
    }
  }
})
