import fc from 'fast-check'
import { expect, test } from 'vitest'
import { tokenParts } from '../../../../../internal/attribution/valuation/cost/token-parts.js'

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
  fc.assert(
    fc.property(
      count,
      count,
      count,
      count,
      count,
      count,
      count,
      (input, output, cached, write, reasoning, audioIn, audioOut) => {
        const parts = tokenParts(
          {
            cachedInputTokens: cached,
            cacheWriteTokens: write,
            reasoningTokens: reasoning,
            audioInputTokens: audioIn,
            audioOutputTokens: audioOut,
          },
          input,
          output,
        )
        if (parts === undefined) return true
        const values = Object.values(parts)
        return values.every((value) => value >= 0) && values.reduce((a, b) => a + b, 0) === input + output
      },
    ),
  )
})
