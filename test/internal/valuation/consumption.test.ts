import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { DEFAULT_SETTINGS, type GridSettings } from '../../../internal/auth/tenant.js'
import { formatQuantity } from '../../../internal/units/quantity.js'
import type { StoredBook } from '../../../internal/valuation/books/book-version.js'
import { DatedBooks } from '../../../internal/valuation/books/dated-books.js'
import { consumptionRules } from '../../../internal/valuation/consumption.js'
import { loadPriceBook } from '../../../internal/valuation/cost/price-book.js'
import type { EnergyFile } from '../../../internal/valuation/energy/energy-models.js'
import {
  type FootprintTables,
  loadFootprintTables,
  withEnergyTable,
} from '../../../internal/valuation/energy/footprint.js'
import type { FootprintDetails } from '../../../internal/valuation/energy/footprint-details.js'
import { modelRow, tableOf } from '../../support/energy-tables.js'
import { admitted } from '../../support/invocations.js'
import { drawn } from '../../support/run/rings.js'

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

describe('energy tables by time', () => {
  const released = loadFootprintTables()
  const DECEMBER_MS = Date.UTC(2026, 11, 1)
  const HOUR_MS = 3_600_000
  const stored = (id: string, fromMs: number): StoredBook => ({
    id,
    as_of: '2026-12-01',
    effective_from: new Date(fromMs).toISOString(),
    imported_at: new Date(fromMs).toISOString(),
    sha256: '',
    rows: 1,
  })
  const energyTables = () =>
    new DatedBooks<EnergyFile, FootprintTables>(released, (file, id) => withEnergyTable(released, file, id))
  const energyAt = (tables: ReturnType<typeof energyTables>, eventTimeMs: number) => {
    const rules = consumptionRules(
      () => book,
      () => undefined,
      () => DEFAULT_SETTINGS,
      () => undefined,
      (ms) => tables.at(ms),
    )
    const { energyWh, footprintDetails } = rules(admitted({ invocation: { eventTimeMs } }))
    return { wh: formatQuantity(energyWh), ...(JSON.parse(footprintDetails) as FootprintDetails) }
  }

  test('a call is computed by the table in force at its time, which the explanation names', () => {
    const tables = energyTables()
    const before = energyAt(tables, DECEMBER_MS)
    tables.add(stored('energy_1', DECEMBER_MS), () => tableOf([modelRow('gpt-4o', '10')]))

    expect(energyAt(tables, DECEMBER_MS - 1)).toEqual({ ...before, grid: expect.anything() })
    expect(before.energy_id).toBeUndefined()
    expect(energyAt(tables, DECEMBER_MS)).toMatchObject({
      energy_as_of: '2026-12-01',
      energy_id: 'energy_1',
      model: { active_parameters_b: ['10', '10'] },
    })
    expect(energyAt(tables, DECEMBER_MS).wh).not.toBe(before.wh)

    tables.remove('energy_1')
    expect(energyAt(tables, DECEMBER_MS)).toEqual(before)
  })

  test('whatever is imported or taken back later, a call before it keeps its value, and the order does not matter', () => {
    const imports = fc.array(fc.tuple(fc.integer({ min: 1, max: 200 }), fc.integer({ min: 1, max: 900 })), {
      minLength: 1,
      maxLength: 6,
    })
    fc.assert(
      fc.property(imports, fc.integer({ min: 0, max: 200 }), fc.nat(), (starts, callAt, undone) => {
        const [one, other] = [energyTables(), energyTables()]
        const all = starts.map(([hours, billions], at) => ({
          stored: stored(`energy_${at}`, DECEMBER_MS + hours * HOUR_MS),
          file: tableOf([modelRow('gpt-4o', String(billions))]),
          hours,
        }))
        for (const { stored: each, file } of all) one.add(each, () => file)
        for (const { stored: each, file } of [...all].reverse()) other.add(each, () => file)
        const eventTimeMs = DECEMBER_MS + callAt * HOUR_MS
        const inForce = one.at(eventTimeMs).models.id
        const taken = all[undone % all.length]?.stored.id ?? ''
        one.remove(taken)
        if (taken !== inForce) expect(energyAt(one, eventTimeMs)).toEqual(energyAt(other, eventTimeMs))
        if (all.every(({ hours }) => hours > callAt)) expect(inForce).toBeUndefined()
      }),
      { numRuns: drawn(50) },
    )
  })
})
