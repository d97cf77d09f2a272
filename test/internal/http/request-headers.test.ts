import { expect, test } from 'vitest'
import { HEADER_NAMES, readHeaders } from '../../../internal/http/request-headers.js'

/** A request with these headers, each with its place as its value. */
const request = (...names: string[]): Parameters<typeof readHeaders>[0] => ({
  forEach: (callback) => {
    for (const [i, name] of names.entries()) callback(name, String(i))
  },
})
const pairs = HEADER_NAMES.flatMap((one) => HEADER_NAMES.map((other): [string, string] => [one, other]))

test.each(pairs)('%s and %s are refused if they are one header, and only then', (one, other) => {
  const read = readHeaders(request(one, 'accept', other, 'accept'))

  expect(read.ok).toBe(one !== other)
  if (!read.ok) expect(read.repeated).toBe(one)
})

test('each header has a field of its own', () => {
  const read = readHeaders(request(...HEADER_NAMES))

  const { forwardedFor: _, ...headers } = read.ok ? read.headers : { forwardedFor: '' }
  expect(Object.values(headers).sort()).toEqual(HEADER_NAMES.map((_, i) => String(i)).sort())
})

test('all fields of X-Forwarded-For count: a proxy appends its own to what a caller may have written', () => {
  const read = readHeaders(request('x-forwarded-for', 'host', 'x-forwarded-for'))

  expect(read.ok && read.headers.forwardedFor).toBe('0,2')
})
