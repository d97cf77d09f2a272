import { uuidBytes } from '../../ids/ids.js'
import { type AttributionRow, type FieldKind, memberOf, type RecordField } from '../../records/record-fields.js'
import { objectText, straightLine } from '../../text/straight-line.js'
import type { RowBinaryWriter } from '../row-binary.js'
import type { RowBinaryReader } from '../row-binary-reader.js'

/** How a kind of field is stored: the column's type, and source text that writes and reads a value in RowBinary. */
interface Codec {
  readonly type: string
  readonly write: (value: string) => string
  readonly read: string
}

const AMOUNT = 'Decimal(38, 18)'
const amount: Codec = { type: AMOUNT, write: (value) => `to.decimal128(${value})`, read: 'from.decimal128()' }

export const CODECS: Readonly<Record<FieldKind, Codec>> = {
  label: { type: 'LowCardinality(String)', write: (value) => `to.string(${value})`, read: 'from.string()' },
  text: { type: 'String', write: (value) => `to.string(${value})`, read: 'from.string()' },
  uuid: { type: 'UUID', write: (value) => `to.uuid(uuidBytes(${value}))`, read: 'from.uuid()' },
  bytes16: { type: 'FixedString(16)', write: (value) => `to.fixed(${value})`, read: 'from.fixed(16)' },
  instant: { type: "DateTime64(3, 'UTC')", write: (value) => `to.dateTime64(${value})`, read: 'from.uint64()' },
  usd: amount,
  wh: amount,
  gco2e: amount,
  optionalUsd: {
    type: `Nullable(${AMOUNT})`,
    write: (value) => `to.nullableDecimal128(${value})`,
    read: 'from.nullable(() => from.decimal128())',
  },
  confidence: { type: 'Decimal(5, 4)', write: (value) => `to.int32(${value})`, read: 'from.int32()' },
  count: {
    type: 'Nullable(UInt64)',
    write: (value) => `to.nullableUint64(${value})`,
    read: 'from.nullable(() => from.uint64())',
  },
  flag: { type: 'Bool', write: (value) => `to.uint8(${value} ? 1 : 0)`, read: 'from.uint8() === 1' },
  tags: {
    type: 'Map(LowCardinality(String), String)',
    write: (value) => `to.stringMap(${value})`,
    read: 'undefinedIfEmpty(from.stringMap())',
  },
  pairs: {
    type: 'Array(LowCardinality(String))',
    write: (value) => `to.strings(${value})`,
    read: 'from.strings()',
  },
  uint16: { type: 'UInt16', write: (value) => `to.uint16(${value})`, read: 'from.uint16()' },
  uint32: { type: 'UInt32', write: (value) => `to.uint32(${value})`, read: 'from.uint32()' },
  uint64: { type: 'UInt64', write: (value) => `to.uint64(${value})`, read: 'from.uint64()' },
}

const undefinedIfEmpty = <T extends object>(map: T): T | undefined => (Object.keys(map).length === 0 ? undefined : map)

/** Writes these fields of a row, in this order. */
export const writerOf = (fields: readonly RecordField[]): ((to: RowBinaryWriter, row: AttributionRow) => void) =>
  straightLine(['to', 'row'], fields.map((field) => CODECS[field.kind].write(`row.${memberOf(field)}`)).join('\n'), {
    uuidBytes,
  })

/** Reads what `writerOf` the same fields writes. */
export const readerOf = <Row = AttributionRow>(fields: readonly RecordField[]): ((from: RowBinaryReader) => Row) =>
  straightLine(['from'], `return ${objectText(fields.map((field) => [memberOf(field), CODECS[field.kind].read]))}`, {
    undefinedIfEmpty,
  })
