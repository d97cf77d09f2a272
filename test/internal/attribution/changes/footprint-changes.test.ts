import { expect, test } from 'vitest'
import { FootprintChanges } from '../../../../internal/attribution/changes/footprint-changes.js'
import { DEFAULT_SETTINGS, type GridSettings } from '../../../../internal/auth/tenant.js'
import { formatQuantity } from '../../../../internal/units/quantity.js'
import { footprintRules } from '../../../../internal/valuation/consumption.js'
import { loadPriceBook } from '../../../../internal/valuation/cost/price-book.js'
import { loadFootprintTables, withEnergyTable } from '../../../../internal/valuation/energy/footprint.js'
import { modelRow, tableOf } from '../../../support/energy-tables.js'
import { admitted, idOf, type Stated } from '../../../support/invocations.js'
import { finishedRow } from '../../../support/rows.js'

const released = loadFootprintTables()
const BOOK = loadPriceBook()
const rulesOf = (rows: Parameters<typeof tableOf>[0], grid: GridSettings | null = null) => {
  const tables = withEnergyTable(released, tableOf(rows), 'energy_x')
  return footprintRules(
    () => tables,
    () => BOOK,
    () => undefined,
    () => ({ ...DEFAULT_SETTINGS, grid }),
  )
}
const OLD = rulesOf([modelRow('gpt-4o', '10'), modelRow('gone', '10'), modelRow('same', '10')])
const NEW = rulesOf([modelRow('gpt-4o', '200'), modelRow('added', '5'), modelRow('same', '10')])

/** A record of a call with 250 output tokens, computed by the old table. */
function recorded(invocation: Stated['invocation'] = {}) {
  const stated = { id: new Uint8Array(idOf(1)), invocation: { outputTokens: 250, ...invocation } }
  const { energyWh, energyBasis, carbonGco2e, carbonBasis, detailsJson } = OLD('tnt_one', admitted(stated).invocation)
  return { ...finishedRow(stated), energyWh, energyBasis, carbonGco2e, carbonBasis, footprintDetails: detailsJson }
}
const energyOf = (rules: typeof NEW, model: string, outputTokens = 250): bigint =>
  rules('tnt_one', admitted({ invocation: { requestedModel: model, outputTokens } }).invocation).energyWh

test('what a table would change is summed by provider and model, the largest change of energy first', () => {
  const rows = [
    recorded(),
    recorded({ outputTokens: 500 }),
    recorded({ requestedModel: 'added' }),
    recorded({ requestedModel: 'gone', outputTokens: 3 }),
    recorded({ requestedModel: 'same' }),
    recorded({ requestedModel: 'unheard-of' }),
  ]
  const changes = new FootprintChanges()
  changes.add(rows.slice(0, 2), NEW)
  changes.add(rows.slice(2), NEW)

  const [first, second, third, ...others] = changes.largestFirst()
  expect([first, second, third].map((each) => [each?.servedModel, each?.records])).toEqual([
    ['gpt-4o', 2],
    ['added', 1],
    ['gone', 1],
  ])
  expect(others).toEqual([])
  expect(first?.newEnergy).toBe(energyOf(NEW, 'gpt-4o') + energyOf(NEW, 'gpt-4o', 500))
  expect(first?.oldEnergy).toBe(energyOf(OLD, 'gpt-4o') + energyOf(OLD, 'gpt-4o', 500))
  expect([second?.newlyKnown, second?.oldEnergy, second?.newEnergy]).toEqual([1, 0n, energyOf(NEW, 'added')])
  expect([third?.newlyUnknown, third?.newEnergy, third?.newCarbon]).toEqual([1, 0n, 0n])
  const { records, newlyKnown, newlyUnknown, newEnergy } = changes.total
  expect([records, newlyKnown, newlyUnknown]).toEqual([4, 1, 1])
  expect(newEnergy).toBe(energyOf(NEW, 'gpt-4o') + energyOf(NEW, 'gpt-4o', 500) + energyOf(NEW, 'added'))
})

test('measured carbon stays, and the grid of the tenant counts', () => {
  const changes = new FootprintChanges()
  changes.add([recorded({ carbonGco2e: '7' })], NEW)
  const [measured] = changes.largestFirst()
  expect([formatQuantity(measured?.oldCarbon ?? (0n as never)), measured?.newCarbon]).toEqual([
    '7',
    measured?.oldCarbon,
  ])

  const inSweden = rulesOf([modelRow('gpt-4o', '10')], { zone: 'SWE', factors: [] })
  const byGrid = new FootprintChanges()
  byGrid.add([recorded()], inSweden)
  const [change] = byGrid.largestFirst()
  expect(change?.newEnergy).toBe(change?.oldEnergy)
  expect(Number(change?.newCarbon)).toBeLessThan(Number(change?.oldCarbon))
})

test('a model that had the estimate of its class is newly known, and the reverse newly unknown', () => {
  const estimated = recorded({ requestedModel: 'o3' })
  const sized = rulesOf([modelRow('gpt-4o', '10'), modelRow('o3', '50')])
  const changes = new FootprintChanges()
  changes.add([estimated], sized)
  const reverse = new FootprintChanges()
  const { energyWh, energyBasis } = sized('tnt_one', admitted({ invocation: { requestedModel: 'o3' } }).invocation)
  reverse.add([{ ...estimated, energyWh, energyBasis }], OLD)

  expect([estimated.energyBasis, energyBasis]).toEqual(['class_estimate', 'modelled'])
  expect([changes.total.newlyKnown, changes.total.newlyUnknown]).toEqual([1, 0])
  expect([reverse.total.newlyKnown, reverse.total.newlyUnknown]).toEqual([0, 1])
})
