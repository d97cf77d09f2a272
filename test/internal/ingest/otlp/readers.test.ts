import fc from 'fast-check'
import { describe, expect, test, vi } from 'vitest'
import { GrowingBytes } from '../../../../internal/ingest/bodies/growing-bytes.js'
import { JsonRequestCopy } from '../../../../internal/ingest/otlp/json-copy.js'
import { readJsonRequest } from '../../../../internal/ingest/otlp/json-request.js'
import { KeyList } from '../../../../internal/ingest/otlp/key-list.js'
import { MalformedRequest } from '../../../../internal/ingest/otlp/malformed.js'
import { bytesField } from '../../../../internal/ingest/otlp/otlp-answers.js'
import { ProtobufRecords } from '../../../../internal/ingest/otlp/protobuf-copy.js'
import { readProtobufRequest } from '../../../../internal/ingest/otlp/protobuf-request.js'
import { FACT, type FactName, KEYS_OF_FACTS } from '../../../../internal/ingest/otlp/span-facts.js'
import type { Signal, Telemetry } from '../../../../internal/ingest/otlp/telemetry.js'
import { numbersOf } from '../../../../internal/usage/printed-numbers.js'
import { FUZZ_CASES, FUZZ_MS_MAX } from '../../../support/fuzz.js'
import { asProtobuf, decodeOtlp, type OtlpMessage } from '../../../support/otlp.js'

/** The readers against a full decoder: what they say of a request is what the whole request says. */

const KEYS = new KeyList(['cost_centre'])
const FACTS = Object.keys(KEYS_OF_FACTS) as FactName[]
const LISTED: string[] = FACTS.flatMap((fact) => [...KEYS_OF_FACTS[fact]])
const MESSAGE: Readonly<Record<Signal, OtlpMessage>> = {
  traces: 'ExportTraceServiceRequest',
  logs: 'ExportLogsServiceRequest',
}

/** What was read, as a plain object that can be compared. */
function plain(telemetry: Telemetry): object {
  const { traceId, spanId, parentSpanId, startMs, endMs, isError, eventName, scope, facts, resource } = telemetry
  const values = (of: typeof facts) => ({
    ...Object.fromEntries(FACTS.map((fact) => [fact, of.get(FACT[fact])]).filter(([, value]) => value !== undefined)),
    tags: Object.fromEntries(of.tags),
  })
  const own = { traceId, spanId, parentSpanId, startMs, endMs, isError, eventName, scope }
  return { ...own, facts: values(facts), resource: values(resource) }
}

function readAll(bytes: Buffer, signal: Signal, encoding: 'protobuf' | 'json'): object[] {
  const found: object[] = []
  const read = encoding === 'protobuf' ? readProtobufRequest : readJsonRequest
  const onTelemetry = (telemetry: Telemetry): void => void found.push(plain(telemetry))
  for (const _ of read(bytes, signal, KEYS, onTelemetry, () => undefined));
  return found
}

const bodyOf = (request: object, signal: Signal, encoding: 'protobuf' | 'json'): Buffer =>
  encoding === 'json' ? Buffer.from(JSON.stringify(request)) : asProtobuf(MESSAGE[signal], request)

/** What is left of a body that comes in chunks. */
function copied(bytes: Buffer, signal: Signal, encoding: 'protobuf' | 'json', chunkBytes: number) {
  const copy = encoding === 'protobuf' ? ProtobufRecords : JsonRequestCopy
  const records = new copy(new GrowingBytes(), signal, KEYS)
  for (let at = 0; at < bytes.length; at += chunkBytes) records.write(bytes.subarray(at, at + chunkBytes))
  records.end()
  return records
}

// The same from the whole request, as protobufjs decodes it.

// biome-ignore lint/suspicious/noExplicitAny: a decoded message
type Decoded = any

const TAG_PREFIXES = ['traceloop.association.properties.', 'langfuse.trace.metadata.']
const JSON_KEYS = ['metadata', 'langfuse.observation.cost_details', 'hidden_params']
const NUMBER_KEYS: readonly string[] = (
  ['providerUsage', 'providerMetadata', 'senderUsage', 'inputDetails', 'outputDetails', 'langfuseUsage'] as const
).flatMap((fact) => [...KEYS_OF_FACTS[fact]])
const ID_KEYS: readonly string[] = (['responseId', 'requestId', 'accessId', 'accessUpstreamId'] as const).flatMap(
  (fact) => [...KEYS_OF_FACTS[fact]],
)

