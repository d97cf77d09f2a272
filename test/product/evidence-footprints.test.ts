import { beforeAll, describe, expect, test } from 'vitest'
import { FOOTPRINT_BASES } from '../../internal/records/bases.js'
import type { Ask } from '../support/ask.js'
import type { ShownRecord } from '../support/attributed.js'
import { type Cards, card, describeAllMet, openCards, SERVED } from '../support/evidence-cards.js'

/** Evidence cards: the energy and carbon of a call. */

let ask: Ask
let recordOf: Cards['recordOf']
/** Every record that was met. */
const met: ShownRecord[] = []

beforeAll(async () => {
  ;({ ask, recordOf } = await openCards(met))
})

describe('energy and carbon', () => {
  test.concurrent.each([
    ['measured', 'measured', { energy_wh: '1.5', carbon_gco2e: '0.7' }],
    ['measured', 'modelled', { energy_wh: '1.5', region: 'eu-north-1' }],
    ['measured', 'unknown', { energy_wh: '1.5', region: 'mars' }],
    ['modelled', 'measured', { carbon_gco2e: '0.1' }],
    ['modelled', 'modelled', { latency_ms: 900 }],
    ['modelled', 'unknown', { region: 'mars' }],
    ['class_estimate', 'class_estimate', { provider: 'xai', requested_model: 'grok-4' }],
    ['class_estimate', 'unknown', { requested_model: 'o3', region: 'mars' }],
    ['class_estimate', 'measured', { requested_model: 'o3', carbon_gco2e: '0.1' }],
    ['unknown', 'unknown', { requested_model: 'in-house', estimated_cost_usd: '1' }],
    ['unknown', 'measured', { requested_model: 'in-house', carbon_gco2e: '0.1' }],
  ])(
    '%s energy, %s carbon; confidence and eligibility of the attribution are untouched',
    async (energy_basis, carbon_basis, stated) => {
      const record = await recordOf({ ...SERVED, estimated_cost_usd: '0.005', ...stated })
      expect(record).toMatchObject({ energy_basis, carbon_basis, ...card('service_resolved', 0.9) })
    },
  )
})

test('a model of unknown size has an estimate for its class, and the card says what it is of', async () => {
  const record = await recordOf({ ...SERVED, provider: 'xai', requested_model: 'grok-4' })
  const { energy_wh: energy, uncertainty, details } = record.explanation.footprint

  expect(uncertainty).toMatch(/^not modelled, .* an estimate for models of the price class large \(it costs USD 15 /)
  expect(details.model).toMatchObject({ found_by: 'class', class: { by: 'price', name: 'large' } })
  expect(Number(details.confidence)).toBeLessThan(0.35)
  expect(Number(energy.max)).toBeGreaterThan(10 * Number(energy.min))

  const asked = `group_by=served_model&filter[provider][eq]=xai&from=${record.event_time.slice(0, 10)}`
  const { data } = (await ask('GET', `/v1/reports/usage?${asked}`)).json
  expect(data[0].energy_class_estimate_wh).toBe(data[0].energy_wh)
  expect(data[0].lower_bounds).toEqual([])
})

describeAllMet(met, [
  ['energy basis', FOOTPRINT_BASES, ({ energy_basis }) => energy_basis],
  ['carbon basis', FOOTPRINT_BASES, ({ carbon_basis }) => carbon_basis],
])
