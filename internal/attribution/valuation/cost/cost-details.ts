/**
 * How a cost came about, in the form in which it is stored and shown (wire names). It holds no number of the single
 * event, so that all events of one model, service tier and period share one text; with the event's token counts
 * beside it a person can work the cost out by hand.
 */

import type { ServiceTier } from '../../../invocations/invocation.js'
import type { CostBasis } from '../../../records/bases.js'
import type { MatchStep } from '../names/model-names.js'
import { LOOKUP_FAILURES } from './price-book.js'
import type { Rates } from './rate-sheet.js'

/** Why there is no price. A closed list: coverage reports count by it. */
export const UNPRICED_REASONS = [
  ...LOOKUP_FAILURES,
  'no_tokens',
  'inconsistent_tokens',
  'no_batch_rate',
  'no_flex_rate',
  'no_priority_rate',
  'no_price_in_force',
  /** More than one call may cost (`deploy/decisions/amounts-of-events.md`). */
  'beyond_range',
] as const
export type UnpricedReason = (typeof UNPRICED_REASONS)[number]

/** Doubts about a price, each with the confidence it leaves at most, in hundredths. */
export const COST_FLAGS = {
  /** The event is older than the first known price; that price was taken. */
  before_first_period: 70,
  /** The price was announced in advance and nobody confirmed it since. */
  scheduled_price: 70,
  /** No rate for cache reads is published; they were billed as input of the same service tier. */
  cache_read_rate_missing: 70,
  /** A service tier without a rate for cache writes; they were billed as input of that tier. */
  cache_write_rate_missing: 70,
  /** A write for an hour or longer, and only a rate for short ones is published. */
  cache_write_1h_rate_missing: 80,
  /** Writes of short and long lifetime cost differently and the event does not say which; short was taken. */
  cache_write_ttl_missing: 90,
  /** Audio tokens at the text rate, since no other is published. */
  audio_rate_missing: 60,
  /** Audio has its own rate and the event does not say how many tokens were audio. */
  audio_split_missing: 85,
  /** Audio and cached tokens overlap; only what cannot have been uncached was taken as cached audio. */
  audio_cache_split_assumed: 85,
  /** Beyond a cliff nothing is listed for this service tier; its ordinary rates were taken. */
  long_context_rate_unlisted: 60,
  /** Another price book has another price. */
  price_books_disagree: 60,
} as const satisfies Record<string, number>
export type CostFlag = keyof typeof COST_FLAGS

export interface CostDetails {
  readonly basis: CostBasis
  /** Version of the price book: the day it describes. */
  readonly book_as_of: string
  /** Of an imported price book; absent for the one that the product comes with. */
  readonly book_id?: string
  /** Why no price applies, or none can stand beside the client's estimate. */
  readonly reason?: UnpricedReason
  /** The price that was used or, with `client_estimate`, the one to compare the estimate with. */
  readonly price?: AppliedPrice
}

export interface AppliedPrice {
  readonly source: 'price_book' | 'tenant_price'
  readonly provider: string
  readonly model: string
  readonly region?: string
  /** Whether the served or the requested model name was looked up. */
  readonly model_from: 'served' | 'requested'
  readonly match: readonly MatchStep[]
  /** 0 to 0.95. */
  readonly confidence: number
  /** When the price is in force, UTC; absent for an undated price. `to` is not in it. */
  readonly period?: { readonly from: string; readonly to?: string }
  /** Daily hours of this price, UTC; `to` is not in them. ISO weekdays. */
  readonly window?: { readonly from: string; readonly to: string; readonly days: readonly number[] }
  readonly service_tier: ServiceTier
  /** Whole-request threshold that the request's total input passed, or the band it lies in. */
  readonly threshold?:
    | { readonly rule: 'above' | 'at_or_above'; readonly input_tokens: number }
    | { readonly rule: 'band'; readonly over: number; readonly up_to: number }
  readonly rate_unit: 'USD per 1000000 tokens'
  /** As published; a part without a rate is billed as `billed_as` of the explanation says. */
  readonly rates: Rates
  /** Factors on all tokens. */
  readonly multipliers?: readonly { readonly name: string; readonly factor: string }[]
  readonly flags?: readonly CostFlag[]
  /** Doubts about the row in the words of the book. */
  readonly row_flags?: readonly string[]
  /** USD per 1,000,000 tokens in price books that disagree. */
  readonly other_books?: Readonly<Record<string, Readonly<Record<string, string>>>>
}
