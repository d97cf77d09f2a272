import fc from 'fast-check'
import { expect, test } from 'vitest'
import {
  CADENCES,
  dueAt,
  maintainedPeriods,
  PERIODS_MAINTAINED,
  periodAt,
  readPeriod,
} from '../../../../internal/exports/schedules/periods.js'

const DAY_MS = 86_400_000
const at = (text: string): number => Date.parse(text)
const instants = fc.integer({ min: Date.UTC(1971, 0), max: Date.UTC(2200, 0) })
const cadences = fc.constantFrom(...CADENCES)

test.each([
  ['2028-02-29T23:59:59.999Z', 'monthly', '2028-02', '2028-02-01', '2028-02-29'],
  ['2027-02-28T12:00:00Z', 'monthly', '2027-02', '2027-02-01', '2027-02-28'],
  ['2100-02-15T00:00:00Z', 'monthly', '2100-02', '2100-02-01', '2100-02-28'],
  ['2026-12-31T23:59:59.999Z', 'monthly', '2026-12', '2026-12-01', '2026-12-31'],
  ['2027-01-01T00:00:00Z', 'monthly', '2027-01', '2027-01-01', '2027-01-31'],
  ['2028-02-29T00:00:00Z', 'daily', '2028-02-29', '2028-02-29', '2028-02-29'],
] as const)('%s is in the %s period %s', (text, cadence, name, from, to) => {
  expect(periodAt(cadence, at(text))).toMatchObject({ name, from, to })
})

test('an instant is in its period, which its name gives again', () => {
  fc.assert(
    fc.property(cadences, instants, (cadence, ms) => {
      const period = periodAt(cadence, ms)

      expect(period.fromMs).toBeLessThanOrEqual(ms)
      expect(ms).toBeLessThan(period.toMs)
      expect(at(`${period.from}T00:00:00Z`)).toBe(period.fromMs)
      expect(at(`${period.to}T00:00:00Z`) + DAY_MS).toBe(period.toMs)
      expect(readPeriod(cadence, period.name)).toEqual(period)
    }),
  )
})

test('the maintained periods are the last closed ones, without a gap, oldest first', () => {
  fc.assert(
    fc.property(cadences, instants, (cadence, ms) => {
      const kept = maintainedPeriods(cadence, ms)

      expect(kept).toHaveLength(PERIODS_MAINTAINED[cadence])
      expect(kept.at(-1)?.toMs).toBe(periodAt(cadence, ms).fromMs)
      for (const [i, period] of kept.slice(1).entries()) expect(kept[i]?.toMs).toBe(period.fromMs)
    }),
  )
})

test('a period closes at midnight and is due three hours later', () => {
  const midnight = at('2026-03-01T00:00:00Z')

  expect(maintainedPeriods('monthly', midnight - 1).at(-1)?.name).toBe('2026-01')
  expect(maintainedPeriods('monthly', midnight).at(-1)?.name).toBe('2026-02')
  expect(dueAt({ toMs: midnight })).toBe(at('2026-03-01T03:00:00Z'))
})

test.each([
  ['daily', '2026-02-29'],
  ['daily', '2026-02'],
  ['daily', '2026-2-01'],
  ['daily', ''],
  ['monthly', '2026-13'],
  ['monthly', '2026-02-01'],
  ['monthly', '../2026-02'],
] as const)('%s has no period %j', (cadence, name) => {
  expect(readPeriod(cadence, name)).toBeUndefined()
})
