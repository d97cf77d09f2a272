/**
 * How a cost was computed, in the format in which it is stored and returned (wire names). It contains no numbers of the
 * individual event, so that all events with the same model, service tier and period share one text. With the token
 * counts of the event, a reader can recompute the cost by hand.
 */

import { type CostBasis, MISSING_PRICE_REASONS, UNPRICEABLE_REASONS } from '../../records/bases.js'
import type { BilledUnit, UsageBasis } from '../../text/call-words.js'
import type { MatchStep } from '../names/model-names.js'
import type { Fees, RateOrigin, Rates, SheetTier, UnitRates } from './rate-sheet.js'

/** Why a call is unpriced. A closed list: coverage reports group by it. */
const UNPRICED_REASONS = [...MISSING_PRICE_REASONS, ...UNPRICEABLE_REASONS] as const
export type UnpricedReason = (typeof UNPRICED_REASONS)[number]

/** Doubts about a price, each with the maximum confidence it allows, in hundredths. */
export const COST_FLAGS = {
  /** The event is older than the first known price; that price was used. */
  before_first_period: 70,
  /** The price was announced in advance and not confirmed since. */
  scheduled_price: 70,
  /** No rate for cache reads is known; they were billed as input of the same service tier: an upper bound. */
  cache_read_rate_missing: 70,
  /** The service tier has no rate for cache writes; they were billed as input of that tier. */
  cache_write_rate_missing: 70,
  /** A cache write for an hour or longer, while only the rate for short ones is published. */
  cache_write_1h_rate_missing: 80,
  /** Writes of short and long lifetime cost differently and the event does not say which; short was assumed. */
  cache_write_ttl_missing: 90,
  /** Audio tokens at the text rate, since no other is published. */
  audio_rate_missing: 60,
  /** Audio has its own rate and the event does not say how many tokens were audio. */
  audio_split_missing: 85,
  /** Audio and cached tokens overlap; only tokens that must have been cached count as cached audio. */
  audio_cache_split_assumed: 85,
  /** Image tokens at the text rate, since no other is published. */
  image_rate_missing: 60,
  /** Images have their own rate and the event does not say how many tokens were of images. */
  image_split_missing: 85,
  /** Image and cached tokens overlap; only tokens that must have been cached count as cached images. */
  image_cache_split_assumed: 85,
  /** No rates are listed for this service tier; those of `rates_of_tier` were used. */
  service_tier_assumed: 60,
  /** Fees per call are listed once, for the standard tier; they were used for this tier, too. */
  tool_fee_of_standard_tier: 85,
  /** The tenant's price states no fee for a tool; that of the price book was used. */
  tool_fee_of_book: 90,
  /** Prices of other units than tokens are listed once, for the standard tier; they were used for this tier, too. */
  unit_price_of_standard_tier: 85,
  /** The tenant's price states none for a unit; that of the price book was used. */
  unit_price_of_book: 90,
  /** No rates above the threshold are listed for this service tier; its base rates were used. */
  long_context_rate_unlisted: 60,
  /** Another price book has a different price. */
  price_books_disagree: 60,
  /** The call was served at the speed `fast`, for which no rates are listed; those of the usual speed were used. */
  fast_rate_unlisted: 60,
  /** The price list has no such rate for the model; it follows from a rule that its provider states. */
  rate_by_provider_rule: 90,
  /** The price list has no such rate for the dated name; that of its undated alias was used. */
  rate_of_alias: 85,
  /** The price list has no such rate for the undated name; that of one of its dated snapshots was used. */
  rate_of_snapshot: 85,
  /** The served model has no price; that of the requested one was used. */
  served_model_unlisted: 70,
  /** The served name lacks the profile, region or variant that the requested one states; the requested one was used. */
  profile_of_request: 90,
} as const satisfies Record<string, number>
export type CostFlag = keyof typeof COST_FLAGS

/** Why a cost that the caller stated is doubted. */
const STATED_COST_DOUBTS = [
  /** Far from the price, or above the ceiling of a call: it counts, but not for chargeback. */
  'implausible',
  /** The credential is not trusted to state costs, or its sender is known to leave a part out: the price counts. */
  'untrusted',
] as const
export type StatedCostDoubt = (typeof STATED_COST_DOUBTS)[number]

