import { expect, test } from 'vitest'
import { FILTER_FIELDS } from '../../../internal/filters/filter-fields.js'
import { parseFilters } from '../../../internal/filters/parse.js'
import { DIMENSIONS } from '../../../internal/filters/report-dimensions.js'

test('what a report groups by filters records, by every value that a row may have', () => {
  for (const [name, { example, type }] of Object.entries(DIMENSIONS)) {
    const values = [example, ...('isOptional' in type ? [''] : []), ...(type.kind === 'choice' ? type.values : [])]
    const read = parseFilters(values.map((value) => [`filter[${name}][eq]`, value]))

    expect(Object.keys(FILTER_FIELDS)).toContain(name)
    expect(read, name).toMatchObject({ ok: true })
  }
})
