import { expect, test } from 'vitest'
import { GrowingBytes } from '../../../../internal/ingest/bodies/growing-bytes.js'
import { KeyList } from '../../../../internal/ingest/otlp/key-list.js'
import { ProtobufCopy } from '../../../../internal/ingest/otlp/protobuf-copy.js'
import { readTelemetry } from '../../../../internal/ingest/otlp/read-request.js'
import { asProtobuf, START_MS, tracesJson } from '../../../support/otlp.js'

const KEYS = new KeyList()
const CONTEXT = { tenantId: 'tnt_1', isGateway: false }
const CHUNK_BYTES = 64 * 1024

const calls = (count: number, content: string): Buffer =>
  asProtobuf(
    'ExportTraceServiceRequest',
    tracesJson(
      Array.from({ length: count }, (_, index) => ({
        spanId: (index + 1).toString(16).padStart(16, '0'),
        startMs: START_MS,
        attributes: {
          'gen_ai.operation.name': 'chat',
          'gen_ai.system': 'openai',
          'gen_ai.request.model': 'gpt-4o',
          'gen_ai.input.messages': content,
        },
      })),
    ),
  )

function copyOf(body: Buffer, sentBytes = body.length): ProtobufCopy {
  const copy = new ProtobufCopy(new GrowingBytes(), 'traces', KEYS)
  for (let at = 0; at < body.length; at += CHUNK_BYTES) copy.write(body.subarray(at, at + CHUNK_BYTES), sentBytes)
  copy.end()
  return copy
}

test('of a body of 24 MB of content, the calls are kept and the content is not', async () => {
  const body = calls(3_000, 'secret '.repeat(1_200))
  expect(body.length).toBeGreaterThan(24_000_000)

  const { kept, copied } = copyOf(body)

  expect(copied).toMatchObject({ records: 3_000, malformed: 0 })
  expect(kept.length).toBeLessThan(1_000_000)
  expect(kept.written.includes('secret')).toBe(false)
  expect(await readTelemetry(kept.written, 'protobuf', 'traces', KEYS, CONTEXT, copied)).toMatchObject({
    events: { length: 3_000 },
  })
})

test('a usual body is kept as it is', () => {
  const body = calls(100, 'a prompt')
  const { kept, steps, copied } = copyOf(body)

  expect([kept.written.equals(body), steps, copied]).toEqual([true, 0, undefined])
})

test.each([
  ['zeros', Buffer.alloc(18_000_000), 1],
  ['resources without anything', Buffer.alloc(18_000_000, Buffer.from([0x0a, 0x00])), 9_000_000],
])('what a body of %s costs is counted', (_, body, stepsMax) => {
  expect(copyOf(body).steps).toBeLessThanOrEqual(stepsMax)
})

test('a body that is packed more tightly than calls are is copied: what it costs is counted', () => {
  const body = Buffer.alloc(900_000, Buffer.from([0x0a, 0x00]))
  expect(copyOf(body).steps).toBe(0)
  expect(copyOf(body, 909).steps).toBeGreaterThan(400_000)
})
