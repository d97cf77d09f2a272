import { expect, test } from 'vitest'
import { totalOf } from '../../../../internal/attribution/overrides/selected.js'
import type { SelectedOwner } from '../../../../internal/store/queries/records/selected-records.js'

const owner = (stated: Partial<SelectedOwner>): SelectedOwner => ({
  service: 'search',
  owner: 'team-search',
  records: '1',
  costUsd: '0.5',
  overridden: '0',
  disputed: '0',
  implausible: '0',
  implausibleUsd: '0',
  firstMs: '10',
  lastMs: '20',
  ...stated,
})

test('the total is the sum of all owners, with the times of all records', () => {
  const found = totalOf([
    owner({ records: '3', costUsd: '1.25', firstMs: '5', overridden: '1' }),
    owner({ owner: 'other', implausible: '1', implausibleUsd: '0.5', lastMs: '30', disputed: '2' }),
    owner({ owner: 'decided', records: '0', costUsd: '0', overridden: '4', firstMs: '0', lastMs: '0' }),
  ])

  expect(found).toEqual({
    records: 4,
    cost_usd: '1.75',
    before: [
      { service: 'search', owner: 'team-search', records: 3, cost_usd: '1.25' },
      { service: 'search', owner: 'other', records: 1, cost_usd: '0.5' },
    ],
    implausible_cost: { records: 1, cost_usd: '0.5' },
    unchanged: { overridden: 5, disputed: 2 },
    fromMs: 5,
    toMs: 31,
  })
})

test('owners beyond the first thousand are one group, and nothing is lost', () => {
  const { before, records } = totalOf(Array.from({ length: 1_200 }, (_, i) => owner({ owner: `team-${i}` })))

  expect(before).toHaveLength(1_001)
  expect(before.at(-1)).toEqual({ service: '(other owners)', owner: '(other owners)', records: 200, cost_usd: '100' })
  expect(before.reduce((sum, one) => sum + one.records, 0)).toBe(records)
})

test('nothing selected is an empty period', () => {
  expect(totalOf([])).toMatchObject({ records: 0, cost_usd: '0', before: [], fromMs: 0, toMs: 0 })
})
