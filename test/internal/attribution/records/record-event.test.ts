import { expect, test } from 'vitest'
import { attributionEvent } from '../../../../internal/attribution/records/record-event.js'
import { EVENT_DATA } from '../../../../internal/events/event-contract.js'
import { finishedRow } from '../../../support/rows.js'

test('an attribution event carries the basis of each amount, so that an unknown amount is not read as 0', () => {
  const row = { ...finishedRow(), costBasis: 'unpriced', energyBasis: 'modelled', carbonBasis: 'unknown' }

  const { data } = attributionEvent('attribution.materialized', row, 'a')

  expect(data).toMatchObject({ cost_basis: 'unpriced', energy_basis: 'modelled', carbon_basis: 'unknown' })
  expect(EVENT_DATA['attribution.materialized'].parse(data)).toEqual(data)
})
