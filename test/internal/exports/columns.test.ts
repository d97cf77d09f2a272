import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { columnsOf, FOCUS_VERSIONS } from '../../../internal/exports/focus/columns.js'
import { FIRST_TOOL_METER, FIRST_UNIT_METER, METERS } from '../../../internal/store/queries/prices/meters.js'
import { BILLED_UNITS } from '../../../internal/text/call-words.js'
import { BILLED_TOOLS, RATE_PARTS } from '../../../internal/valuation/cost/rate-sheet.js'

test('the guide lists exactly our own columns', () => {
  const guide = readFileSync(new URL('../../../deploy/docs/focus.md', import.meta.url), 'utf8')
  const table = guide.slice(guide.indexOf('## Columns of the service'), guide.indexOf('In `SkuPriceDetails`'))
  const named = [...table.matchAll(/`(x_\w+)`/g)].map(([, name]) => name)

  for (const version of FOCUS_VERSIONS) {
    const custom = columnsOf(version).filter(({ name }) => name.startsWith('x_'))
    expect(custom.map(({ name }) => name).sort()).toEqual([...named].sort())
    expect(custom.filter(({ description }) => description === undefined)).toEqual([])
  }
})

test('the meters of an export are the parts, tools and units of a price list, each behind the ones before', () => {
  expect(METERS).toEqual([...RATE_PARTS, ...BILLED_TOOLS, ...BILLED_UNITS])
  expect(METERS[FIRST_TOOL_METER - 1]).toBe(BILLED_TOOLS[0])
  expect(METERS[FIRST_UNIT_METER - 1]).toBe(BILLED_UNITS[0])
})
