/**
 * The tokens of a request by the rate that prices them. `inputTokens` is the total; cache reads and writes are parts of it;
 * `outputTokens` includes reasoning; audio tokens are parts of the totals.
 */
import type { Invocation } from '../../../invocations/invocation.js'
import type { RatePart } from './rate-sheet.js'

/** A cache write with at least this lifetime is billed at the one-hour rate. */
export const LONG_CACHE_TTL_SECONDS = 3600

/** The fields that a price depends on. Counts are integers, 0 or more, checked at admission; absent means unknown. */
export type TokenFacts = Pick<
  Invocation,
  | 'inputTokens'
  | 'outputTokens'
  | 'cachedInputTokens'
  | 'cacheWriteTokens'
  | 'cacheWriteTtlSeconds'
  | 'reasoningTokens'
  | 'audioInputTokens'
  | 'audioOutputTokens'
>

/** Tokens per part, 0 or more. They sum to input + output. */
export type TokenParts = Readonly<Record<RatePart, number>>

/** Undefined when the parts exceed the totals. */
export function tokenParts(facts: TokenFacts, inputTokens: number, outputTokens: number): TokenParts | undefined {
  const cacheRead = facts.cachedInputTokens ?? 0
  const cacheWrite = facts.cacheWriteTokens ?? 0
  const reasoning = facts.reasoningTokens ?? 0
  const audioInput = facts.audioInputTokens ?? 0
  const audioOutput = facts.audioOutputTokens ?? 0
  const uncached = inputTokens - cacheRead - cacheWrite
  const plainOutput = outputTokens - reasoning - audioOutput
  if (uncached < 0 || plainOutput < 0 || audioInput > inputTokens) return undefined

  // Events do not carry the number of cached audio tokens: only audio that cannot be uncached counts as cached.
  const audioUncached = Math.min(audioInput, uncached)
  const audioCached = Math.min(audioInput - audioUncached, cacheRead)
  const isLongLived = (facts.cacheWriteTtlSeconds ?? 0) >= LONG_CACHE_TTL_SECONDS
  return {
    input: uncached - audioUncached,
    output: plainOutput,
    cache_read: cacheRead - audioCached,
    cache_write: isLongLived ? 0 : cacheWrite,
    cache_write_1h: isLongLived ? cacheWrite : 0,
    reasoning,
    audio_input: audioUncached,
    audio_output: audioOutput,
    audio_cache_read: audioCached,
  }
}
