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

test('a ring begins with a key that signs and one that is announced', () => {
  expect(statesOf(begun)).toEqual({ one: 'current', two: 'next' })
})

test('a rotation lets the announced key sign, keeps the old one published, and announces another', () => {
  const rotated = rotateRing(begun, key('three'), NOW_MS + SIGNS_FOR_MS)

  expect(statesOf(rotated)).toEqual({ one: 'retired', two: 'current', three: 'next' })
})

test('a rotation is due when the key has signed for its time, not a moment earlier', () => {
  expect(isRotationDue(begun, NOW_MS + SIGNS_FOR_MS - 1)).toBe(false)
  expect(isRotationDue(begun, NOW_MS + SIGNS_FOR_MS)).toBe(true)
})

test('a key may sign once it was announced for longer than verifiers keep what they have fetched', () => {
  const rotated = rotateRing(begun, key('three'), NOW_MS + SIGNS_FOR_MS)

  expect(mayRotateAtMs(rotated)).toBe(NOW_MS + SIGNS_FOR_MS + PUBLISHED_BEFORE_MS)
  expect(PUBLISHED_BEFORE_MS).toBeGreaterThan(10 * 60_000)
})

test('a retired key stays published until its last token is dead, then goes', () => {
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

test('after a theft no key that ever signed is left', () => {
  const rotated = rotateRing(begun, key('three'), NOW_MS)

  expect(statesOf(replaceRing(rotated, key('four'), NOW_MS + 1))).toEqual({ three: 'current', four: 'next' })
})
