import { z } from 'zod'
import { formatId } from '../../ids/ids.js'
import { type Dimension, declaredTags } from '../../records/dimensions.js'
import { providerName } from '../../records/provider-names.js'
import {
  type FieldKind,
  type FieldName,
  type KindOf,
  type NamesWith,
  type RECORD_FIELDS,
  type RecordField,
  WIRE_GROUPS,
  type WireGroup,
  wireFields,
} from '../../records/record-fields.js'
import type { StoredAttribution } from '../../store/queries/records/attributions.js'
import { storedName } from '../../store/queries/records/stored-fields.js'
import { count, decimalText, idOf, timeText } from '../../text/answer-fields.js'
import { objectText, straightLine } from '../../text/straight-line.js'

/**
 * The wire form of an attribution record, derived from the table of its fields
 * (deploy/decisions/record-fields-in-one-table.md).
 */

/** How a kind of field appears on the wire: its schema, and source text that makes it from a stored value. */
interface WireForm {
  readonly schema: (field: RecordField) => z.ZodType
  readonly text: (stored: string) => string
}

const amount: WireForm = { schema: decimalText, text: (stored) => stored }
const label: WireForm = {
  schema: ({ values, isOptional }) => {
    const schema = values === undefined ? z.string() : z.enum(values)
    return isOptional ? schema.nullable() : schema
  },
  text: (stored) => stored,
}

/** The kinds that have a wire form. */
const WIRE_FORMS: Readonly<Partial<Record<FieldKind, WireForm>>> = {
  label,
  text: label,
  usd: amount,
  wh: amount,
  gco2e: amount,
  // Counts are at most 2^53 - 1 (checked at admission).
  count: { schema: () => count().nullable(), text: (stored) => `${stored} === null ? null : Number(${stored})` },
  instant: { schema: timeText, text: (stored) => `new Date(Number(${stored})).toISOString()` },
  pairs: {
    schema: () => z.record(z.string(), z.string().nullable()),
    text: (stored) => `declaredTags(dimensions, ${stored})`,
  },
  // A number on the wire; compared and stored as an exact decimal.
  confidence: { schema: () => z.number().min(0).max(0.95), text: (stored) => `Number(${stored})` },
}

interface WireOfKind extends Partial<Record<FieldKind, unknown>> {
  readonly count: number | null
  readonly confidence: number
  readonly pairs: Readonly<Record<string, string | null>>
}
type Entry<Name extends FieldName> = Extract<(typeof RECORD_FIELDS)[number], { readonly name: Name }>
type WireName<Name extends FieldName> =
  Entry<Name> extends { readonly wireName: infer Renamed extends string } ? Renamed : Name
type WireValue<Name extends FieldName> =
  KindOf<Name> extends 'count' | 'confidence' | 'pairs'
    ? WireOfKind[KindOf<Name>]
    : Entry<Name> extends { readonly isOptional: true }
      ? string | null
      : string
type WireMembers<Names extends FieldName> = { readonly [Name in Names as WireName<Name>]: WireValue<Name> }

export type Interpretation = WireMembers<NamesWith<{ readonly wire: 'interpretation' }>>
export type AttributionRecord = {
  readonly id: string
  readonly invocation_id: string
  readonly stated_provider: string
  readonly interpretation: Interpretation
} & WireMembers<NamesWith<{ readonly wire: Exclude<WireGroup, 'interpretation'> }>>

function formOf({ name, kind }: RecordField): WireForm {
  const form = WIRE_FORMS[kind]
  if (form === undefined) throw new Error(`${name}: fields of kind ${kind} have no wire form`)
  return form
}

const wireNameOf = ({ name, wireName }: RecordField): string => wireName ?? name

function schemaOf(field: RecordField): z.ZodType {
  const schema = formOf(field).schema(field)
  return field.description === undefined ? schema : schema.meta({ description: field.description })
}

function textOf(field: RecordField): string {
  if (field.name === 'provider') return 'providerName(stored.provider)'
  const stored = `stored.${storedName(field)}`
  return field.isOptional ? `${stored} === '' ? null : ${stored}` : formOf(field).text(stored)
}

const schemasOf = (group: WireGroup): Record<string, z.ZodType> =>
  Object.fromEntries(wireFields(group).map((field) => [wireNameOf(field), schemaOf(field)]))

const interpretation = z
  .object(schemasOf('interpretation'))
  .meta({ id: 'Interpretation', description: 'The evidence card.' })

export const attributionRecord = z
  .object({
    id: idOf('attr'),
    invocation_id: idOf('inv'),
    stated_provider: z.string().meta({
      description: 'The provider as the event spells it. `provider` is its one name, such as `aws.bedrock`.',
    }),
    ...Object.fromEntries(
      WIRE_GROUPS.flatMap((group) =>
        group === 'interpretation' ? [['interpretation', interpretation]] : Object.entries(schemasOf(group)),
      ),
    ),
  })
  .meta({ id: 'AttributionRecord' })

const membersOf = (group: WireGroup) => wireFields(group).map((field) => [wireNameOf(field), textOf(field)] as const)

/** Lists have a thousand records per page, so this is generated member by member. @param dimensions the tenant's */
export const toRecord: (stored: StoredAttribution, dimensions: readonly Dimension[]) => AttributionRecord =
  straightLine(
    ['stored', 'dimensions'],
    `const id = Buffer.from(stored.id, 'hex')
  return ${objectText([
    ['id', "formatId('attr', id)"],
    ['invocation_id', "formatId('inv', id)"],
    ['stated_provider', 'stored.provider'],
    ...WIRE_GROUPS.flatMap((group) =>
      group === 'interpretation' ? [[group, objectText(membersOf(group))] as const] : membersOf(group),
    ),
  ])}`,
    { formatId, Buffer, declaredTags, providerName },
  )
