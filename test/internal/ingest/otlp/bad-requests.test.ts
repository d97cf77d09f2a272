import { gzipSync } from 'node:zlib'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { otlpRoutes } from '../../../../internal/ingest/otlp/otlp-routes.js'
import { FUZZ_CASES, FUZZ_MS_MAX } from '../../../support/fuzz.js'
import { type IntakeGateway, startIntakeGateway } from '../../../support/intake-gateway.js'
import { asProtobuf, decodeOtlp, type TestSpan, tracesJson } from '../../../support/otlp.js'

/**
 * Bad requests at the listener: each gets a clear answer in its own form, nothing of it is stored, and none costs
 * memory.
 */

const PROTOBUF = { 'content-type': 'application/x-protobuf' }
const JSON_TYPE = { 'content-type': 'application/json' }
const GZIP = { 'content-encoding': 'gzip' }
const MIB = 1024 * 1024

let gateway: IntakeGateway

beforeAll(async () => {
  gateway = await startIntakeGateway({
    routes: otlpRoutes({ dimensionsOf: () => [] }),
    ingestPerSecond: 1_000_000,
  })
})
afterAll(() => gateway.stop())

async function post(body: Buffer, headers: Record<string, string>, path = '/v1/traces') {
  const answer = await fetch(gateway.url + path, {
    method: 'POST',
    headers: { 'x-api-key': gateway.plainKey, ...headers },
    body,
  })
  const bytes = Buffer.from(await answer.arrayBuffer())
  const isJson = answer.headers.get('content-type') === 'application/json'
  expect(isJson).toBe(headers['content-type'] !== PROTOBUF['content-type'])
  const { message = '' } = (isJson ? JSON.parse(bytes.toString()) : decodeOtlp('Status', bytes)) as { message?: string }
  return { status: answer.status, message }
}

const call = (index: number): TestSpan => ({
  spanId: (index + 1).toString(16).padStart(16, '0'),
  startMs: Date.now() - 1_000,
  attributes: {
    'gen_ai.operation.name': 'chat',
    'gen_ai.system': 'openai',
    'gen_ai.request.model': 'gpt-4o',
    'gen_ai.usage.input_tokens': 100,
    'gen_ai.input.messages': 'content',
  },
})
const CALLS = tracesJson(Array.from({ length: 5 }, (_, index) => call(index)))
const WHOLE = asProtobuf('ExportTraceServiceRequest', CALLS)

test.each(['//v1/traces', '/v1/traces/', '/api/public/otel/v1/traces'])('%s is the path of traces', async (path) => {
  expect(await post(Buffer.from('{}'), JSON_TYPE, path)).toMatchObject({ status: 200 })
})

/** Some of many, evenly. */
const some = (count: number, many: number): number[] =>
  Array.from({ length: Math.min(count, many) }, (_, i) => Math.floor((i * many) / Math.min(count, many)))

const varint = (bytes: number): Buffer => Buffer.alloc(bytes, 0xff)

test(
  'wrong wire types, numbers without an end and impossible lengths cost what they stand in',
  async () => {
    // The first bytes: resource_spans, its length, scope_spans or resource.
    const bodies = [
      ...Array.from({ length: 8 }, (_, wireType) =>
        Buffer.concat([Buffer.from([(1 << 3) | wireType]), WHOLE.subarray(1)]),
      ),
      ...some(FUZZ_CASES / 4, WHOLE.length).map((at) =>
        Buffer.concat([WHOLE.subarray(0, at), varint(11), WHOLE.subarray(at)]),
      ),
      Buffer.concat([Buffer.from([0x0a]), varint(9), Buffer.from([0x01])]),
    ]
    const statuses = new Set<number>()
    for (const body of bodies) statuses.add((await post(body, PROTOBUF)).status)

    // A length that swallows the rest of a skipped value may still be a request, of none or of other spans.
    expect([...statuses].filter((status) => status !== 200)).toEqual([400])
    const ids = gateway.events().map(({ event_id: id }) => id)
    expect(new Set(ids).size).toBe(ids.length)
  },
  FUZZ_MS_MAX,
)

test('deep JSON, an empty text and other texts are refused', async () => {
  const texts = [
    '['.repeat(5 * MIB),
    '{"resourceSpans":'.repeat(100_000),
    '{"resourceSpans":[{"scopeSpans":[{"spans":[{"attributes":[{"key":"a","value":' +
      `${'{"arrayValue":{"values":['.repeat(50_000)}`,
    '[]',
    '"text"',
    'null null',
    '{"resourceSpans":{}}',
  ]
  for (const text of texts) expect(await post(Buffer.from(text), JSON_TYPE)).toMatchObject({ status: 400 })
})