export interface CostDetails {
  readonly basis: CostBasis
  /** Version of the price book: the day it describes. */
  readonly book_as_of: string
  /** Id of an imported price book; absent for the built-in one. */
  readonly book_id?: string
  /** Why no price applies, or why none can be compared with the client's estimate. */
  readonly reason?: UnpricedReason
  /** Units that the call is billed by and that have no price. With a `price`, it is that of everything else. */
  readonly unpriced_units?: readonly BilledUnit[]
  /** The price that was used or, with `client_estimate`, the one to compare the estimate with. */
  readonly price?: AppliedPrice
  /** Absent: the call states no cost, or one that nothing speaks against. */
  readonly stated_cost?: StatedCostDoubt
  /** The tenant charges costs back that are upper bounds (setting `charge_upper_bounds`), and this may be one. */
  readonly upper_bound_charged?: true
  /** Of ambiguous usage: the counts and the cost that were not taken. Of this call alone. */
  readonly other_reading?: OtherReading
  /** By which of its tenant's conventions the counts of the call were read, where they can be read in two ways. */
  readonly usage_convention?: AppliedConvention
}

export interface AppliedConvention {
  readonly id: string
  readonly sender: string
  readonly cache: 'inside' | 'apart' | null
  readonly reasoning: 'inside' | 'apart' | null
  /** The convention chose the other reading than the one that the sender's event has first. */
  readonly is_other?: true
}

/** What a call costs if its sender's counts mean something else. */
export interface OtherReading {
  readonly input_tokens: number | null
  readonly output_tokens: number | null
  /** Null: no price applies to these counts. */
  readonly cost_usd: string | null
  /** How well the event says that its counts are known. */
  readonly usage_basis?: UsageBasis
}

/** Why the cost that the caller stated is doubted. @param details as stored */
export const statedCostDoubt = (details: string): StatedCostDoubt | undefined =>
  (JSON.parse(details) as CostDetails).stated_cost

export interface AssumedFrom extends RateOrigin {
  /** Parts, tools, units and names of multipliers. */
  readonly rates: readonly string[]
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
  /** When the price is in force, UTC; absent for an undated price. `to` is exclusive. */
  readonly period?: { readonly from: string; readonly to?: string }
  /** Daily hours of this price, UTC; `to` is exclusive. ISO weekdays. */
  readonly window?: { readonly from: string; readonly to: string; readonly days: readonly number[] }
  readonly service_tier: SheetTier
  /** The tier whose rates were used in place of those of `service_tier`, for which none are listed. */
  readonly rates_of_tier?: SheetTier
  /** Whole-request threshold that the total input of the request exceeds, or the band that contains it. */
  readonly threshold?:
    | { readonly rule: 'above' | 'at_or_above'; readonly input_tokens: number }
    | { readonly rule: 'band'; readonly over: number; readonly up_to: number }
  readonly rate_unit: 'USD per 1000000 tokens'
  /** Published rates; `billed_as` of the explanation shows how a part without a rate is billed. */
  readonly rates: Rates
  /**
   * Of the rates, and of the fees, units and factors that the call used, those that the price list lacks, and where they
   * come from: a later merge may add parts that the call did not state. Records of an earlier version have only rates
   * that the call used.
   */
  readonly assumed?: readonly AssumedFrom[]
  /** USD per call of each tool that the call used and that is billed per call. No factor applies to them. */
  readonly fees?: Fees
  /** USD per unit of each other unit that the call is billed by. No factor applies to them. */
  readonly units?: UnitRates
  /** Factors applied to all tokens. */
  readonly multipliers?: readonly { readonly name: string; readonly factor: string }[]
  readonly flags?: readonly CostFlag[]
  /** Doubts about the row, as stated in the book. */
  readonly row_flags?: readonly string[]
  /** USD per 1,000,000 tokens in price books that disagree. */
  readonly other_books?: Readonly<Record<string, Readonly<Record<string, string>>>>
}
