import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { formatInstant, parseInstant } from '../../../internal/units/instant.js'
import { drawn } from '../../support/run/rings.js'

const NOON = Date.UTC(2026, 10, 3, 12)
const FIRST = Date.parse('0100-01-01T00:00:00Z')
const LAST = Date.UTC(9999, 11, 31, 23, 59, 59, 999)

test('reading what was written gives the same instant, from year 100 to year 9999', () => {
  fc.assert(fc.property(fc.integer({ min: FIRST, max: LAST }), (ms) => parseInstant(formatInstant(ms)) === ms))
})

test('an instant is written as a Date writes it, whatever came before it', () => {
  const near = fc.double({ min: NOON - 1e9, max: NOON + 1e9, noNaN: true })
  const any = fc.double({ min: FIRST, max: 8.64e15, noNaN: true })
  fc.assert(
    fc.property(fc.array(fc.oneof(near, any, fc.constantFrom(0, -0.5, -1, 0.5, 999, 86_399_999.9))), (instants) => {
      expect(instants.map(formatInstant)).toEqual(instants.map((ms) => new Date(ms).toISOString()))
    }),
  )
  expect(() => formatInstant(Number.NaN)).toThrow(RangeError)
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

test('only a T of either case separates date and time', () => {
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

describe('the common form, which has its own code path', () => {
  /** The same instant in a spelling that takes the general path. */
  const generally = (body: string) => parseInstant(`${body}+00:00`)
  const padded = (value: number, digits = 2) => String(value).padStart(digits, '0')

  test.each([0, 99, 100, 1900, 1969, 1970, 2000, 2023, 2024, 2100, 2400, 9999])(
    'every day of the year %i is read as the general path reads it, and so is every day that it has not',
    (year) => {
      let days = 0
      for (let month = 0; month <= 13; month++) {
        for (let day = 0; day <= 32; day++) {
          const body = `${padded(year, 4)}-${padded(month)}-${padded(day)}T23:59:59`
          const instant = generally(body)
          expect(parseInstant(`${body}Z`), body).toBe(instant)
          expect(parseInstant(`${body}.789Z`), body).toBe(instant === undefined ? undefined : instant + 789)
          if (instant !== undefined) days++
        }
      }
      const isLeap = new Date(Date.UTC(year, 1, 29)).getUTCMonth() === 1
      expect(days).toBe(year < 100 ? 0 : isLeap ? 366 : 365)
    },
  )

  const parts = fc.tuple(
    fc.oneof(fc.nat({ max: 9999 }), fc.constantFrom(0, 99, 100, 1600, 1900, 1972, 2000, 2024)),
    fc.nat({ max: 14 }),
    fc.oneof(fc.nat({ max: 33 }), fc.constantFrom(28, 29, 30, 31)),
    fc.oneof(fc.nat({ max: 99 }), fc.constantFrom(0, 23, 24)),
    fc.oneof(fc.nat({ max: 99 }), fc.constantFrom(0, 59, 60)),
    fc.oneof(fc.nat({ max: 99 }), fc.constantFrom(0, 59, 60)),
  )
  const bodies = fc
    .tuple(
      parts,
      fc.oneof(
        fc.constant(''),
        fc.nat({ max: 999 }).map((ms) => `.${padded(ms, 3)}`),
        fc.string(),
      ),
    )
    .map(
      ([[year, month, day, hour, minute, second], fraction]) =>
        `${padded(year, 4)}-${padded(month)}-${padded(day)}T` +
        `${padded(hour)}:${padded(minute)}:${padded(second)}${fraction}`,
    )

  test('is read as the general path reads it', () => {
    fc.assert(
      fc.property(bodies, (body) => {
        expect(parseInstant(`${body}Z`)).toBe(generally(body))
      }),
      { numRuns: drawn(20_000) },
    )
  })

  test('any one character may be wrong', () => {
    const characters = fc.oneof(
      fc.constantFrom(...'0123456789-:.TtZz+/; ', '٣', '３', '\0'),
      fc.string({ unit: 'binary' }),
    )
    const usual = fc
      .date({ min: new Date(FIRST), max: new Date(LAST), noInvalidDate: true })
      .map((date) => date.toISOString())
    fc.assert(
      fc.property(usual, fc.boolean(), fc.nat({ max: 22 }), characters, (text, isShort, place, character) => {
        const body = isShort ? text.slice(0, 19) : text.slice(0, 23)
        const wrong = body.slice(0, place) + character + body.slice(place + 1)
        expect(parseInstant(`${wrong}Z`)).toBe(generally(wrong))
      }),
      { numRuns: drawn(20_000) },
    )
  })

  test.each(['2026-11-03T12:00:00', '2026-11-03T12:00:00.000'])(
    '%s and any one character is none, but for Z',
    (body) => {
      for (let code = 0; code < 0x300; code++) {
        const character = String.fromCharCode(code)
        expect(parseInstant(body + character), character).toBe(/z/i.test(character) ? NOON : undefined)
      }
    },
  )

  test('the result does not depend on earlier reads', () => {
    const texts = fc.constantFrom(
      '2026-11-03T12:00:00Z',
      '2026-11-03T12:00:00.001Z',
      '2026-11-03T12:00:60Z',
      '2024-02-29T00:00:00Z',
      '2026-11-03T12:00:00z',
      '1970-01-01T00:00:00Z',
      '',
    )
    fc.assert(
      fc.property(fc.array(texts), (read) => {
        for (const text of read) expect(parseInstant(text)).toBe(generally(text.slice(0, -1)))
      }),
    )
  })
})
