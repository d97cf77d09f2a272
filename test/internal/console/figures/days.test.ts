import { expect, test } from 'vitest'
import { dayTextOf, instantText, lastMonth, startOfDayText } from '../../../../internal/console/figures/days.js'

test('a day begins at midnight of the zone, also when daylight saving time has just ended', () => {
  expect(startOfDayText('2026-11-24', 'Asia/Kolkata')).toBe('2026-11-23T18:30:00.000Z')
  expect(startOfDayText('2026-10-25', 'Europe/Paris')).toBe('2026-10-24T22:00:00.000Z')
  expect(startOfDayText('2026-10-26', 'Europe/Paris')).toBe('2026-10-25T23:00:00.000Z')
})

test('a text that is no day has no instant', () => {
  expect(startOfDayText('', 'UTC')).toBeUndefined()
  expect(startOfDayText('tomorrow', 'UTC')).toBeUndefined()
})

test('the day of an instant is that of the zone', () => {
  expect(dayTextOf(Date.parse('2026-11-23T19:00:00Z'), 'Asia/Kolkata')).toBe('2026-11-24')
})

test('the month before has its first and last day, across the turn of a year too', () => {
  expect(lastMonth(Date.parse('2026-03-31T23:30:00Z'))).toEqual(['2026-02-01', '2026-02-28'])
  expect(lastMonth(Date.parse('2027-01-01T00:00:00Z'))).toEqual(['2026-12-01', '2026-12-31'])
})

test('a time of day in the zone is an instant, also beside the turn of the clocks', () => {
  expect(instantText('2026-11-24T09:30', 'Asia/Kolkata')).toBe('2026-11-24T04:00:00.000Z')
  expect(instantText('2026-10-25T00:30', 'Europe/Paris')).toBe('2026-10-24T22:30:00.000Z')
  expect(instantText('2026-10-25T03:30', 'Europe/Paris')).toBe('2026-10-25T02:30:00.000Z')
  expect(instantText('2026-10-25T02:30', 'Europe/Paris')).toBe('2026-10-25T01:30:00.000Z')
  expect(instantText('', 'UTC')).toBeUndefined()
})
