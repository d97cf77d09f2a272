import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { FIELDS, type FieldKind, memberOf, type RecordField } from '../../../../internal/records/record-fields.js'
import { RowBinaryWriter } from '../../../../internal/store/row-binary.js'
import { RowBinaryReader } from '../../../../internal/store/row-binary-reader.js'
import { CODECS, readerOf, writerOf } from '../../../../internal/store/tables/field-codec.js'

const texts = fc.string({ unit: 'binary' })
const amounts = fc.bigInt({ min: 0n, max: 10n ** 38n - 1n })
const VALUES: Readonly<Record<FieldKind, fc.Arbitrary<unknown>>> = {
  label: texts,
  text: texts,
  uuid: fc.uuid(),
  bytes16: fc.uint8Array({ minLength: 16, maxLength: 16 }),
  instant: fc.nat(4_102_444_800_000),
  usd: amounts,
  wh: amounts,
  gco2e: amounts,
  optionalUsd: fc.option(amounts, { nil: undefined }),
  confidence: fc.nat(9_500),
  count: fc.option(fc.maxSafeNat(), { nil: undefined }),
  flag: fc.boolean(),
  // A map without entries is read as undefined.
  tags: fc.option(fc.dictionary(texts, texts, { minKeys: 1 }), { nil: undefined }),
  pairs: fc.array(texts, { maxLength: 9 }),
  uint16: fc.nat(2 ** 16 - 1),
  uint32: fc.nat(2 ** 32 - 1),
  uint64: fc.maxSafeNat(),
}

function decodedRow(fields: readonly RecordField[], row: object): object {
  const writer = new RowBinaryWriter(16)
  writerOf(fields)(writer, row as never)
  const reader = new RowBinaryReader(writer.take())
  const read = readerOf(fields)(reader)
  expect(reader.isAtEnd).toBe(true)
  return read
}

describe('the RowBinary codec of a record', () => {
  test.each(Object.keys(CODECS) as FieldKind[])('reads a value of kind %s as it was written', (kind) => {
    const field: RecordField = { name: 'event_id', kind }

    fc.assert(
      fc.property(VALUES[kind], (value) => {
        const row = { [memberOf(field)]: value }
        expect(decodedRow([field], row)).toEqual(row)
      }),
    )
  })

  test('reads a whole row as it was written, its members in the order of the columns', () => {
    const rows = fc.record(Object.fromEntries(FIELDS.map((field) => [memberOf(field), VALUES[field.kind]])))

    fc.assert(
      fc.property(rows, (row) => {
        const read = decodedRow(FIELDS, row)
        expect(read).toEqual(row)
        expect(Object.keys(read)).toEqual(FIELDS.map(memberOf))
      }),
      { numRuns: 50 },
    )
  })
})
