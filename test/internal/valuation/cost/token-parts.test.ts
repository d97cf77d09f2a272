import fc from 'fast-check'
import { expect, test } from 'vitest'
import { tokenParts } from '../../../../internal/valuation/cost/token-parts.js'

test('cached and written tokens are parts of the input, reasoning is part of the output', () => {
  expect(tokenParts({ cachedInputTokens: 60, cacheWriteTokens: 30, reasoningTokens: 5 }, 100, 20)).toMatchObject({
    input: 10,
    cache_read: 60,
    cache_write: 30,
    cache_write_1h: 0,
    output: 15,
    reasoning: 5,
  })
})

test('a cache write is long-lived if it lasts at least one hour', () => {
  const written = (cacheWriteTtlSeconds: number) => tokenParts({ cacheWriteTokens: 10, cacheWriteTtlSeconds }, 10, 0)

  expect(written(3599)).toMatchObject({ cache_write: 10, cache_write_1h: 0 })
  expect(written(3600)).toMatchObject({ cache_write: 0, cache_write_1h: 10 })
})

test('the two counters of cache writes have their own parts; the stated lifetime is of the other writes', () => {
  const counters = { cacheWrite5mTokens: 10, cacheWrite1hTokens: 20 }

  expect(tokenParts(counters, 100, 0)).toMatchObject({ input: 70, cache_write: 10, cache_write_1h: 20 })
  expect(tokenParts({ ...counters, cacheWriteTokens: 35 }, 100, 0)).toMatchObject({
    input: 65,
    cache_write: 15,
    cache_write_1h: 20,
  })
  expect(tokenParts({ ...counters, cacheWriteTokens: 35, cacheWriteTtlSeconds: 3600 }, 100, 0)).toMatchObject({
    cache_write: 10,
    cache_write_1h: 25,
  })
  expect(tokenParts({ ...counters, cacheWriteTokens: 29 }, 100, 0)).toBeUndefined()
})

test('cached audio is split from cached text where it is stated, and is no more than either', () => {
  const facts = { cachedInputTokens: 500, audioInputTokens: 700, audioOutputTokens: 100 }

  expect(tokenParts({ ...facts, cachedAudioInputTokens: 400 }, 1000, 100)).toMatchObject({
    input: 200,
    cache_read: 100,
    audio_input: 300,
    audio_cache_read: 400,
    audio_output: 100,
  })
  expect(tokenParts({ ...facts, cachedAudioInputTokens: 501 }, 1000, 100)).toBeUndefined()
  expect(tokenParts({ ...facts, audioInputTokens: 399, cachedAudioInputTokens: 400 }, 1000, 100)).toBeUndefined()
})

test('image tokens are parts of the totals beside audio, and as few as possible count as cached', () => {
  expect(
    tokenParts({ cachedInputTokens: 80, audioInputTokens: 5, imageInputTokens: 50, imageOutputTokens: 7 }, 100, 10),
  ).toMatchObject({ input: 0, audio_input: 5, image_input: 15, image_cache_read: 35, cache_read: 45, output: 3 })
  expect(tokenParts({ audioInputTokens: 6, imageInputTokens: 5 }, 10, 0)).toBeUndefined()
  expect(tokenParts({ audioOutputTokens: 6, imageOutputTokens: 5 }, 0, 10)).toBeUndefined()
})

test('only audio that cannot be uncached counts as cached', () => {
  expect(tokenParts({ cachedInputTokens: 80, audioInputTokens: 50 }, 100, 0)).toMatchObject({
    input: 0,
    audio_input: 20,
    audio_cache_read: 30,
    cache_read: 50,
  })
})

test('token parts that exceed their total are rejected', () => {
  expect(tokenParts({ cachedInputTokens: 60, cacheWriteTokens: 41 }, 100, 0)).toBeUndefined()
  expect(tokenParts({ reasoningTokens: 11 }, 0, 10)).toBeUndefined()
  expect(tokenParts({ reasoningTokens: 6, audioOutputTokens: 5 }, 0, 10)).toBeUndefined()
  expect(tokenParts({ audioInputTokens: 11 }, 10, 0)).toBeUndefined()
})

test('token parts sum to input plus output, and none is negative', () => {
  const count = fc.nat({ max: 1000 })
  const facts = fc.record(
    {
      cachedInputTokens: count,
      cacheWriteTokens: count,
      cacheWrite5mTokens: count,
      cacheWrite1hTokens: count,
      cacheWriteTtlSeconds: fc.constantFrom(300, 3600),
      reasoningTokens: count,
      audioInputTokens: count,
      audioOutputTokens: count,
      imageInputTokens: count,
      imageOutputTokens: count,
    },
    { requiredKeys: [] },
  )
  fc.assert(
    fc.property(facts, fc.nat({ max: 5000 }), fc.nat({ max: 3000 }), (stated, input, output) => {
      const parts = tokenParts(stated, input, output)
      if (parts === undefined) return true
      const values = Object.values(parts)
      const writes = stated.cacheWriteTokens ?? (stated.cacheWrite5mTokens ?? 0) + (stated.cacheWrite1hTokens ?? 0)
      return (
        values.every((value) => value >= 0) &&
        values.reduce((a, b) => a + b, 0) === input + output &&
        parts.cache_write + parts.cache_write_1h === writes
      )
    }),
  )
})
