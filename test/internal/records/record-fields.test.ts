import { expect, test } from 'vitest'
import { attributionRecord } from '../../../internal/attribution/records/record.js'
import { NAMES_PEOPLE } from '../../../internal/invocations/field-descriptions.js'
import { invocationEvent } from '../../../internal/invocations/invocation-schema.js'
import { FIELDS, memberOf, RECORD_FIELDS, WIRE_GROUPS, wireFields } from '../../../internal/records/record-fields.js'
import { FROM_COPIES, FROM_RECORDS } from '../../../internal/store/queries/records/attributions.js'
import { storedName } from '../../../internal/store/queries/records/stored-fields.js'
import { ATTRIBUTIONS, CREATE_ATTRIBUTIONS } from '../../../internal/store/tables/attributions.js'
import { CODECS } from '../../../internal/store/tables/field-codec.js'
import { finishedRow } from '../../support/rows.js'

const wireMembers = (): string[] => {
  const { interpretation, ...rest } = attributionRecord.shape as Record<string, { shape?: object }>
  return [...Object.keys(rest), ...Object.keys(interpretation?.shape ?? {})]
}

test('every field is a column of the stored table, in the same order and with the type of its kind', () => {
  expect(ATTRIBUTIONS.columns).toEqual(FIELDS.map(({ name }) => name))
  for (const { name, kind } of FIELDS) expect(CREATE_ATTRIBUTIONS).toContain(`  ${name} ${CODECS[kind].type},\n`)
})

test('every field of the record table is a member of a finished row, and a row has no other members', () => {
  expect(Object.keys(finishedRow())).toEqual(FIELDS.map(memberOf))
})

test('every field with a wire group is in the wire schema and in a page’s SELECT list, and little else is', () => {
  const onWire = WIRE_GROUPS.flatMap(wireFields)

  expect(wireMembers().sort()).toEqual(
    ['id', 'invocation_id', 'stated_provider', ...onWire.map(({ name, wireName }) => wireName ?? name)].sort(),
  )
  for (const { select, packed } of [FROM_RECORDS, FROM_COPIES]) {
    const single = select.split(', ').map((item) => item.split(' AS ').at(-1))
    const fields = single.flatMap(
      (name) => packed.find((column) => column.name === name)?.fields.map(storedName) ?? name,
    )
    expect(fields.sort()).toEqual(['id_hex', ...onWire.map(storedName)].sort())
  }
})

test('every field that the event states is in the event schema', () => {
  const stated = RECORD_FIELDS.filter((field) => 'isStated' in field)
  const inSchema = (name: string): string => (name === 'event_time' ? 'ingestion_timestamp' : name)

  for (const { name } of stated) expect(Object.keys(invocationEvent.shape)).toContain(inSchema(name))
})

test('the names of the fields and of their members are unique', () => {
  expect(new Set(FIELDS.map(({ name }) => name)).size).toBe(FIELDS.length)
  expect(new Set(FIELDS.map(memberOf)).size).toBe(FIELDS.length)
})

test('no record keeps a field that always names a person', () => {
  const personal = Object.entries(NAMES_PEOPLE).flatMap(([name, names]) => (names === 'person' ? [name] : []))

  expect(personal).toEqual(['attributed_identity'])
  for (const { name } of FIELDS) expect(personal).not.toContain(name)
})
