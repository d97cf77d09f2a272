import { expect, test } from 'vitest'
import { USAGE } from '../../../internal/reports/usage.js'
import { USAGE_COUNTS } from '../../../internal/store/queries/reports/usage.js'
import { formatQuantity } from '../../../internal/units/quantity.js'

const counts = Object.fromEntries(USAGE_COUNTS.map((name) => [name, 1])) as Record<
  (typeof USAGE_COUNTS)[number],
  number
>

test('a sum of usage equals that of the read model, and is spread to the last of any number of digits', () => {
  const amounts = { cost_usd: '120000000000000000000.5', energy_wh: '-1.000000000000000001', carbon_gco2e: '0' }
  const sum = USAGE.of({ counts, amounts } as Parameters<typeof USAGE.of>[0])
  const thirds = [333_333_333_333n, 333_333_333_333n, 333_333_333_334n]

  const shares = USAGE.spreading?.shares(sum, thirds) ?? []
  const spread = shares.reduce((left, share) => USAGE.spreading?.lessAmounts(left, share) ?? left, sum)

  expect(Object.values(sum.amounts).map(formatQuantity)).toEqual(Object.values(amounts))
  expect(Object.values(spread.amounts)).toEqual([0n, 0n, 0n])
})
