import fc from 'fast-check'
import { expect, test } from 'vitest'
import { unguessable } from '../../../../internal/access/oauth/issue-token.js'
import { formatRefreshToken, readRefreshToken } from '../../../../internal/access/oauth/refresh-tokens.js'
import { FUZZ_CASES, FUZZ_MS_MAX } from '../../../support/fuzz.js'

const KEY = new Uint8Array(32).fill(5)
const generations = fc.integer({ min: 0, max: 2 ** 32 - 1 })

test('a refresh token is read as it was written', () => {
  fc.assert(
    fc.property(generations, (generation) => {
      const token = { sessionId: unguessable(), generation }

      expect(readRefreshToken(KEY, formatRefreshToken(KEY, token))).toEqual(token)
    }),
  )
})

test('a refresh token of another key is refused', () => {
  const token = formatRefreshToken(new Uint8Array(32).fill(6), { sessionId: unguessable(), generation: 0 })

  expect(readRefreshToken(KEY, token)).toBeUndefined()
})

test(
  'fuzzing: no other text is a refresh token, not even another encoding of its bytes',
  () => {
    const good = formatRefreshToken(KEY, { sessionId: unguessable(), generation: 7 })
    const changed = fc
      .tuple(fc.nat(good.length), fc.nat(2), fc.string({ unit: 'binary', maxLength: 2 }))
      .map(([at, cut, inserted]) => good.slice(0, at) + inserted + good.slice(at + cut))
    const shaped = fc.stringMatching(/^rt_[A-Za-z0-9_-]{70}$/)
    const tails = fc.constantFrom(...'ABCDEFGHIJKLMNOPQRSTUVWXYZ_-0').map((last) => good.slice(0, -1) + last)

    fc.assert(
      fc.property(fc.oneof(changed, shaped, tails, fc.string()), (text) => {
        expect(readRefreshToken(KEY, text) === undefined).toBe(text !== good)
      }),
      { numRuns: FUZZ_CASES },
    )
  },
  FUZZ_MS_MAX,
)
