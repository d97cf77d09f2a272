import { expect, test } from 'vitest'
import { loadFootprintTables } from '../../../../internal/valuation/energy/footprint.js'
import { gridEdition, type TenantGrid, tenantFactorAt } from '../../../../internal/valuation/energy/grid.js'

const { grid } = loadFootprintTables()
const choose = (region?: string, inModelId?: string, tenant?: TenantGrid): string => {
  const { zone, from, hasNoSingleGrid } = grid.choose({ region, inModelId }, 'USA', tenant)
  return [zone ?? 'unknown', from, ...(hasNoSingleGrid ? ['no single grid'] : [])].join(' ')
}

test('the grid zone comes from the event, else the tenant, else the model id, else the operator', () => {
  expect(choose('eu-north-1', 'us', { zone: 'FRA' })).toBe('SWE event_region')
  expect(choose(undefined, 'us', { zone: 'FRA' })).toBe('FRA tenant')
  expect(choose(undefined, 'eu')).toBe('EEE model_id')
  expect(choose()).toBe('USA operator_default')
})

test('cloud regions, geographies and zone codes resolve to grid zones', () => {
  const places = ['us-central1', 'FranceCentral', 'ap-southeast-2', 'jp', 'global', 'global-standard', 'deu']

  expect(places.map((place) => choose(place).split(' ')[0])).toEqual(['USA', 'FRA', 'AUS', 'JPN', 'WOR', 'WOR', 'DEU'])
})

test('a geography with several grids uses the default zone, and an unknown place has no zone', () => {
  expect(choose('apac')).toBe('USA operator_default no single grid')
  expect(choose('mars')).toBe('unknown event_region')
  expect(choose('CAF')).toBe('unknown event_region')
  expect(choose('constructor')).toBe('unknown event_region')
})

test('the grid table is selected by the year of the event', () => {
  expect([Date.UTC(2024, 0) - 1, Date.UTC(2024, 0), Date.UTC(2026, 0) - 1, Date.UTC(2026, 0)].map(gridEdition)).toEqual(
    ['before_2024', '2024_2025', '2024_2025', 'newest'],
  )
  expect(grid.factor('USA', 'newest')).toMatchObject({ gramsPerKwh: '384.4', table: 'newest', note: undefined })
  expect(grid.factor('USA', '2024_2025')).toMatchObject({ gramsPerKwh: '383.55', table: '2024', note: undefined })
  expect(grid.factor('USA', 'before_2024')).toMatchObject({ gramsPerKwh: '383.55', note: 'grid_year_before_table' })
  expect(grid.factor('AFG', '2024_2025')).toMatchObject({ gramsPerKwh: '131.31', note: 'grid_newest_year_used' })
  expect(grid.factor('CAF', 'newest')).toBeUndefined()
})

test("a tenant's grid factor applies in its period, the latest start first", () => {
  const factor = (from: string | undefined, to?: string) => ({
    zone: 'USA',
    gramsPerKwh: '1',
    source: 'contract',
    from,
    to,
  })
  const tenant: TenantGrid = {
    factors: [factor(undefined), factor('2026-01-01', '2026-07-01'), factor('2026-02-01', '2026-03-01')],
  }
  const at = (...date: [number, number]) => tenantFactorAt(tenant, 'USA', Date.UTC(...date))

  expect([at(2025, 0), at(2026, 0), at(2026, 1), at(2026, 2), at(2026, 6)]).toEqual([0, 1, 2, 1, 0])
  expect(tenantFactorAt(tenant, 'FRA', 0)).toBe(-1)
  expect(tenantFactorAt(undefined, 'USA', 0)).toBe(-1)
})
