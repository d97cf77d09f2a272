import { expect, test } from 'vitest'
import { csvOf } from '../../../../internal/console/figures/csv.js'

test('texts are quoted where they must be, and are no formula in a spreadsheet; figures stay as they are', () => {
  const csv = csvOf(
    ['name', 'cost'],
    [
      ['a "b", c', '1.50'],
      ['=HYPERLINK("x")', '-2'],
      ['@x', null],
    ],
  )

  expect(csv).toBe('name,cost\r\n"a ""b"", c",1.50\r\n"\'=HYPERLINK(""x"")",-2\r\n\'@x,\r\n')
})