function factOf(key: string, value: Decoded): unknown {
  if (NUMBER_KEYS.includes(key)) {
    if (value?.value !== 'stringValue') return undefined
    const bytes = Buffer.from(value.stringValue)
    return numbersOf(bytes, 0, bytes.length)
  }
  const bytesMax = JSON_KEYS.includes(key) ? 16 * 1024 : ID_KEYS.includes(key) ? 1024 : 256
  const textOf = (text: string) => (Buffer.byteLength(text) <= bytesMax ? text : undefined)
  switch (value?.value) {
    case 'stringValue':
      return textOf(value.stringValue)
    case 'boolValue':
      return value.boolValue
    case 'intValue':
      return Number(value.intValue)
    case 'doubleValue':
      return value.doubleValue
    case 'arrayValue':
      return (value.arrayValue.values as Decoded[])
        .filter((each) => each.value === 'stringValue')
        .map((each) => textOf(each.stringValue))
        .filter((text) => text !== undefined)
        .slice(0, 16)
    default:
      return undefined
  }
}

function valuesOf(attributes: Decoded[]): object {
  const tags: Record<string, unknown> = {}
  const ranked = new Map<string, { rank: number; value: unknown }>()
  for (const { key = '', value: any } of attributes) {
    const value = factOf(key, any)
    if (value === undefined || value === '') continue
    const prefix = TAG_PREFIXES.find((each) => key.startsWith(each))
    const tag = key === 'cost_centre' ? key : prefix === undefined ? '' : key.slice(prefix.length)
    if (tag !== '' && Buffer.byteLength(tag) <= 64) tags[tag] = value
    for (const fact of FACTS) {
      const rank = (KEYS_OF_FACTS[fact] as readonly string[]).indexOf(key)
      if (rank >= 0 && rank <= (ranked.get(fact)?.rank ?? rank)) ranked.set(fact, { rank, value })
    }
  }
  return { ...Object.fromEntries([...ranked].map(([fact, { value }]) => [fact, value])), tags }
}

const idOf = (bytes: Buffer, length: number): string =>
  bytes.length === length && bytes.some((byte) => byte !== 0) ? bytes.toString('hex') : ''
const msOf = (nanos: string | undefined): number => Number(BigInt(nanos ?? 0) / 1_000_000n)

function expected(signal: Signal, request: Decoded): object[] {
  const [scopes, records] = signal === 'traces' ? ['scopeSpans', 'spans'] : ['scopeLogs', 'logRecords']
  const resources: Decoded[] = request[signal === 'traces' ? 'resourceSpans' : 'resourceLogs']
  return resources.flatMap((resource) =>
    resource[scopes].flatMap((scope: Decoded) =>
      scope[records].map((record: Decoded) => {
        const isSpan = signal === 'traces'
        const name = isSpan ? [] : [record.body?.stringValue, record.eventName]
        const timeMs = msOf(record.timeUnixNano)
        const scopeName: string = scope.scope?.name ?? ''
        return {
          traceId: idOf(record.traceId ?? Buffer.alloc(0), 16),
          spanId: idOf(record.spanId ?? Buffer.alloc(0), 8),
          parentSpanId: idOf(record.parentSpanId ?? Buffer.alloc(0), 8),
          startMs: isSpan ? msOf(record.startTimeUnixNano) : timeMs === 0 ? msOf(record.observedTimeUnixNano) : timeMs,
          endMs: isSpan ? msOf(record.endTimeUnixNano) : 0,
          isError: record.status?.code === 2,
          eventName: name.find((each) => each === 'claude_code.api_request') ?? '',
          scope: Buffer.byteLength(scopeName) <= 256 ? scopeName : '',
          facts: valuesOf(record.attributes),
          resource: valuesOf(resource.resource?.attributes ?? []),
        }
      }),
    ),
  )
}

// Requests of every form.

const text = fc.oneof(
  fc.json({ maxDepth: 3 }),
  fc.string({ unit: 'grapheme', maxLength: 40 }),
  fc.string({ unit: 'grapheme', minLength: 200, maxLength: 300 }),
)
const int64 = fc.bigInt({ min: -(2n ** 53n), max: 2n ** 53n }).map(String)
const hex = (length: number) =>
  fc
    .oneof(
      { weight: 9, arbitrary: fc.uint8Array({ minLength: length, maxLength: length }) },
      fc.uint8Array({ maxLength: 20 }),
    )
    .map((bytes) => Buffer.from(bytes).toString('hex'))
const nanos = fc
  .oneof(
    fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }),
    fc.integer({ min: 0, max: 4_000_000_000_000 }).map((ms) => BigInt(ms) * 1_000_000n),
  )
  .map(String)

