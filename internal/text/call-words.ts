/** Closed lists of words that events and their records share. */

/**
 * How well the token counts of a call are known: `reported` by the provider; `partial`, as of a stream that was
 * interrupted; `estimated` by the sender; `ambiguous`, where what the sender stated can be read in two ways whose costs
 * differ; `unknown`.
 */
export const USAGE_BASES = ['reported', 'partial', 'estimated', 'ambiguous', 'unknown'] as const
export type UsageBasis = (typeof USAGE_BASES)[number]

/** How a call ended. A call that was cancelled may have been billed in part. */
export const OUTCOMES = ['success', 'error', 'cancelled'] as const
export type Outcome = (typeof OUTCOMES)[number]

/** Tiers as providers state them in responses and usage reports. `default` is OpenAI's name of `standard`. */
export const SERVICE_TIERS = [
  'standard',
  'batch',
  'flex',
  'priority',
  'default',
  'scale',
  'priority_on_demand',
  'flex_discount',
] as const
export type ServiceTier = (typeof SERVICE_TIERS)[number]

/** Speeds that a provider sells one model at: Anthropic's `usage.speed`. `fast` has its own price. */
export const SPEEDS = ['standard', 'fast'] as const
export type Speed = (typeof SPEEDS)[number]

/**
 * What is billed besides tokens, each with the name that FOCUS files show as `ConsumedUnit`: a count noun or a time, or
 * two with a hyphen (FOCUS 1.4, unit format). `Units` are the search units of rerankers.
 */
export const FOCUS_UNIT_OF = {
  seconds: 'Seconds',
  images: 'Images',
  characters: 'Characters',
  pages: 'Pages',
  requests: 'Requests',
  search_units: 'Units',
  documents: 'Documents',
  container_minutes: 'Container-Minutes',
} as const
export const BILLED_UNITS = Object.keys(FOCUS_UNIT_OF) as (keyof typeof FOCUS_UNIT_OF)[]
export type BilledUnit = keyof typeof FOCUS_UNIT_OF

/**
 * Names of errors by which programs say that the caller stopped waiting: `AbortError`, `asyncio.CancelledError`, ...
 */
const CANCELLATION = /abort|cancel|client_?(?:disconnect|closed)/i

/** @param error name or class of an error */
export const isCancellation = (error: unknown): boolean => typeof error === 'string' && CANCELLATION.test(error)
