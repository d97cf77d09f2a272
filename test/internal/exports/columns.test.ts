import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { columnsOf, FOCUS_VERSIONS } from '../../../internal/exports/focus/columns.js'
import { FIRST_TOOL_METER, METERS } from '../../../internal/store/queries/exports/export-meters.js'
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

test('the meters of an export are the parts and tools of a price list, calls of tools behind kinds of tokens', () => {
  expect(METERS).toEqual([...RATE_PARTS, ...BILLED_TOOLS])
  expect(METERS[FIRST_TOOL_METER - 1]).toBe(BILLED_TOOLS[0])
})
