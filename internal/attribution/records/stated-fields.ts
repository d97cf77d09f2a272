import type { Invocation } from '../../invocations/invocation.js'
import {
  type AttributionRow,
  FIELDS,
  type MembersOf,
  memberOf,
  type NamesWith,
  type RecordField,
  type StatedMember,
} from '../../records/record-fields.js'
import type { StoredAttributionDetail } from '../../store/queries/records/attributions.js'
import { objectText, straightLine } from '../../text/straight-line.js'
import { formatQuantity, parseQuantity } from '../../units/quantity.js'

/** Fields that are copied from the event into the row, and read back when the record is attributed again. */
export type StatedFields = Pick<Invocation, StatedMember>

/** The members of a row that the event does not state. */
export type DecidedMembers = Omit<AttributionRow, StatedMember>

const STATED = FIELDS.filter(({ isStated }) => isStated)
const SCOPE = { parseQuantity, formatQuantity }

/** The row of an event, with the members that were decided about it. */
export const rowOf: (event: StatedFields, decided: DecidedMembers) => AttributionRow = straightLine(
  ['event', 'decided'],
  `return ${objectText(
    FIELDS.map((field) => {
      const member = memberOf(field)
      return [member, field.isStated ? storedText(field, `event.${member}`) : `decided.${member}`]
    }),
  )}`,
  SCOPE,
)

/** Members of an event that its row keeps in another form, if at all. */
const RECALLED = ['servedModel', 'attributedIdentity', 'attributedService', 'attributionConfidence'] as const
export type RecalledMembers = Pick<Invocation, (typeof RECALLED)[number]>

/** The event of a row, with the members that the row keeps in another form. */
export const eventOf: (row: AttributionRow, recalled: Required<RecalledMembers>) => Invocation = straightLine(
  ['row', 'recalled'],
  `return ${objectText([
    ...STATED.map((field) => [memberOf(field), statedText(field, `row.${memberOf(field)}`)] as const),
    ...RECALLED.map((member) => [member, `recalled.${member}`] as const),
  ])}`,
  SCOPE,
)

type QuantityMember = MembersOf<NamesWith<{ readonly isStated: true; readonly kind: 'count' | 'optionalUsd' }>>

/** The counts and amounts that the event of a stored record stated. */
export const quantitiesStatedIn: (stored: StoredAttributionDetail) => Pick<Invocation, QuantityMember> = straightLine(
  ['stored'],
  `return ${objectText(
    STATED.filter(({ kind }) => kind === 'count' || kind === 'optionalUsd').map((field) => {
      const value = `stored.${field.name}`
      return [memberOf(field), `${value} === null ? undefined : ${field.kind === 'count' ? `Number(${value})` : value}`]
    }),
  )}`,
)

/** Source text of a stated value as the row holds it. */
function storedText({ kind, isOptional }: RecordField, value: string): string {
  if (isOptional) return `${value} ?? ''`
  if (kind === 'flag') return `${value} ?? false`
  if (kind === 'optionalUsd') return `${value} === undefined ? undefined : parseQuantity(${value})`
  return value
}

/** The reverse. */
function statedText({ kind, isOptional }: RecordField, value: string): string {
  if (isOptional) return `${value} === '' ? undefined : ${value}`
  if (kind === 'optionalUsd') return `${value} === undefined ? undefined : formatQuantity(${value})`
  return value
}