const { value: anyValue } = fc.letrec((tie) => ({
  value: fc.oneof(
    { maxDepth: 3 },
    text.map((stringValue) => ({ stringValue })),
    fc.boolean().map((boolValue) => ({ boolValue })),
    int64.map((intValue) => ({ intValue })),
    // Not -0: JSON.stringify, which writes the bodies of these tests, makes it 0.
    fc.double({ noNaN: true, noDefaultInfinity: true }).map((double) => ({ doubleValue: double + 0 })),
    fc.array(tie('value'), { maxLength: 20 }).map((values) => ({ arrayValue: { values } })),
    fc
      .array(fc.record({ key: text, value: tie('value') }), { maxLength: 3 })
      .map((values) => ({ kvlistValue: { values } })),
    fc.constant({}),
  ),
}))
const key = fc.oneof(
  { weight: 6, arbitrary: fc.constantFrom(...LISTED) },
  { weight: 2, arbitrary: fc.constantFrom(...TAG_PREFIXES, 'cost_centre', 'gen_ai.input.messages', 'input.value') },
  { weight: 2, arbitrary: fc.tuple(fc.constantFrom(...TAG_PREFIXES), text).map(([prefix, rest]) => prefix + rest) },
  { weight: 2, arbitrary: text },
)
/** Keys are unique, as OpenTelemetry demands. */
const attributes = fc.uniqueArray(fc.record({ key, value: anyValue }), { selector: ({ key }) => key, maxLength: 12 })
const span = fc.record(
  {
    traceId: hex(16),
    spanId: hex(8),
    parentSpanId: hex(8),
    traceState: text,
    name: text,
    kind: fc.nat(5),
    startTimeUnixNano: nanos,
    endTimeUnixNano: nanos,
    attributes,
    droppedAttributesCount: fc.nat(),
    events: fc.array(fc.record({ timeUnixNano: nanos, name: text, attributes }), { maxLength: 2 }),
    links: fc.array(fc.record({ traceId: hex(16), spanId: hex(8), attributes }), { maxLength: 2 }),
    status: fc.record({ code: fc.nat(2), message: text }),
    flags: fc.nat(),
  },
  { requiredKeys: ['attributes'] },
)
const logRecord = fc.record(
  {
    timeUnixNano: nanos,
    observedTimeUnixNano: nanos,
    severityNumber: fc.nat(24),
    severityText: text,
    body: fc.oneof(anyValue, fc.constant({ stringValue: 'claude_code.api_request' })),
    attributes,
    flags: fc.nat(),
    traceId: hex(16),
    spanId: hex(8),
    eventName: fc.oneof(text, fc.constant('claude_code.api_request')),
  },
  { requiredKeys: ['attributes'] },
)
const scope = fc.record({ name: text, version: text, attributes }, { requiredKeys: [] })
const resource = fc.record({ attributes, droppedAttributesCount: fc.nat() }, { requiredKeys: ['attributes'] })
const few = { maxLength: 3 }
const requests: Readonly<Record<Signal, fc.Arbitrary<object>>> = {
  traces: fc.record({
    resourceSpans: fc.array(
      fc.record(
        {
          resource,
          scopeSpans: fc.array(
            fc.record({ scope, spans: fc.array(span, few), schemaUrl: text }, { requiredKeys: ['spans'] }),
            few,
          ),
        },
        { requiredKeys: ['scopeSpans'] },
      ),
      few,
    ),
  }),
  logs: fc.record({
    resourceLogs: fc.array(
      fc.record(
        {
          resource,
          scopeLogs: fc.array(
            fc.record({ scope, logRecords: fc.array(logRecord, few) }, { requiredKeys: ['logRecords'] }),
            few,
          ),
        },
        { requiredKeys: ['scopeLogs'] },
      ),
      few,
    ),
  }),
}

