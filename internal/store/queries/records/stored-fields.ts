import type { FieldKind, FieldName, KindOf, RecordField } from '../../../records/record-fields.js'
import type { PackedColumn } from '../../tables/packed-fields.js'

/** How a field of a record is selected for `JSONEachRow`, and how it then arrives. */

interface StoredOfKind extends Record<FieldKind, unknown> {
  readonly label: string
  readonly text: string
  readonly uuid: string
  /** Hex, in lower case. */
  readonly bytes16: string
  /** Milliseconds since the epoch. */
  readonly instant: string
  readonly usd: string
  readonly wh: string
  readonly gco2e: string
  readonly optionalUsd: string | null
  /** Decimal with up to four places. */
  readonly confidence: string
  readonly count: string | null
  readonly flag: boolean
  readonly tags: Readonly<Record<string, string>>
  readonly pairs: readonly string[]
  readonly uint16: number
  readonly uint32: number
  readonly uint64: string
}

/** An instant arrives as `<name>_ms`, bytes as `<name>_hex`: conditions can still use the column itself. */
type StoredName<Name extends FieldName> =
  KindOf<Name> extends 'instant' ? `${Name}_ms` : KindOf<Name> extends 'bytes16' ? `${Name}_hex` : Name

export type StoredFields<Names extends FieldName> = {
  readonly [Name in Names as StoredName<Name>]: StoredOfKind[KindOf<Name>]
}

export const storedName = ({ name, kind }: Pick<RecordField, 'name' | 'kind'>): string =>
  kind === 'instant' ? `${name}_ms` : kind === 'bytes16' ? `${name}_hex` : name

/** The field in a SELECT list. */
export function selected(field: Pick<RecordField, 'name' | 'kind'>): string {
  switch (field.kind) {
    case 'instant':
      return `toUnixTimestamp64Milli(${field.name}) AS ${storedName(field)}`
    case 'bytes16':
      return `lower(hex(${field.name})) AS ${storedName(field)}`
    default:
      return field.name
  }
}

/** The fields of a packed text, as if they had been selected. */
export function unpacked({ fields }: PackedColumn, text: string): Record<string, unknown> {
  const values: unknown[] = JSON.parse(text)
  return Object.fromEntries(
    fields.map((field, i) => [storedName(field), i < values.length ? values[i] : EMPTY[field.kind]]),
  )
}

/** Of a record that was stored before the field existed: what the engine gives for the field's own column. */
const EMPTY: StoredOfKind = {
  label: '',
  text: '',
  uuid: '00000000-0000-0000-0000-000000000000',
  bytes16: '00'.repeat(16),
  instant: '0',
  usd: '0',
  wh: '0',
  gco2e: '0',
  optionalUsd: null,
  confidence: '0',
  count: null,
  flag: false,
  tags: {},
  pairs: [],
  uint16: 0,
  uint32: 0,
  uint64: '0',
}
