import { expect, test } from 'vitest'
import { type TenantPriceOverride, tenantPrices } from '../../../../internal/valuation/cost/tenant-prices.js'

const override = (stated: Partial<TenantPriceOverride> = {}): TenantPriceOverride => ({
  provider: 'openai',
  model: 'gpt-4o',
  from: '2026-01-01',
  rates: { input: '2', output: '8' },
  ...stated,
})

test.each([
  ['period', override({ from: '2026-02-01', to: '2026-02-01' })],
  ['period', override({ from: 'yesterday' })],
  ['rate', override({ rates: { input: '2', output: '-8' } })],
  ['rate', override({ rates: { input: '2', output: '8', tiers: [{ above: 1, input: '1e3' }] } })],
  ['no_input_or_output_rate', override({ rates: { input: '2' } })],
])('an invalid %s is reported with its index', (problem, wrong) => {
  expect(tenantPrices([override(), wrong])).toEqual({ kind: 'invalid', index: 1, problem })
})

test('a negotiated price does not apply to similar names', () => {
  const result = tenantPrices([override()])
  const find = (model: string) =>
    result.kind === 'prices' ? result.prices.find('openai', model, undefined).length : -1

  expect(find('openai/GPT-4o')).toBe(1)
  expect(find('gpt-4o-2026-02-02')).toBe(0)
  expect(find('gpt-4o-latest')).toBe(0)
})
