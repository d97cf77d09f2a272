import fc from 'fast-check'
import { expect, test } from 'vitest'
import { DAY_MS, startOfDay } from '../../../internal/exports/export-request.js'
import { dayOf, monthsOf, planSlices } from '../../../internal/exports/slices.js'

const PERIOD = { from: '2026-01-10', to: '2026-03-20' }
const shown = (slices: ReturnType<typeof planSlices>) =>
  slices.map(({ fromMs, toMs, chargeStart, chargeEnd }) => [dayOf(fromMs), dayOf(toMs), chargeStart, chargeEnd])

test('the months of a period are clipped to it and cover every day', () => {
  expect(shown(monthsOf({ from: '2025-12-31', to: '2026-02-01' }))).toEqual([
    ['2025-12-31', '2026-01-01', '2025-12-31', '2026-01-01'],
    ['2026-01-01', '2026-02-01', '2026-01-01', '2026-02-01'],
    ['2026-02-01', '2026-02-02', '2026-02-01', '2026-02-02'],
  ])
})

test('by month, a slice is the part of the period within the month', () => {
  const records = new Map([
    ['2026-01-31', 1],
    ['2026-03-01', 5_000_000],
    ['2026-03-20', 1],
  ])

  expect(shown(planSlices(PERIOD, false, records))).toEqual([
    ['2026-01-10', '2026-02-01', '2026-01-10', '2026-02-01'],
    ['2026-03-01', '2026-03-21', '2026-03-01', '2026-03-21'],
  ])
})

test('by day, a slice is a run of days of one month with at most a million records, or one day', () => {
  const records = new Map([
    ['2026-01-10', 400_000],
    ['2026-01-12', 600_000],
    ['2026-01-13', 1],
    ['2026-01-31', 2_000_000],
    ['2026-02-01', 1],
  ])

  expect(shown(planSlices(PERIOD, true, records)).map(([from, to]) => [from, to])).toEqual([
    ['2026-01-10', '2026-01-13'],
    ['2026-01-13', '2026-01-14'],
    ['2026-01-31', '2026-02-01'],
    ['2026-02-01', '2026-02-02'],
  ])
})

test('every day with records is in exactly one slice, in order, for any records', () => {
  const days = fc.uniqueArray(fc.nat(400), { maxLength: 60 })
  fc.assert(
    fc.property(days, fc.boolean(), fc.nat(3_000_000), (numbers, isByDay, most) => {
      const period = { from: '2025-06-10', to: dayOf(startOfDay('2025-06-10') + 400 * DAY_MS) }
      const records = new Map(
        numbers.map((number, i) => [dayOf(startOfDay(period.from) + number * DAY_MS), (i * 7_919) % (most + 1)]),
      )
      const slices = planSlices(period, isByDay, records)

      for (const [day, count] of records) {
        const holding = slices.filter(({ fromMs, toMs }) => fromMs <= startOfDay(day) && startOfDay(day) < toMs)
        if (count > 0) expect(holding.map(({ month }) => month)).toEqual([`${day.slice(0, 7)}-01`])
      }
      for (const [i, { fromMs }] of slices.entries()) expect(fromMs).toBeGreaterThanOrEqual(slices[i - 1]?.toMs ?? 0)
      expect(new Map([...records].reverse())).toEqual(records)
      expect(planSlices(period, isByDay, new Map([...records].reverse()))).toEqual(slices)
    }),
  )
})