describe.each(['traces', 'logs'] as const)('%s', (signal) => {
  const runs = { numRuns: FUZZ_CASES / 20 }

  test(
    'protobuf: the facts of a request are those of a full decoder',
    () => {
      fc.assert(
        fc.property(requests[signal], (request) => {
          const bytes = asProtobuf(MESSAGE[signal], request)

          expect(readAll(bytes, signal, 'protobuf')).toEqual(expected(signal, decodeOtlp(MESSAGE[signal], bytes)))
        }),
        runs,
      )
    },
    FUZZ_MS_MAX,
  )

  test.each(['protobuf', 'json'] as const)(
    '%s: a copy without content says the same, in whatever chunks the body comes',
    (encoding) => {
      fc.assert(
        fc.property(requests[signal], fc.integer({ min: 1, max: 300 }), (request, chunkBytes) => {
          const bytes = bodyOf(request, signal, encoding)
          const { kept, malformed } = copied(bytes, signal, encoding, chunkBytes)

          expect(malformed).toBe(0)
          expect(readAll(kept.written, signal, encoding)).toEqual(readAll(bytes, signal, encoding))
        }),
        runs,
      )
    },
    FUZZ_MS_MAX,
  )

  test.each(['protobuf', 'json'] as const)(
    '%s: of a copy that ends anywhere, all complete records are left',
    (encoding) => {
      fc.assert(
        fc.property(requests[signal], fc.double({ min: 0, max: 1, noNaN: true }), (request, share) => {
          const bytes = bodyOf(request, signal, encoding)
          const cut = bytes.subarray(0, Math.floor(share * bytes.length))
          const { kept, malformed, records } = copied(cut, signal, encoding, 64)

          const all = readAll(bytes, signal, encoding)
          const left = kept.length === 0 ? [] : readAll(kept.written, signal, encoding)
          expect(left).toEqual(all.slice(0, records))
          expect(malformed).toBeLessThanOrEqual(1)
        }),
        runs,
      )
    },
    FUZZ_MS_MAX,
  )

  test(
    'JSON says the same as protobuf, whatever the order of members',
    () => {
      const shuffled = (value: unknown, random: number): unknown => {
        if (Array.isArray(value)) return value.map((each) => shuffled(each, random))
        if (typeof value !== 'object' || value === null) return value
        const members = Object.entries(value).map(([name, inner]) => [name, shuffled(inner, random)])
        return Object.fromEntries(random % 2 === 0 ? members : members.reverse())
      }
      fc.assert(
        fc.property(requests[signal], fc.nat(), (request, random) => {
          const json = Buffer.from(JSON.stringify(shuffled(request, random), null, random % 3))

          expect(readAll(json, signal, 'json')).toEqual(
            readAll(asProtobuf(MESSAGE[signal], request), signal, 'protobuf'),
          )
        }),
        runs,
      )
    },
    FUZZ_MS_MAX,
  )

  test('the key of a tag that JSON writes with escapes is the one that protobuf has', () => {
    const key = 'traceloop.association.properties.the "team"\\'
    const attributes = [{ key, value: { stringValue: 'search' } }]
    const request =
      signal === 'traces'
        ? { resourceSpans: [{ resource: { attributes }, scopeSpans: [{ spans: [{}] }] }] }
        : { resourceLogs: [{ resource: { attributes }, scopeLogs: [{ logRecords: [{}] }] }] }

    const read = readAll(Buffer.from(JSON.stringify(request)), signal, 'json')
    expect(read).toEqual(readAll(asProtobuf(MESSAGE[signal], request), signal, 'protobuf'))
    expect(read).toMatchObject([{ resource: { tags: { 'the "team"\\': 'search' } } }])
  })

  test.each(['protobuf', 'json'] as const)(
    '%s that is cut, altered or repeated is read or refused, and nothing else',
    (encoding) => {
      const damage = fc.oneof(
        fc.record({ kind: fc.constant('cut' as const), at: fc.double({ min: 0, max: 1, noNaN: true }) }),
        fc.record({
          kind: fc.constant('set' as const),
          at: fc.double({ min: 0, max: 1, noNaN: true }),
          byte: fc.nat(255),
        }),
        fc.record({
          kind: fc.constant('insert' as const),
          at: fc.double({ min: 0, max: 1, noNaN: true }),
          byte: fc.nat(255),
        }),
      )
      let refused = 0
      const samples = fc
        .sample(requests[signal], 50)
        .map((request) =>
          encoding === 'json' ? Buffer.from(JSON.stringify(request)) : asProtobuf(MESSAGE[signal], request),
        )
      fc.assert(
        fc.property(fc.constantFrom(...samples), damage, (whole, { kind, at, ...rest }) => {
          const offset = Math.floor(at * whole.length)
          const byte = 'byte' in rest ? Buffer.from([rest.byte]) : Buffer.alloc(0)
          const tail = kind === 'cut' ? Buffer.alloc(0) : whole.subarray(kind === 'set' ? offset + 1 : offset)
          const bytes = Buffer.concat([whole.subarray(0, offset), byte, tail])
          try {
            readAll(bytes, signal, encoding)
          } catch (cause) {
            expect(cause).toBeInstanceOf(MalformedRequest)
            expect((cause as Error).message).toMatch(
              /^The body is not (?:valid JSON|a valid protobuf message): at byte \d+, [^\n]{5,80}\.$/,
            )
            refused++
          }
        }),
        { numRuns: FUZZ_CASES },
      )
      expect(refused).toBeGreaterThan(FUZZ_CASES / 20)
    },
    FUZZ_MS_MAX,
  )
})

