import { modelName } from '../../../text/plain-text.js'
import type { RateSheet } from '../../cost/rate-sheet.js'

/** Another price book, in the form of ours: what `attribution prices propose` compares with the book in force. */

const SOURCE_NAMES = ['genai-prices', 'litellm'] as const
export type SourceName = (typeof SOURCE_NAMES)[number]

export interface SourceRow {
  readonly provider: string
  /** In the spelling of the source. */
  readonly model: string
  readonly region?: string
  readonly mode?: string
  /** Maximum input tokens, as text. */
  readonly context?: string
  /** Oldest first; the first has no start. Each lists all rates that are in force. */
  readonly periods: readonly SourcePeriod[]
  /** Factors on all tokens, by place or speed, as in a row of the book. */
  readonly multipliers?: Readonly<Record<string, string>>
}

export interface SourcePeriod {
  /** The day from which the source dates this price. */
  readonly from?: string
  readonly price: RateSheet
}

export interface SourceMatch {
  readonly row: SourceRow
  /** Whether the source names the model itself, and not only a family of names that begin alike. */
  readonly isExact: boolean
}

export interface SourceBook {
  readonly name: SourceName
  /** Models that deserve a row of their own. */
  readonly rows: readonly SourceRow[]
  /** What the source says of a row of our book. */
  find(provider: string, model: string, region: string | undefined): SourceMatch | undefined
  /** Models that were left out, by reason. */
  readonly skipped: Readonly<Partial<Record<SkipReason, number>>>
}

export const SKIP_REASONS = {
  unknown_provider: 'the provider is not in the book',
  free: 'no price, or zero for input and output: unknown, not free',
  by_time_of_day: 'prices by time of day',
  no_model_name: 'a name that no event can state',
  no_token_name: 'the name is a size, a commitment or a group, and no model',
  other_units: 'only units that calls do not state',
  invalid: 'a price that is not a decimal number',
  duplicate: 'a second spelling of the same name',
} as const
export type SkipReason = keyof typeof SKIP_REASONS

const stated = modelName()
/** Whether an event can name the model so: no call has another name, and no book is taken with one. */
export const canBeStated = (model: string): boolean => stated.safeParse(model).success

/** How many models of a source are left out, by reason. */
export class Skipped {
  readonly counts: Partial<Record<SkipReason, number>> = {}

  add(reason: SkipReason): undefined {
    this.counts[reason] = (this.counts[reason] ?? 0) + 1
    return undefined
  }
}

export type ParsedSource =
  | { readonly kind: 'source'; readonly book: SourceBook }
  | { readonly kind: 'invalid'; readonly problem: string }

/** A price book of today has 5 MB; a package of npm 1 MB. */
export const SOURCE_BYTES_MAX = 64 * 1024 * 1024
