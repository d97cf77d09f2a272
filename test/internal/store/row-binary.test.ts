import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { uuidBytes } from '../../../internal/ids/ids.js'
import { RowBinaryWriter } from '../../../internal/store/row-binary.js'

/** The expected bytes are written by hand after ClickHouse's description of RowBinary. */
function written(write: (to: RowBinaryWriter) => void, bytesHint?: number): Buffer {
  const writer = new RowBinaryWriter(bytesHint)
  write(writer)
  return writer.take()
}
const hex = (write: (to: RowBinaryWriter) => void): string => written(write).toString('hex')

describe('numbers are little-endian and of fixed width', () => {
  test('UInt8, UInt16, UInt32', () => {
    expect(hex((to) => to.uint8(0))).toBe('00')
    expect(hex((to) => to.uint8(255))).toBe('ff')
    expect(hex((to) => to.uint16(0x0102))).toBe('0201')
    expect(hex((to) => to.uint16(65_535))).toBe('ffff')
    expect(hex((to) => to.uint32(0x01020304))).toBe('04030201')
    expect(hex((to) => to.uint32(2 ** 32 - 1))).toBe('ffffffff')
  })

  test('Int32, in two’s complement; Decimal(5, 4) is one of ten-thousandths', () => {
    expect(hex((to) => to.int32(9_500))).toBe('1c250000')
    expect(hex((to) => to.int32(-1))).toBe('ffffffff')
  })

  test.each([
    [0, '0000000000000000'],
    [1, '0100000000000000'],
    [2 ** 32 - 1, 'ffffffff00000000'],
    [2 ** 32, '0000000001000000'],
    [0x1_0203_0405_0607, '0706050403020100'],
    [Number.MAX_SAFE_INTEGER, 'ffffffffffff1f00'],
  ])('UInt64 %i', (value, bytes) => {
    expect(hex((to) => to.uint64(value))).toBe(bytes)
    expect(hex((to) => to.dateTime64(value))).toBe(bytes)
  })

  test('UInt64, for any whole number', () => {
    fc.assert(
      fc.property(
        fc.nat({ max: Number.MAX_SAFE_INTEGER }),
        (value) => written((to) => to.uint64(value)).readBigUInt64LE() === BigInt(value),
      ),
    )
  })

  test.each([
    [0n, '00000000000000000000000000000000'],
    [1n, '01000000000000000000000000000000'],
    [2n ** 64n - 1n, 'ffffffffffffffff0000000000000000'],
    [2n ** 64n, '00000000000000000100000000000000'],
    [2n ** 64n + 2n, '02000000000000000100000000000000'],
    [10n ** 38n - 1n, 'ffffffff3f228a097ac4865aa84c3b4b'],
  ])('Decimal(38, 18) of %i steps', (steps, bytes) => {
    expect(hex((to) => to.decimal128(steps))).toBe(bytes)
  })

  test.each([2n ** 128n, 2n ** 200n + 1n, -1n])('Decimal(38, 18) of %i steps is refused, not cut', (steps) => {
    expect(() => written((to) => to.decimal128(steps))).toThrow(RangeError)
  })

  test('Decimal(38, 18), for any steps', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: 0n, max: 10n ** 38n - 1n }), (steps) => {
        const bytes = written((to) => to.decimal128(steps))

        expect(BigInt(`0x${Buffer.from(bytes).reverse().toString('hex')}`)).toBe(steps)
        expect(bytes).toHaveLength(16)
      }),
    )
  })
})

describe('Nullable', () => {
  test('is 1 alone for null, and 0 before a value', () => {
    expect(hex((to) => to.nullableUint64(undefined))).toBe('01')
    expect(hex((to) => to.nullableUint64(0))).toBe('000000000000000000')
    expect(hex((to) => to.nullableUint64(5))).toBe('000500000000000000')
    expect(hex((to) => to.nullableDecimal128(undefined))).toBe('01')
    expect(hex((to) => to.nullableDecimal128(0n))).toBe(`00${'00'.repeat(16)}`)
    expect(hex((to) => to.nullableDecimal128(5n))).toBe(`0005${'00'.repeat(15)}`)
  })
})