test('more spans than a request may hold are too many, also where they are packed into little', async () => {
  const request = { resourceSpans: [{ scopeSpans: [{ spans: Array.from({ length: 100_001 }, () => ({})) }] }] }
  const json = JSON.stringify(request)
  const protobuf = asProtobuf('ExportTraceServiceRequest', request)

  expect(await post(Buffer.from(json), JSON_TYPE)).toMatchObject({ status: 413 })
  expect(await post(protobuf, PROTOBUF)).toMatchObject({ status: 413 })
  expect(await post(gzipSync(protobuf), { ...PROTOBUF, ...GZIP })).toMatchObject({ status: 413 })
})

test.each(['', '\n', ' \n\t'])(
  'requests in JSON that follow one another, with %j between, are all read',
  async (gap) => {
    const before = gateway.events().length
    const calls = [1, 2, 3].map((at) => tracesJson([{ ...call(0), spanId: `${gap.length}${at}`.padStart(16, 'a') }]))
    const body = calls.map((each) => JSON.stringify(each)).join(gap)

    expect(await post(Buffer.from(`${body}${gap}`), JSON_TYPE)).toMatchObject({ status: 200 })
    expect(gateway.events().length - before).toBe(3)
    // Of one that is cut, the others count.
    const cut = await post(Buffer.from(`${JSON.stringify(CALLS)}${gap}{"resourceSp`), JSON_TYPE)
    expect(cut).toMatchObject({ status: 200 })
  },
)

test.each(['protobuf', 'JSON'])(
  'a batch of 24 MiB of prompts in %s is taken, and half of its last span is not',
  async (form) => {
    const prompt = 'a prompt of which nothing is kept '.repeat(250)
    const calls = Array.from({ length: 3_000 }, (_, index) => call(index + (form === 'JSON' ? 10_000 : 20_000)))
    const json = tracesJson(
      calls.map((each) => ({ ...each, attributes: { ...each.attributes, 'gen_ai.input.messages': prompt } })),
    )
    const body = form === 'JSON' ? Buffer.from(JSON.stringify(json)) : asProtobuf('ExportTraceServiceRequest', json)
    expect(body.length).toBeGreaterThan(24 * MIB)
    const before = gateway.events().length

    const answer = await fetch(`${gateway.url}/v1/traces`, {
      method: 'POST',
      headers: { 'x-api-key': gateway.plainKey, ...(form === 'JSON' ? JSON_TYPE : PROTOBUF) },
      body: body.subarray(0, -100),
    })

    expect(answer.status).toBe(200)
    expect(await answer.text()).toContain('not well-formed: 1')
    expect(gateway.events().length - before).toBe(2_999)
  },
)

test('gzip: a bomb is too large, and what is none is refused', async () => {
  const bomb = gzipSync(Buffer.alloc(64 * MIB))

  expect(await post(bomb, { ...PROTOBUF, ...GZIP })).toMatchObject({ status: 413 })
  expect(await post(WHOLE, { ...PROTOBUF, ...GZIP })).toMatchObject({ status: 400 })
  expect(await post(gzipSync(WHOLE).subarray(0, -9), { ...JSON_TYPE, ...GZIP })).toMatchObject({ status: 400 })
  expect(await post(gzipSync(WHOLE), { ...PROTOBUF, 'content-encoding': 'br' })).toMatchObject({ status: 415 })
})

test(
  'bodies of the longest length leave no memory behind',
  async () => {
    const zeros = Buffer.alloc(19 * MIB)
    const bodies: readonly (readonly [Buffer, Record<string, string>])[] = [
      [
        gzipSync(Buffer.concat([Buffer.from('{"a":['), Buffer.alloc(18 * MIB, '[],'), Buffer.from('0]}')])),
        { ...JSON_TYPE, ...GZIP },
      ],
      [gzipSync(Buffer.alloc(19 * MIB, Buffer.from([0x0a, 0x00]))), { ...PROTOBUF, ...GZIP }],
      [gzipSync(zeros), { ...PROTOBUF, ...GZIP }],
    ]
    const round = async (): Promise<void> => {
      for (const [body, headers] of bodies) expect([400, 413]).toContain((await post(body, headers)).status)
    }
    await round()
    const heapOf = () => {
      globalThis.gc?.()
      const { heapUsed, arrayBuffers } = process.memoryUsage()
      return heapUsed + arrayBuffers
    }
    const before = heapOf()
    for (let i = 0; i < 2; i++) await round()

    expect(heapOf() - before).toBeLessThan(48 * MIB)
  },
  FUZZ_MS_MAX,
)
