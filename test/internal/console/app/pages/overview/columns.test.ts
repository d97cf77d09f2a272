import { expect, test } from 'vitest'
import type { UsageReport } from '../../../../../../internal/console/app/api/usage.js'
import { usageColumns } from '../../../../../../internal/console/app/pages/overview/columns.js'

test('shares and changes that the API rounds to nothing are shown as more than nothing', () => {
  const row = {
    cost_usd: '0.000000007',
    cost_share: '0',
    energy_wh: '0',
    carbon_gco2e: '0',
    compared: 'both',
    change: { cost_usd: '-0.00000001' },
    change_percent: { cost_usd: '0' },
    previous: { cost_usd: '48213' },
  }
  const report = { rows: [row], scope: { total_cost_usd: '48213.07' } } as unknown as UsageReport

  const columns = usageColumns(report, 'UTC')

  const shown = (name: string) => columns.find((column) => column.name === name)?.cell(report.rows[0] as never)
  expect(shown('cost_share')).toBe('< 0.1 %')
  expect(shown('change')).toBe('> −0.1 %')
})