describe('String is its length in bytes as a varint, then UTF-8', () => {
  test.each([
    [0, '00'],
    [1, '01'],
    [42, '2a'],
    [43, '2b'],
    [127, '7f'],
    [128, '8001'],
    [255, 'ff01'],
    [16_383, 'ff7f'],
    [16_384, '808001'],
    [2_097_151, 'ffff7f'],
    [2_097_152, '80808001'],
  ])('of %i bytes', (length, varint) => {
    const bytes = written((to) => to.string('x'.repeat(length)))

    expect(bytes.subarray(0, bytes.length - length).toString('hex')).toBe(varint)
    expect(bytes.subarray(bytes.length - length).every((byte) => byte === 0x78)).toBe(true)
  })

  test.each([
    ['é', '02c3a9'],
    ['€', '03e282ac'],
    ['😀', '04f09f9880'],
    ['a\0b', '03610062'],
  ])('of %j', (text, bytes) => {
    expect(hex((to) => to.string(text))).toBe(bytes)
  })

  test.each([
    ['é', 63, '7e'],
    ['é', 64, '8001'],
    ['€', 42, '7e'],
    ['€', 43, '8101'],
    ['😀', 31, '7c'],
    ['😀', 32, '8001'],
  ])('%s, %i times: the length counts bytes', (character, times, varint) => {
    const bytes = written((to) => to.string(character.repeat(times)))

    expect(bytes.toString('hex')).toBe(varint + Buffer.from(character.repeat(times)).toString('hex'))
  })

  test('of any text', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme', maxLength: 400, size: 'max' }), (text) => {
        const bytes = Buffer.from(text)
        const varint = bytes.length < 128 ? [bytes.length] : [(bytes.length & 127) | 128, bytes.length >> 7]

        expect(written((to) => to.string(text)).equals(Buffer.concat([Buffer.from(varint), bytes]))).toBe(true)
      }),
    )
  })
})

describe('the other types', () => {
  test('UUID is two halves, each little-endian', () => {
    const uuid = uuidBytes('00112233-4455-6677-8899-aabbccddeeff')

    expect(hex((to) => to.uuid(uuid))).toBe('7766554433221100ffeeddccbbaa9988')
  })

  test('FixedString is its bytes', () => {
    expect(hex((to) => to.fixed(Buffer.from('00ff10', 'hex')))).toBe('00ff10')
  })

  test('Map is its size as a varint, then key and value of each entry, in order', () => {
    expect(hex((to) => to.stringMap(undefined))).toBe('00')
    expect(hex((to) => to.stringMap({}))).toBe('00')
    expect(hex((to) => to.stringMap({ b: 'é', a: '' }))).toBe('020162' + '02c3a9' + '016100')
  })

  test('a Map key that is a name of Object’s own is a key like any other', () => {
    const tags = JSON.parse('{"__proto__":"x"}') as Record<string, string>

    expect(hex((to) => to.stringMap(tags))).toBe(`0109${Buffer.from('__proto__').toString('hex')}0178`)
  })
})

describe('the buffer', () => {
  const writes = fc.oneof(
    fc
      .string({ unit: 'grapheme', maxLength: 300, size: 'max' })
      .map((text) => (to: RowBinaryWriter) => to.string(text)),
    fc.nat().map((value) => (to: RowBinaryWriter) => to.uint32(value)),
    fc.nat({ max: 255 }).map((value) => (to: RowBinaryWriter) => to.uint8(value)),
    fc.bigInt({ min: 0n, max: 2n ** 100n }).map((steps) => (to: RowBinaryWriter) => to.nullableDecimal128(steps)),
    fc.uint8Array({ minLength: 16, maxLength: 16 }).map((bytes) => (to: RowBinaryWriter) => to.uuid(bytes)),
    fc.uint8Array({ maxLength: 300 }).map((bytes) => (to: RowBinaryWriter) => to.fixed(bytes)),
    fc.dictionary(fc.string(), fc.string(), { maxKeys: 4 }).map((map) => (to: RowBinaryWriter) => to.stringMap(map)),
  )

  test('grows as it must: however small it begins, the same bytes come out', () => {
    fc.assert(
      fc.property(fc.array(writes, { maxLength: 30 }), fc.integer({ min: 0, max: 64 }), (sequence, bytesHint) => {
        const all = (to: RowBinaryWriter): void => {
          for (const write of sequence) write(to)
        }
        const apart = Buffer.concat(sequence.map((write) => written(write)))

        expect(written(all, bytesHint).equals(apart)).toBe(true)
      }),
    )
  })

  test('starts over once it was taken, and leaves what was taken as it is', () => {
    const writer = new RowBinaryWriter(16)
    writer.string('first')
    const first = writer.take()

    writer.string('other')
    const second = writer.take()

    expect(first.toString('latin1')).toBe('\u0005first')
    expect(second.toString('latin1')).toBe('\u0005other')
    expect(writer.take()).toHaveLength(0)
  })
})
