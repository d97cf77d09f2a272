import { expect, test } from 'vitest'
import { wantedRange } from '../../../internal/http/range.js'

const ETAG = '"digest"'

test.each([
  ['bytes=0-0', 0, 0],
  ['bytes=2-5', 2, 5],
  ['bytes=2-', 2, 9],
  ['bytes=2-99', 2, 9],
  ['bytes=-3', 7, 9],
  ['bytes=-99', 0, 9],
  ['Bytes=9-', 9, 9],
])('the range %s of ten bytes is bytes %i to %i', (header, first, last) => {
  expect(wantedRange(header, '', ETAG, 10)).toEqual({ kind: 'part', first, last })
})

test.each(['bytes=10-', 'bytes=10-12', 'bytes=-0'])('the range %s of ten bytes cannot be satisfied', (header) => {
  expect(wantedRange(header, '', ETAG, 10)).toEqual({ kind: 'unsatisfiable' })
})

test.each([
  '',
  'bytes=',
  'bytes=-',
  'bytes=5-2',
  'bytes=a-b',
  'lines=1-2',
  'bytes=0-1,3-4',
  'bytes 0-1',
  'bytes=0x1-2',
])('the Range header %j gets the whole representation: it is invalid or has several ranges', (header) => {
  expect(wantedRange(header, '', ETAG, 10)).toEqual({ kind: 'whole' })
})

test('a range applies only to the representation that If-Range names', () => {
  expect(wantedRange('bytes=2-5', ETAG, ETAG, 10).kind).toBe('part')
  expect(wantedRange('bytes=2-5', '"another"', ETAG, 10).kind).toBe('whole')
  expect(wantedRange('bytes=2-5', `W/${ETAG}`, ETAG, 10).kind).toBe('whole')
  expect(wantedRange('bytes=2-5', 'Sat, 21 Nov 2026 18:00:00 GMT', ETAG, 10).kind).toBe('whole')
})
