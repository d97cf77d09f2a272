import fc from 'fast-check'
import { expect, test } from 'vitest'
import { formatInstant, parseInstant } from '../../../internal/units/instant.js'

const NOON = Date.UTC(2026, 10, 3, 12)
const FIRST = Date.parse('0100-01-01T00:00:00Z')
const LAST = Date.UTC(9999, 11, 31, 23, 59, 59, 999)

test('reading what was written gives the same instant, from year 100 to year 9999', () => {
  fc.assert(fc.property(fc.integer({ min: FIRST, max: LAST }), (ms) => parseInstant(formatInstant(ms)) === ms))
})

test.each(['Z', 'z', '+00:00', '-00:00'])('the offset %s is UTC', (offset) => {
  expect(parseInstant(`2026-11-03T12:00:00${offset}`)).toBe(NOON)
})

test.each(['', '+01:00', '-00:01', '+0000', '+00', ' Z', 'UTC', '+00:00:00'])(
  'the offset "%s" is refused',
  (offset) => {
    expect(parseInstant(`2026-11-03T12:00:00${offset}`)).toBeUndefined()
  },
)

test('date and time are parted by a T of either case and by nothing else', () => {
  expect(parseInstant('2026-11-03t12:00:00Z')).toBe(NOON)
  expect(parseInstant('2026-11-03 12:00:00Z')).toBeUndefined()
})

test.each([
  ['2026-02-28T00:00:00Z', '2026-02-29T00:00:00Z', 'the last of February'],
  ['2024-02-29T00:00:00Z', '2024-02-30T00:00:00Z', 'the last of February in a leap year'],
  ['2000-02-29T00:00:00Z', '1900-02-29T00:00:00Z', 'the leap day of a century'],
  ['2026-04-30T00:00:00Z', '2026-04-31T00:00:00Z', 'the last of April'],
  ['2026-12-01T00:00:00Z', '2026-13-01T00:00:00Z', 'the last month'],
  ['2026-01-01T00:00:00Z', '2026-00-01T00:00:00Z', 'the first month'],
  ['2026-11-01T00:00:00Z', '2026-11-00T00:00:00Z', 'the first day'],
  ['2026-11-03T23:00:00Z', '2026-11-03T24:00:00Z', 'the last hour'],
  ['2026-11-03T12:59:00Z', '2026-11-03T12:60:00Z', 'the last minute'],
  ['2016-12-31T23:59:59Z', '2016-12-31T23:59:60Z', 'the last second: a leap second is none'],
  ['0100-01-01T00:00:00Z', '0099-12-31T23:59:59Z', 'the first year'],
  ['9999-12-31T23:59:59Z', '10000-01-01T00:00:00Z', 'the last year'],
])('%s is an instant and %s is not (%s)', (good, bad) => {
  expect(parseInstant(good)).toBe(Date.parse(good))
  expect(parseInstant(bad)).toBeUndefined()
})

test('the year 0000 is refused, not read as 1900', () => {
  expect(parseInstant('0000-01-01T00:00:00Z')).toBeUndefined()
})

test('a fraction is cut to milliseconds, never rounded into the next second', () => {
  expect(parseInstant('2026-11-03T12:00:00.5Z')).toBe(NOON + 500)
  expect(parseInstant('2026-11-03T12:00:00.05Z')).toBe(NOON + 50)
  expect(parseInstant('2026-11-03T12:00:00.0009Z')).toBe(NOON)
  expect(parseInstant('2026-11-03T11:59:59.9999999Z')).toBe(NOON - 1)
})

test('a fraction has 1 to 32 digits', () => {
  expect(parseInstant(`2026-11-03T12:00:00.${'0'.repeat(32)}Z`)).toBe(NOON)
  expect(parseInstant(`2026-11-03T12:00:00.${'0'.repeat(33)}Z`)).toBeUndefined()
  expect(parseInstant('2026-11-03T12:00:00.Z')).toBeUndefined()
  expect(parseInstant('2026-11-03T12:00:00,5Z')).toBeUndefined()
})

test.each([
  '',
  '2026-11-03',
  '12:00:00Z',
  '1762171200',
  '2026-11-03T12:00Z',
  ' 2026-11-03T12:00:00Z',
  '2026-11-03T12:00:00Z\n',
  '+2026-11-03T12:00:00Z',
  '２０２６-11-03T12:00:00Z',
])('"%s" is no instant', (text) => {
  expect(parseInstant(text)).toBeUndefined()
})
