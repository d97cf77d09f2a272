import { expect, test } from 'vitest'
import type { FieldKind } from '../../../../../internal/records/record-fields.js'
import { storedName, unpacked } from '../../../../../internal/store/queries/records/stored-fields.js'
import { EXPLAINED_FIELDS, SHOWN_FIELDS, SHOWN_LABELS } from '../../../../../internal/store/tables/packed-fields.js'

/** What the engine gives for a column that a record lacks. */
const EMPTY: Partial<Record<FieldKind, unknown>> = {
  label: '',
  text: '',
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
}

test('a text that was stored before a field existed is read as if the field were empty', () => {
  for (const { fields } of [SHOWN_LABELS, SHOWN_FIELDS, EXPLAINED_FIELDS]) {
    for (const added of fields) {
      const before = fields.filter((field) => field !== added)
      const column = { ...SHOWN_FIELDS, fields: [...before, added] }
      const read = unpacked(column, JSON.stringify(before.map(({ name }) => name)))

      expect(read).toEqual({
        ...Object.fromEntries(before.map((field) => [storedName(field), field.name])),
        [storedName(added)]: EMPTY[added.kind],
      })
    }
  }
})
