import fc from 'fast-check'
import { expect, test } from 'vitest'
import {
  authTimeOf,
  faultOfIssue,
  isStubborn,
  recencyOf,
  SKEW_S,
} from '../../../../internal/access/identity-provider/token-times.js'

const NOW_S = Date.parse('2026-11-24T14:00:00Z') / 1_000

test.each([
  ['a minute ago', { auth_time: NOW_S - 60, iat: NOW_S }, 'recent'],
  ['not at all, whatever iat says', { iat: NOW_S }, 'unknown'],
  ['in milliseconds', { auth_time: (NOW_S - 60) * 1_000, iat: NOW_S }, 'unknown'],
  ['by a clock that is 90 seconds ahead', { auth_time: NOW_S + 90, iat: NOW_S + 90 }, 'recent'],
  ['twenty minutes ago', { auth_time: NOW_S - 1_200, iat: NOW_S }, 'old'],
  ['as a text', { auth_time: String(NOW_S - 60), iat: NOW_S }, 'unknown'],
] as const)(
  'a sign-in that a provider dates %s',
  (_, { auth_time, iat }: { auth_time?: unknown; iat: number }, recency) => {
    expect(faultOfIssue(iat, NOW_S)).toBeUndefined()
    expect(recencyOf(authTimeOf(auth_time, NOW_S), 900, NOW_S)).toBe(recency)
  },
)

test('a sign-in is dated in the past or now, and is recent whenever nobody asks', () => {
  fc.assert(
    fc.property(fc.anything(), fc.option(fc.nat(100_000), { nil: undefined }), (stated, maxAgeS) => {
      const authTimeS = authTimeOf(stated, NOW_S)
      if (authTimeS !== undefined) expect(authTimeS).toBeLessThanOrEqual(NOW_S)
      if (maxAgeS === undefined) expect(recencyOf(authTimeS, maxAgeS, NOW_S)).toBe('recent')
    }),
  )
})

test('an ID token is issued now: neither in the future nor long ago', () => {
  fc.assert(
    fc.property(fc.integer({ min: -10_000, max: 10_000 }), (agoS) => {
      const isFine = agoS >= -SKEW_S && agoS <= 600 + SKEW_S
      expect(faultOfIssue(NOW_S - agoS, NOW_S) === undefined).toBe(isFine)
    }),
  )
  for (const iat of [undefined, null, String(NOW_S), Number.NaN]) expect(faultOfIssue(iat, NOW_S)).toBeDefined()
})

test('a provider is asked to sign a person in anew until its answer is too old, and three times at most', () => {
  expect([0, 1, 2, 3].map((times) => isStubborn(times, NOW_S - 10, NOW_S))).toEqual([false, false, false, true])
  expect([0, 1].map((times) => isStubborn(times, NOW_S - 3_600, NOW_S))).toEqual([false, true])
})
