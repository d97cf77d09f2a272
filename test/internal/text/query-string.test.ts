import fc from 'fast-check'
import { expect, test } from 'vitest'
import { readQuery } from '../../../internal/text/query-string.js'

const read = (query: string) => readQuery(query, ['limit', 'cursor'])
const codeOf = (query: string): string => {
  const result = read(query)
  return result.ok ? 'ok' : result.problem.code
}

test('the output of a standard encoder is decoded to the original values', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme' }), fc.string({ unit: 'grapheme' }), (limit, cursor) => {
      const expected = { ok: true, values: { limit, cursor } }

      expect(read(new URLSearchParams({ cursor, limit }).toString())).toEqual(expected)
      expect(read(`limit=${encodeURIComponent(limit)}&cursor=${encodeURIComponent(cursor)}`)).toEqual(expected)
    }),
  )
})

test('no query has no values', () => {
  expect(read('')).toEqual({ ok: true, values: {} })
  expect(read('&&')).toEqual({ ok: true, values: {} })
})

test('a parameter without a value is empty, not absent', () => {
  expect(read('limit')).toEqual({ ok: true, values: { limit: '' } })
  expect(read('limit=')).toEqual({ ok: true, values: { limit: '' } })
})

test('only the first equals sign separates name and value', () => {
  expect(read('cursor=a=b==')).toEqual({ ok: true, values: { cursor: 'a=b==' } })
})

test('a plus sign is a space, and %2B a plus sign', () => {
  expect(read('cursor=a+b%2Bc')).toEqual({ ok: true, values: { cursor: 'a b+c' } })
})

test('a name may be percent-encoded, and is then the same name', () => {
  expect(read('%6Cimit=5')).toEqual({ ok: true, values: { limit: '5' } })
  expect(codeOf('%6Cimit=5&limit=6')).toBe('INVALID_FILTER')
})

test.each(['limit=1&limit=2', 'limit=1&limit=1', 'limit&limit', 'limit=&cursor=x&limit='])(
  '"%s" repeats a parameter and is refused',
  (query) => {
    expect(codeOf(query)).toBe('INVALID_FILTER')
  },
)

test.each([
  'offset=1',
  'Limit=1',
  'limit =1',
  'limit%00=1',
  '=1',
  '__proto__=1',
  'constructor=1',
  'toString',
  'tenant_id=tnt_two',
])('"%s" has an unknown parameter and is refused', (query) => {
  expect(codeOf(query)).toBe('INVALID_FILTER')
})

test.each([
  'limit=%',
  'limit=%5',
  'limit=%zz',
  '%=1',
  'cursor=%ff',
  'cursor=%c3',
  'cursor=%c0%80',
  'cursor=%ed%a0%80',
  'cursor=%f5%80%80%80',
])('"%s" is no percent-encoded UTF-8 and is refused', (query) => {
  expect(codeOf(query)).toBe('MALFORMED_REQUEST')
})

test('a refusal names the known parameters and repeats nothing of the query', () => {
  const result = read('secret-name=secret-value')

  expect(result).toMatchObject({ ok: false, problem: { detail: 'Known parameters are limit, cursor.' } })
  expect(JSON.stringify(result)).not.toContain('secret')
})
