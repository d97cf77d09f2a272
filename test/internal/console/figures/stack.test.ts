import { expect, test } from 'vitest'
import { NOBODY, stackOf } from '../../../../internal/console/figures/stack.js'
import type { UsageRow } from '../../../../internal/console/figures/usage.js'

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
  cost_usd_by_trust: { eligible: cost, held_back: '0', provisional: '0', estimated: '0', unattributed: '0' },
  unattributed_calls: 0,
  unattributed_cost_usd: '0',
  reasons: {},
  ...more,
})

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
