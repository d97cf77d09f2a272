/**
 * The tokens of a request by the rate that prices them. `inputTokens` is the total; cache reads and writes are parts of
 * it; `outputTokens` includes reasoning; audio and image tokens are parts of the totals.
 */
import type { Invocation } from '../../invocations/invocation.js'
import { billedAs, RATE_PARTS, type RatePart, type Rates } from './rate-sheet.js'

/** A cache write with at least this lifetime is billed at the one-hour rate. */
const LONG_CACHE_TTL_SECONDS = 3600

/** The fields that a price depends on. Counts are integers, 0 or more, checked at admission; absent means unknown. */
export type TokenFacts = Pick<
  Invocation,
  | 'inputTokens'
  | 'outputTokens'
  | 'cachedInputTokens'
  | 'cachedAudioInputTokens'
  | 'cachedImageInputTokens'
  | 'cacheWriteTokens'
  | 'cacheWriteTtlSeconds'
  | 'cacheWrite5mTokens'
  | 'cacheWrite1hTokens'
  | 'reasoningTokens'
  | 'audioInputTokens'
  | 'audioOutputTokens'
  | 'imageInputTokens'
  | 'imageOutputTokens'
>

/** Tokens per part, 0 or more. They sum to input + output. */
export type TokenParts = Readonly<Record<RatePart, number>>

/** Undefined when the parts exceed the totals. */
export function tokenParts(facts: TokenFacts, inputTokens: number, outputTokens: number): TokenParts | undefined {
  const cacheRead = facts.cachedInputTokens ?? 0
  const cacheWrite = cacheWrites(facts)
  const reasoning = facts.reasoningTokens ?? 0
  const audioInput = facts.audioInputTokens ?? 0
  const audioOutput = facts.audioOutputTokens ?? 0
  const imageInput = facts.imageInputTokens ?? 0
  const imageOutput = facts.imageOutputTokens ?? 0
  const writesOfUnstatedTtl = writesWithoutCounter(facts)
  const uncached = inputTokens - cacheRead - cacheWrite
  const plainOutput = outputTokens - reasoning - audioOutput - imageOutput
  if (uncached < 0 || plainOutput < 0 || audioInput + imageInput > inputTokens || writesOfUnstatedTtl < 0) {
    return undefined
  }

  // Where an event does not state how many audio and image tokens were cached, only those that cannot be uncached are.
  const { cachedAudioInputTokens: ofAudio, cachedImageInputTokens: ofImage } = facts
  if ((ofAudio ?? 0) > audioInput || (ofImage ?? 0) > imageInput || (ofAudio ?? 0) + (ofImage ?? 0) > cacheRead) {
    return undefined
  }
  const audioUncached = Math.min(audioInput - (ofAudio ?? 0), uncached)
  const audioCached = Math.min(audioInput - audioUncached, cacheRead)
  const imageUncached = Math.min(imageInput - (ofImage ?? 0), uncached - audioUncached)
  const imageCached = Math.min(imageInput - imageUncached, cacheRead - audioCached)
  const isLongLived = (facts.cacheWriteTtlSeconds ?? 0) >= LONG_CACHE_TTL_SECONDS
  return {
    input: uncached - audioUncached - imageUncached,
    output: plainOutput,
    cache_read: cacheRead - audioCached - imageCached,
    cache_write: (facts.cacheWrite5mTokens ?? 0) + (isLongLived ? 0 : writesOfUnstatedTtl),
    cache_write_1h: (facts.cacheWrite1hTokens ?? 0) + (isLongLived ? writesOfUnstatedTtl : 0),
    reasoning,
    audio_input: audioUncached,
    audio_output: audioOutput,
    audio_cache_read: audioCached,
    image_input: imageUncached,
    image_output: imageOutput,
    image_cache_read: imageCached,
  }
}

/** The parts by whose rates tokens of a call are billed. */
export const partsBilled = (parts: TokenParts, rates: Rates): ReadonlySet<RatePart> =>
  new Set(RATE_PARTS.filter((part) => parts[part] > 0).map((part) => billedAs(part, rates)))

/** Cache writes of all lifetimes: the total, or the sum of its two counters. */
const cacheWrites = (facts: TokenFacts): number =>
  facts.cacheWriteTokens ?? (facts.cacheWrite5mTokens ?? 0) + (facts.cacheWrite1hTokens ?? 0)

/** Cache writes that neither of the two counters by lifetime contains; below 0 when these exceed the total. */
export const writesWithoutCounter = (facts: TokenFacts): number =>
  cacheWrites(facts) - (facts.cacheWrite5mTokens ?? 0) - (facts.cacheWrite1hTokens ?? 0)
