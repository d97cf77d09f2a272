import fc from 'fast-check'
import protobuf from 'protobufjs'
import { expect, test } from 'vitest'
import { MalformedRequest } from '../../../../internal/ingest/otlp/malformed.js'
import { ProtobufReader } from '../../../../internal/ingest/otlp/protobuf-reader.js'

const readerOf = (bytes: ArrayLike<number>) => {
  const buffer = Buffer.from(bytes)
  return { reader: new ProtobufReader(buffer), end: buffer.length }
}
const refusal = (
  bytes: readonly number[],
  read = ({ reader, end }: ReturnType<typeof readerOf>) => void (reader.next(end) && reader.skip(end)),
) => {
  try {
    read(readerOf(bytes))
  } catch (cause) {
    if (cause instanceof MalformedRequest)
      return cause.message.replace('The body is not a valid protobuf message: ', '')
    throw cause
  }
  return undefined
}

test('an int64 is read as it was written', () => {
  const exact = fc.maxSafeInteger()
  fc.assert(
    fc.property(exact, (value) => {
      const { reader, end } = readerOf(protobuf.Writer.create().int64(value).finish())

      expect(reader.signed(end)).toBe(value)
      expect(reader.at).toBe(end)
    }),
  )
  for (const value of [-1, 0, -(2 ** 53), 2 ** 53]) {
    const { reader, end } = readerOf(protobuf.Writer.create().int64(value).finish())
    expect(reader.signed(end)).toBe(value)
  }
})

test('nanoseconds are cut to milliseconds exactly', () => {
  fc.assert(
    fc.property(fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }), (nanos) => {
      const buffer = Buffer.alloc(8)
      buffer.writeBigUInt64LE(nanos)

      expect(new ProtobufReader(buffer).nanosAsMs(8)).toBe(Number(nanos / 1_000_000n))
    }),
  )
})

test.each([
  ['a number without an end', [0x08, 0x80, 0x80], 'at byte 3, it ends within a number.'],
  [
    'a number of eleven bytes',
    [0x08, ...Array<number>(11).fill(0x80), 1],
    'at byte 11, a number has more than 10 bytes.',
  ],
  ['field 0', [0x00, 0x01], 'at byte 1, the number of a field is not valid.'],
  [
    'a field number beyond 2^29',
    [...Array<number>(6).fill(0xff), 0x01],
    'at byte 7, the number of a field is not valid.',
  ],
  ['a length beyond the end', [0x0a, 0x05, 0x01], 'at byte 2, a field of 5 bytes reaches beyond its message.'],
  [
    'a length of 2^63',
    [0x0a, ...Array<number>(9).fill(0x80), 0x01],
    'at byte 11, a field of 9223372036854776000 bytes reaches beyond its message.',
  ],
  ['a cut fixed64', [0x09, 1, 2, 3], 'at byte 1, it ends within a number.'],
  ['a cut fixed32', [0x0d, 1, 2, 3], 'at byte 1, it ends within a number.'],
  ['a group', [0x0b, 0x0c], 'at byte 1, wire type 3 is not supported.'],
  ['wire type 7', [0x0f], 'at byte 1, wire type 7 is not supported.'],
])('%s is refused', (_, bytes, message) => {
  expect(refusal(bytes)).toBe(message)
})

test('a known field of another wire type is refused', () => {
  const message = refusal([0x48, 0x01], ({ reader, end }) => {
    reader.next(end)
    reader.expect(2)
  })

  expect(message).toBe('at byte 1, field 9 has wire type 0 instead of 2.')
})
