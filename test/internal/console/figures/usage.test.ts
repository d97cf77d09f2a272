import { expect, test } from 'vitest'
import { nobodyShown, type UsageRow } from '../../../../internal/console/figures/usage.js'

const rowOf = (reasons: UsageRow['reasons']) => ({ calls: 4, unattributed: true, reasons }) as UsageRow

test('by owner, calls without a service and services without an owner are two rows with names of their own', () => {
  const pooled = { calls: 4, cost_usd: '1' }

  expect(nobodyShown(rowOf({ default_pool: pooled, no_owner: pooled }), 'owner')).toBe(
    'nobody: calls without a service',
  )
  expect(nobodyShown(rowOf({ no_owner: pooled }), 'owner')).toBe('nobody: services without an owner')
  expect(nobodyShown(rowOf({ default_pool: pooled }), 'service')).toBe('nobody')
})
