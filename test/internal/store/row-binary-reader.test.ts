import fc from 'fast-check'
import { expect, test } from 'vitest'
import { uuidBytes } from '../../../internal/ids/ids.js'
import { RowBinaryWriter } from '../../../internal/store/row-binary.js'
import { RowBinaryReader } from '../../../internal/store/row-binary-reader.js'

const bytes = fc.uint8Array({ minLength: 16, maxLength: 16 })
const row = fc.record({
  tiny: fc.nat(255),
  small: fc.nat(65_535),
  middle: fc.nat(2 ** 32 - 1),
  signed: fc.integer({ min: -(2 ** 31), max: 2 ** 31 - 1 }),
  count: fc.nat(Number.MAX_SAFE_INTEGER),
  maybe: fc.option(fc.nat(Number.MAX_SAFE_INTEGER), { nil: undefined }),
  amount: fc.bigInt({ min: 0n, max: 10n ** 38n - 1n }),
  uuid: fc.uuid(),
  fixed: bytes,
  text: fc.string({ unit: 'grapheme', maxLength: 300 }),
  tags: fc.dictionary(fc.string({ unit: 'grapheme' }), fc.string({ unit: 'grapheme' }), { noNullPrototype: true }),
})

test('rows are read as they were written, one behind the other', () => {
  fc.assert(
    fc.property(fc.array(row, { maxLength: 5 }), (rows) => {
      const to = new RowBinaryWriter(1)
      for (const each of rows) {
        to.uint8(each.tiny)
        to.uint16(each.small)
        to.uint32(each.middle)
        to.int32(each.signed)
        to.uint64(each.count)
        to.nullableUint64(each.maybe)
        to.decimal128(each.amount)
        to.uuid(uuidBytes(each.uuid))
        to.fixed(each.fixed)
        to.string(each.text)
        to.stringMap(each.tags)
      }

      const from = new RowBinaryReader(to.take())
      const read = rows.map(() => ({
        tiny: from.uint8(),
        small: from.uint16(),
        middle: from.uint32(),
        signed: from.int32(),
        count: from.uint64(),
        maybe: from.nullable(() => from.uint64()),
        amount: from.decimal128(),
        uuid: from.uuid(),
        fixed: from.fixed(16),
        text: from.string(),
        tags: from.stringMap(),
      }))

      expect(read).toEqual(rows)
      expect(from.isAtEnd).toBe(true)
    }),
  )
})

test('reading bytes that end in the middle of a row throws', () => {
  const to = new RowBinaryWriter()
  to.string('a text')
  const from = new RowBinaryReader(to.take().subarray(0, 4))

  expect(() => from.string()).toThrow(RangeError)
})
