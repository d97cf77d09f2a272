import { expect, test } from 'vitest'
import { DEFAULT_SETTINGS, type GridSettings } from '../../../internal/auth/tenant.js'
import { formatQuantity } from '../../../internal/units/quantity.js'
import { consumptionRules } from '../../../internal/valuation/consumption.js'
import { loadPriceBook } from '../../../internal/valuation/cost/price-book.js'
import { admitted } from '../../support/invocations.js'

const book = loadPriceBook()
const carbonOf = (grid: GridSettings | null, stated: object = {}): string => {
  const rules = consumptionRules(
    () => book,
    () => undefined,
    () => ({ ...DEFAULT_SETTINGS, grid }),
  )
  const { carbonGco2e, footprintDetails } = rules(admitted({ invocation: { energyWh: '1000', ...stated } }))
  const { from, table, source } = JSON.parse(footprintDetails).grid ?? {}
  return [formatQuantity(carbonGco2e), from, table, source].join(' ').trim()
}
const factor = (stated: Partial<GridSettings['factors'][number]> = {}) => ({
  zone: 'SWE',
  gco2e_per_kwh: '12.5',
  source: 'our supplier',
  from: null,
  to: null,
  ...stated,
})

test("a tenant's grid zone applies to calls without a region", () => {
  expect(carbonOf(null)).toBe('384.4 operator_default newest')
  expect(carbonOf({ zone: 'SWE', factors: [] })).toBe('35.26 tenant newest')
  expect(carbonOf({ zone: 'eu-north-1', factors: [] })).toBe('35.26 tenant newest')
  expect(carbonOf({ zone: 'SWE', factors: [] }, { region: 'eu-central-1' })).toBe('329.65 event_region newest')
  expect(carbonOf({ zone: 'Atlantis', factors: [] })).toBe('0')
})

test("a tenant's grid factor takes precedence in its zone and period, the latest start first", () => {
  const factors = [factor(), factor({ gco2e_per_kwh: '9', source: 'November', from: '2026-11-01T00:00:00Z' })]
  const past = { eventTimeMs: Date.UTC(2026, 9, 31) }

  expect(carbonOf({ zone: 'SWE', factors })).toBe('9 tenant tenant November')
  expect(carbonOf({ zone: 'SWE', factors }, past)).toBe('12.5 tenant tenant our supplier')
  expect(carbonOf({ zone: 'SWE', factors: [factor({ to: '2026-11-01T00:00:00Z' })] })).toBe('35.26 tenant newest')
  expect(carbonOf({ zone: null, factors })).toBe('384.4 operator_default newest')
})

test('grid settings of a tenant do not affect other tenants, and changes apply at once', () => {
  let grid: GridSettings | null = { zone: 'SWE', factors: [] }
  const rules = consumptionRules(
    () => book,
    () => undefined,
    (tenantId) => ({ ...DEFAULT_SETTINGS, grid: tenantId === 'tnt_one' ? grid : null }),
  )
  const carbon = (tenantId: string) =>
    formatQuantity(rules(admitted({ tenantId, invocation: { energyWh: '1000' } })).carbonGco2e)

  expect([carbon('tnt_one'), carbon('tnt_two')]).toEqual(['35.26', '384.4'])
  grid = { zone: 'FRA', factors: [] }
  expect([carbon('tnt_one'), carbon('tnt_two')]).toEqual(['41.44', '384.4'])
})
