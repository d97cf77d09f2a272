import fc from 'fast-check'
import { expect, test } from 'vitest'
import { parseDayOrInstant } from '../../../internal/units/day-or-instant.js'

test('a day is its start in the zone, an instant is itself', () => {
  expect(parseDayOrInstant('2026-10-01', 'UTC')).toBe(Date.UTC(2026, 9, 1))
  expect(parseDayOrInstant('2026-10-01', 'Asia/Kolkata')).toBe(Date.UTC(2026, 8, 30, 18, 30))
  expect(parseDayOrInstant('2026-10-01T10:00:00Z', 'Asia/Kolkata')).toBe(Date.UTC(2026, 9, 1, 10))
})

test('an instant may have any offset', () => {
  fc.assert(
    fc.property(
      fc.date({ min: new Date(0), max: new Date(Date.UTC(2100, 0)), noInvalidDate: true }),
      fc.integer({ min: -23 * 60, max: 23 * 60 }),
      (date, minutes) => {
        const two = (value: number): string => String(Math.abs(value)).padStart(2, '0')
        const local = new Date(date.getTime() + minutes * 60_000).toISOString().slice(0, -1)
        const offset = `${minutes < 0 ? '-' : '+'}${two(Math.trunc(minutes / 60))}:${two(minutes % 60)}`

        expect(parseDayOrInstant(`${local}${offset}`, 'UTC')).toBe(date.getTime())
      },
    ),
  )
})

test.each([
  '2026-13-01',
  '2026-02-30',
  '2026-10',
  '10:00',
  '2026-10-01T10:00:00',
  '2026-10-01T10:00:00+25:00',
  '',
  'x',
])('%j is neither', (text) => {
  expect(parseDayOrInstant(text, 'UTC')).toBeUndefined()
})
