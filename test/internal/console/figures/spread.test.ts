import fc from 'fast-check'
import { expect, test } from 'vitest'
import { spreadOf } from '../../../../internal/console/figures/spread.js'
import { formatDifference, formatQuantity, parseSum, type Quantity, sum } from '../../../../internal/units/quantity.js'

type Usd = Quantity<'USD'>
const row = (service: string | null, cost_usd: string) => ({ service, cost_usd, folded: service === null })

test('what an allocated report has more is what services were given, the largest part first', () => {
  const spread = spreadOf(
    '10',
    '2.5',
    [row('chat', '4'), row('search', '6'), row('unallocated', '10'), row(null, '1')],
    [row('chat', '9'), row('search', '7.5'), row('unallocated', '2.5'), row(null, '2')],
  )

  expect(spread).toEqual({
    inPools: '10',
    spread: '7.5',
    notSpread: '2.5',
    lines: [
      { service: 'chat', usd: '5', share: '0.6666661' },
      { service: 'search', usd: '1.5', share: '0.200000' },
    ],
    rest: '1',
  })
})

test('a service that only one of the reports names is in the rest: nobody learns what a small group cost', () => {
  const spread = spreadOf('3', '0', [row('chat', '1'), row(null, '5')], [row('chat', '2'), row('small', '7')])

  expect(spread.lines.map(({ service }) => service)).toEqual(['chat'])
  expect(spread.rest).toBe('2')
})

test('lines and rest add up to what was spread, to the last digit', () => {
  const amount = fc.bigInt({ min: 0n, max: 10n ** 24n }).map((steps) => steps as Usd)
  fc.assert(
    fc.property(fc.array(fc.tuple(amount, amount), { maxLength: 8 }), amount, amount, (services, left, small) => {
      const given = sum(services.map(([, gain]) => gain))
      const inPools = formatQuantity((given + left + small) as Usd)
      const plain = services.map(([cost], i) => row(`s${i}`, formatQuantity(cost)))
      const allocated = services.map(([cost, gain], i) => row(`s${i}`, formatQuantity((cost + gain) as Usd)))

      const spread = spreadOf(inPools, formatQuantity(left), plain, allocated)

      const lines = sum(spread.lines.map(({ usd }) => parseSum<'USD'>(usd)))
      expect(formatDifference(parseSum<'USD'>(spread.spread), lines)).toBe(spread.rest)
      expect(spread.rest).toBe(formatQuantity(small))
    }),
  )
})
