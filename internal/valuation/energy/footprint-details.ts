/**
 * How an energy and a carbon value were computed, in the format in which they are stored and returned (wire names).
 * Like the details of a cost, they contain no numbers of the individual event: with the output tokens and latency of
 * the event, the values and their ranges can be recomputed.
 */
import type { FootprintBasis } from '../../records/bases.js'
import type { MatchStep } from '../names/model-names.js'
import type { Range } from './closed-form.js'
import type { ZoneOrigin } from './grid.js'

/** Why a value is unknown. A closed list: coverage reports count by it. */
const FOOTPRINT_REASONS = [
  'unknown_model',
  'no_output_tokens',
  'zero_output_tokens',
  'not_text_output',
  'unknown_zone',
  /** Above the maximum per call (`deploy/decisions/amounts-of-events.md`). */
  'beyond_range',
] as const
export type FootprintReason = (typeof FOOTPRINT_REASONS)[number]

/** Caveats that qualify the numbers. */
const FOOTPRINT_NOTES = [
  /** Served from the caller's own cache: no model ran. */
  'served_from_local_cache',
  /** More than ten times as many input tokens as output tokens: the method largely ignores prefill. */
  'prefill_not_modelled',
  /** A batch request: the same formula applies, since providers do not publish the savings of batching. */
  'batch_same_formula',
  /** Carbon of a measured energy: usage only, without embodied carbon of the hardware. */
  'carbon_usage_only',
  /** The stated region spans several grids; the operator's default zone was used. */
  'region_without_single_grid',
  /** The event is older than the oldest grid table. */
  'grid_year_before_table',
  /** The zone has no figure for the event's year; the newest was used. */
  'grid_newest_year_used',
] as const
export type FootprintNote = (typeof FOOTPRINT_NOTES)[number]

/** What the parameters of a model that no table knows are estimated from. */
export interface ModelClass {
  readonly by: 'size_in_name' | 'price'
  /** The size as the name has it (`70B`), or the price class. */
  readonly name: string
  /** Whose known models the typical one is of; absent: of all vendors. */
  readonly vendor?: string
  /** Number of known models that the typical one is the middle of. */
  readonly known_models?: number
  /** List price of the model, USD per 1,000,000 output tokens. */
  readonly output_usd_per_million?: string
  readonly price_book?: string
  /** Parameters of a typical model of the class, in 1e9: the value is of these, the range of the others. */
  readonly typical_active_b: string
  readonly typical_total_b: string
}

export interface FootprintDetails {
  readonly energy_basis: FootprintBasis
  readonly carbon_basis: FootprintBasis
  readonly energy_reason?: FootprintReason
  readonly carbon_reason?: FootprintReason
  /** Confidence of the energy value, 0 to 0.95; absent when the energy is unknown. */
  readonly confidence?: number
  readonly method: string
  readonly energy_as_of: string
  /** The imported energy table, if it is not the one of the release. */
  readonly energy_id?: string
  readonly grid_as_of: string
  readonly model?: {
    readonly row: string
    readonly model_from: 'served' | 'requested'
    readonly found_by: 'row' | 'alias' | 'family' | 'class'
    /** With `class`: what the parameters are estimated from. They are the range, the value is of the typical ones. */
    readonly class?: ModelClass
    readonly match: readonly MatchStep[]
    /** In 1e9 parameters. */
    readonly active_parameters_b: Range
    readonly total_parameters_b: Range
    readonly tokens_per_second?: string
    readonly first_token_s?: string
    readonly gpus: readonly [number, number]
    /** The last edition that lists the model, if the table's own no longer does. */
    readonly edition?: string
    readonly warnings?: readonly string[]
  }
  readonly operator?: { readonly provider: string; readonly is_known: boolean; readonly pue: Range }
  readonly grid?: {
    readonly zone: string
    readonly from: ZoneOrigin
    readonly g_per_kwh: string
    readonly table: '2024' | 'newest' | 'tenant'
    readonly source?: string
  }
  /**
   * Factors on the lower and upper bound: error of the method against measurements, for batches near 64 and 16-bit
   * weights.
   */
  readonly outer_band?: Range
  readonly notes?: readonly FootprintNote[]
}
