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
    '0.519405489138',
    '0.399145276188',
    '0.639665702088',
    '0.159658110475',
    '1.727097395638',
  ])
  expect(carbon && [carbon.min, carbon.max].map(formatQuantity)).toEqual(['0.171003217541', '0.263459269257'])
  expect(carbonParts && Object.values(carbonParts).map(formatQuantity)).toEqual(['0.199659470025', '0.017571773374'])
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
