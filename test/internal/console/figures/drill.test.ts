import { expect, test } from 'vitest'
import { drillOf } from '../../../../internal/console/figures/drill.js'
import { intervalsOf, periodOf } from '../../../../internal/console/figures/period.js'

const NOW = Date.parse('2026-11-24T09:20:00Z')
const ZONE = 'Europe/Berlin'

test('a bar of days, weeks or months leads to the period that it is, also where the clock changes', () => {
  for (const text of ['2026-10-01..2026-11-20', '12m', '2026-05-01..2026-11-02']) {
    const period = periodOf(text, ZONE, NOW)
    const starts = intervalsOf(period, ZONE)
    starts.forEach((fromMs, at) => {
      const toMs = starts[at + 1] ?? period.toMs
      const drill = drillOf(period.interval, fromMs, toMs, ZONE)

      expect(drill.kind).toBe('period')
      expect(periodOf(drill.period, ZONE, NOW)).toMatchObject({ fromMs, toMs })
    })
  }
})

test('a bar of hours leads to its calls, within its day', () => {
  const from = Date.parse('2026-11-12T23:00:00Z')

  expect(drillOf('hour', from, from + 3_600_000, ZONE)).toEqual({
    kind: 'calls',
    period: '2026-11-13..2026-11-13',
    filters: [
      { field: 'event_time', operator: 'gte', value: '2026-11-12T23:00:00.000Z' },
      { field: 'event_time', operator: 'lt', value: '2026-11-13T00:00:00.000Z' },
    ],
  })
})
