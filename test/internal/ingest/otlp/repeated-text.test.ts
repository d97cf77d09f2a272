import fc from 'fast-check'
import { expect, test } from 'vitest'
import { KeyList } from '../../../../internal/ingest/otlp/key-list.js'
import { readTelemetry } from '../../../../internal/ingest/otlp/read-request.js'
import { heldTexts, repeatedText } from '../../../../internal/ingest/otlp/repeated-text.js'
import { encodeOtlp } from '../../../support/otlp.js'

test('texts of any bytes are what a decoder makes of them, also when they share a place', () => {
  // Few different bytes: most texts fall on the place of another one, and many come again.
  const similar = fc.uint8Array({ max: 3, maxLength: 40 })
  const any = fc.uint8Array({ maxLength: 40 })
  fc.assert(
    fc.property(fc.array(fc.oneof(similar, any), { maxLength: 50 }), (all) => {
      for (const each of all) {
        const bytes = Buffer.concat([Buffer.from('before'), each, Buffer.from('behind')])

        expect(repeatedText(bytes, 6, 6 + each.length)).toBe(Buffer.from(each).toString('utf8'))
      }
    }),
  )
})

test.each(['a whole request', 'a request that is cut off'])('nothing of %s is held once it is read', async (what) => {
  const span = {
    traceId: Buffer.alloc(16, 1),
    spanId: Buffer.alloc(8, 1),
    startTimeUnixNano: 1,
    attributes: [
      { key: 'gen_ai.operation.name', value: { stringValue: 'chat' } },
      { key: 'user.id', value: { stringValue: 'ana@example.com' } },
    ],
  }
  const body = encodeOtlp('ExportTraceServiceRequest', { resourceSpans: [{ scopeSpans: [{ spans: [span] }] }] })
  const bytes = what === 'a whole request' ? body : body.subarray(0, -1)
  const context = { tenantId: 'tnt_1', isGateway: false }
  repeatedText(Buffer.from('before'), 0, 6)
  expect(heldTexts()).toBeGreaterThan(0)

  await readTelemetry(bytes, 'protobuf', 'traces', new KeyList(), context)

  expect(heldTexts()).toBe(0)
})
