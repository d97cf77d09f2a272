import { expect, test } from 'vitest'
import {
  beginRing,
  isRotationDue,
  type KeyRing,
  mayRotateAtMs,
  PUBLISHED_BEFORE_MS,
  RETIRED_FOR_MS,
  replaceRing,
  rotateRing,
  SIGNS_FOR_MS,
  withoutExpired,
} from '../../../../internal/access/oauth/key-ring.js'
import { NOW_MS } from '../../../support/invocations.js'

const key = (kid: string) => ({ kid, n: 'n', e: 'e', sealed_private_key: 's' })
const statesOf = ({ keys }: KeyRing): Record<string, string> =>
  Object.fromEntries(keys.map(({ kid, state }) => [kid, state]))
const begun = beginRing(key('one'), key('two'), NOW_MS)

test('a new key ring has a current key that signs and a next key that is published', () => {
  expect(statesOf(begun)).toEqual({ one: 'current', two: 'next' })
})

test('a rotation makes the next key current, keeps the old one published, and adds a new next key', () => {
  const rotated = rotateRing(begun, key('three'), NOW_MS + SIGNS_FOR_MS)

  expect(statesOf(rotated)).toEqual({ one: 'retired', two: 'current', three: 'next' })
})

test('a rotation is due when the current key has signed for its full period, and not earlier', () => {
  expect(isRotationDue(begun, NOW_MS + SIGNS_FOR_MS - 1)).toBe(false)
  expect(isRotationDue(begun, NOW_MS + SIGNS_FOR_MS)).toBe(true)
})

test('a key may sign after it has been published for longer than verifiers cache a JWKS', () => {
  const rotated = rotateRing(begun, key('three'), NOW_MS + SIGNS_FOR_MS)

  expect(mayRotateAtMs(rotated)).toBe(NOW_MS + SIGNS_FOR_MS + PUBLISHED_BEFORE_MS)
  expect(PUBLISHED_BEFORE_MS).toBeGreaterThan(10 * 60_000)
})

test('a retired key stays published until its last token has expired', () => {
  const retiredAtMs = NOW_MS + SIGNS_FOR_MS
  const rotated = rotateRing(begun, key('three'), retiredAtMs)

  expect(withoutExpired(rotated, retiredAtMs + RETIRED_FOR_MS - 1)).toBe(rotated)
  expect(statesOf(withoutExpired(rotated, retiredAtMs + RETIRED_FOR_MS))).toEqual({ two: 'current', three: 'next' })
  expect(RETIRED_FOR_MS).toBeGreaterThan(60 * 60_000)
})

test('two rotations within an hour keep both old keys published', () => {
  const once = rotateRing(begun, key('three'), NOW_MS)
  const twice = rotateRing(once, key('four'), NOW_MS + 60_000)

  expect(statesOf(twice)).toEqual({ one: 'retired', two: 'retired', three: 'current', four: 'next' })
})

test('an emergency rotation leaves no key that has ever signed', () => {
  const rotated = rotateRing(begun, key('three'), NOW_MS)

  expect(statesOf(replaceRing(rotated, key('four'), NOW_MS + 1))).toEqual({ three: 'current', four: 'next' })
})
