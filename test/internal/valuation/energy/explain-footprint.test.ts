import { expect, test } from 'vitest'
import { formatQuantity } from '../../../../internal/units/quantity.js'
import { explainFootprint } from '../../../../internal/valuation/energy/explain-footprint.js'
import { footprint, loadFootprintTables } from '../../../../internal/valuation/energy/footprint.js'
import { call } from '../../../support/attribution-events.js'

const tables = loadFootprintTables()

test('the footprint explanation of 250 tokens of gpt-4o has the expected bands and parts', () => {
  const { details } = footprint(call(), tables)

  const { energy, carbon, carbonParts } = explainFootprint(details, { outputTokens: 250 })

  expect(energy && Object.values(energy).map(formatQuantity)).toEqual([
    '0.484915706673',
    '0.364655493723',
    '0.605175919623',
    '0.145862197489',
    '1.633974982981',
  ])
  expect(carbon && [carbon.min, carbon.max].map(formatQuantity)).toEqual(['0.150559973814', '0.24301602553'])
  expect(carbonParts && Object.values(carbonParts).map(formatQuantity)).toEqual(['0.186401597645', '0.010386402027'])
})

test('the explanation of a measured energy has no band and no embodied part', () => {
  const event = call({ energyWh: '2', region: 'FRA' })

  const explanation = explainFootprint(footprint(event, tables).details, event)

  expect(explanation).toMatchObject({ energy: undefined, carbon: undefined })
  expect(explanation.carbonParts && Object.values(explanation.carbonParts).map(formatQuantity)).toEqual([
    '0.08288',
    '0',
  ])
})

test('the explanation of an unknown footprint is empty', () => {
  const event = call({ requestedModel: 'gpt-99' })

  expect(explainFootprint(footprint(event, tables).details, event)).toEqual({
    energyWh: 0n,
    carbonGco2e: 0n,
    energy: undefined,
    carbon: undefined,
    carbonParts: undefined,
  })
})