test('what is looked through for a scope or a resource, and then read, is both in slices', () => {
  const spans = Buffer.alloc(1_000_000, Buffer.from([0x12, 0]))
  let read = 0
  const request = readProtobufRequest(
    bytesField(1, bytesField(2, spans)),
    'traces',
    KEYS,
    () => read++,
    () => undefined,
  )
  const pauses = { before: 0, after: 0 }

  for (const _ of request) pauses[read === 0 ? 'before' : 'after']++

  // Of 32 KiB each: half a million spans are looked through for their scope first.
  expect(pauses).toEqual({ before: 31, after: 31 })
  expect(read).toBe(500_000)
})

test('JSON that names a scope or a resource behind its spans is skipped and read in slices', () => {
  const span = { attributes: [{ key: 'gen_ai.request.model', value: { stringValue: 'm'.repeat(200) } }] }
  const spans = Array.from({ length: 5_000 }, () => span)
  for (const scopes of [
    { scopeSpans: [{ spans, scope: { name: 'late' } }] },
    { scopeSpans: [{ scope: {}, spans }], resource: {} },
  ]) {
    const bytes = Buffer.from(JSON.stringify({ resourceSpans: [scopes] }))
    let read = 0
    const pauses = { before: 0, after: 0 }
    const request = readJsonRequest(
      bytes,
      'traces',
      KEYS,
      () => read++,
      () => undefined,
    )

    for (const _ of request) pauses[read === 0 ? 'before' : 'after']++

    expect(read).toBe(5_000)
    expect(Math.min(pauses.before, pauses.after)).toBeGreaterThan(bytes.length / (40 * 1024))
  }
})

test.each<[string, object]>([
  ['small resources', Array(4_000).fill({ resource: {}, scopeSpans: [{ scope: {}, spans: [{}] }] })],
  ['resources that hold nothing', Array(100_000).fill({})],
  [
    'small scopes with their names behind',
    [{ resource: {}, scopeSpans: Array(6_000).fill({ spans: [{}], scope: {} }) }],
  ],
  ['scopes that hold nothing', [{ resource: {}, scopeSpans: Array(100_000).fill({}) }]],
])('JSON of many %s is read in slices', (_, resourceSpans) => {
  const bytes = Buffer.from(JSON.stringify({ resourceSpans }))
  let pauses = 0

  for (const _ of readJsonRequest(bytes, 'traces', KEYS, vi.fn(), vi.fn())) pauses++

  expect(pauses).toBeGreaterThanOrEqual(Math.floor(bytes.length / (40 * 1024)))
})

describe('a message of very many attributes', () => {
  const attribute = Buffer.concat([
    bytesField(1, 'gen_ai.request.model'),
    bytesField(2, bytesField(1, 'm'.repeat(200))),
  ])
  const many = (field: number, bytes: number): Buffer => {
    const one = bytesField(field, attribute)
    return Buffer.alloc(Math.ceil(bytes / one.length) * one.length, one)
  }
  const MIB = 1024 * 1024

  function countsOf(resource: Buffer): { pauses: number; read: number; malformed: number } {
    const counts = { pauses: 0, read: 0, malformed: 0 }
    const onRead = (): unknown => counts.read++
    const onMalformed = (): unknown => counts.malformed++
    for (const _ of readProtobufRequest(bytesField(1, resource), 'traces', KEYS, onRead, onMalformed)) counts.pauses++
    return counts
  }

  test('is malformed as a span, as in JSON: it would be read in one turn; it costs no other', () => {
    const spans = [many(9, 4.5 * MIB), many(9, MIB)].map((span) => bytesField(2, span))

    expect(countsOf(bytesField(2, Buffer.concat(spans)))).toMatchObject({ read: 1, malformed: 1 })
  })

  test('is read in slices as a resource', () => {
    const span = bytesField(2, bytesField(2, Buffer.alloc(0)))

    const { read, pauses } = countsOf(Buffer.concat([bytesField(1, many(1, 2 * MIB)), span]))

    expect(read).toBe(1)
    expect(pauses).toBeGreaterThan(60)
  })
})
