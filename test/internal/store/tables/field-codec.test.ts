import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { FIELDS, type FieldKind, memberOf, type RecordField } from '../../../../internal/records/record-fields.js'
import { RowBinaryWriter } from '../../../../internal/store/row-binary.js'
import { RowBinaryReader } from '../../../../internal/store/row-binary-reader.js'
import { CODECS, readerOf, writerOf } from '../../../../internal/store/tables/field-codec.js'
import { rows, VALUES } from '../../../support/drawn-rows.js'
import { drawn } from '../../../support/run/rings.js'

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
    fc.assert(
      fc.property(rows, (row) => {
        const read = decodedRow(FIELDS, row)
        expect(read).toEqual(row)
        expect(Object.keys(read)).toEqual(FIELDS.map(memberOf))
      }),
      { numRuns: drawn(50) },
    )
  })
})
