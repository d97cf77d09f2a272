import fc from 'fast-check'
import { expect, test } from 'vitest'
import { NOBODY, stackOf } from '../../../../internal/console/figures/stack.js'
import { fractionOf, percentOf, trustOf } from '../../../../internal/console/figures/trust.js'
import type { UsageRow } from '../../../../internal/console/figures/usage.js'
import { formatQuantity, parseSum, sum } from '../../../../internal/units/quantity.js'

const DAY = 24 * 60 * 60 * 1000
const at = (day: number): string => new Date(day * DAY).toISOString()
const row = (from: string, cost: string, more: Partial<UsageRow> = {}): UsageRow => ({
  from,
  to: from,
  folded: false,
  people: 9,
  unattributed: false,
  cost_usd: cost,
  energy_wh: '0',
  carbon_gco2e: '0',
  calls: 1,
  input_tokens: 0,
  output_tokens: 0,
  cached_input_tokens: 0,
  cache_write_tokens: 0,
  reasoning_tokens: 0,
  unpriced_calls: 0,
  cost_share: null,
  cost_usd_per_call: null,
  cost_usd_per_1k_tokens: null,
  lower_bounds: [],
  confidence: null,
  cost_usd_by_band: { chargeback_ready: cost, provisional: '0', estimated: '0' },
  unattributed_calls: 0,
  unattributed_cost_usd: '0',
  reasons: {},
  ...more,
})
const added = (amounts: readonly string[]): string => formatQuantity(sum(amounts.map((text) => parseSum<'USD'>(text))))

test('parts of a bar add up to its total, bars to the total of the chart, days without calls are empty bars', () => {
  const stack = stackOf(
    [row(at(0), '10.000000000000000003'), row(at(2), '4')],
    [
      row(at(0), '6', { service: 'search' }),
      row(at(0), '1', { service: 'other-one' }),
      row(at(0), '2', { service: 'unallocated', unattributed: true }),
      row(at(2), '3', { service: 'search' }),
      row(at(2), '1', { folded: true, service: null }),
    ],
    [0, DAY, 2 * DAY],
    'service',
    ['search'],
    'cost_usd',
  )

  expect(stack.series).toEqual([
    { key: 'search', kind: 'named', total: '9' },
    { key: NOBODY, kind: 'nobody', total: '2' },
    { key: 'rest', kind: 'rest', total: '3.000000000000000003' },
  ])
  expect(stack.bars.map(({ total, parts }) => [total, ...parts])).toEqual([
    ['10.000000000000000003', '6', '2', '2.000000000000000003'],
    ['0', '0', '0', '0'],
    ['4', '3', '0', '1'],
  ])
  expect(stack.total).toBe('14.000000000000000003')
})

test('intervals that are folded are in the total and in no bar', () => {
  const stack = stackOf([row(at(0), '1'), row(at(0), '2', { folded: true })], [], [0], 'service', [], 'cost_usd')

  expect(stack.bars).toHaveLength(1)
  expect([stack.together, stack.total]).toEqual(['2', '3'])
})

const cents = fc
  .integer({ min: 0, max: 1_000_000 })
  .map((steps) => `${Math.floor(steps / 100)}.${String(steps % 100).padStart(2, '0')}`)

test('the four parts of trust add up to the cost, whatever is unattributed', () => {
  fc.assert(
    fc.property(
      cents,
      cents,
      cents,
      fc.double({ min: 0, max: 1, noNaN: true }),
      cents,
      (ready, provisional, estimated, part, pool) => {
        const cost = added([ready, provisional, estimated])
        const unattributed = (Math.floor(Number(cost) * 100 * part) / 100).toFixed(2)
        const bands = { chargeback_ready: ready, provisional, estimated }
        const reasons = { default_pool: { calls: 1, cost_usd: pool } }
        const trust = trustOf({ cost_usd_by_band: bands, unattributed_cost_usd: unattributed, reasons })

        expect(added(Object.values(trust))).toBe(cost)
        expect(Object.values(trust).every((text) => !text.startsWith('-'))).toBe(true)
      },
    ),
  )
})

test('a service without an owner is nobody’s although its calls are proved; the default pool was estimated', () => {
  const bands = { chargeback_ready: '10', provisional: '2', estimated: '5' }
  const reasons = { default_pool: { calls: 1, cost_usd: '4' }, no_owner: { calls: 3, cost_usd: '3' } }

  expect(trustOf({ cost_usd_by_band: bands, unattributed_cost_usd: '7', reasons })).toEqual({
    chargebackReady: '7',
    provisional: '2',
    estimated: '1',
    nobody: '7',
  })
})

test('shares and changes are exact to their last decimal', () => {
  expect(fractionOf('1', '3')).toBe('0.333333')
  expect(fractionOf('0', '0')).toBeUndefined()
  expect(percentOf('-1', '8')).toBe('-12.5000')
})
