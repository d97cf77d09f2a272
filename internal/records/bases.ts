/** Where the quantities of a record come from: closed lists. */

/** Where a cost comes from, the best evidence first. */
export const COST_BASES = [
  'local_cache',
  'notional',
  'client_estimate',
  'tenant_price',
  'price_book',
  'unpriced',
] as const
export type CostBasis = (typeof COST_BASES)[number]

/** What a cost says of the true one: it is at most, or at least, that much. */
export const COST_BOUNDS = ['upper', 'lower'] as const
export type CostBound = (typeof COST_BOUNDS)[number]

/**
 * Where energy and carbon come from, the best evidence first. `class_estimate`: the model's size is unknown, and the
 * figure is that of models of its class (size in the name, or list price).
 */
export const FOOTPRINT_BASES = ['measured', 'modelled', 'class_estimate', 'unknown'] as const
export type FootprintBasis = (typeof FOOTPRINT_BASES)[number]

/** Why a price is missing: an operator or the tenant can add it. */
export const MISSING_PRICE_REASONS = [
  'unknown_provider',
  'unknown_model',
  'opaque_profile',
  'zero_priced',
  'incomplete_price',
  'quarantined_price',
  'no_batch_rate',
  'no_flex_rate',
  'no_priority_rate',
  /** The call has billed calls of a tool for which neither the price nor the book states a fee. */
  'no_tool_fee',
  /** The call is billed by a unit besides tokens that has no price; the cost is that of all others. */
  'no_unit_price',
  'no_price_in_force',
] as const
export type MissingPriceReason = (typeof MISSING_PRICE_REASONS)[number]

/** Why a call cannot be priced at any price. */
export const UNPRICEABLE_REASONS = [
  'no_tokens',
  /** Parts of the tokens exceed their total. */
  'inconsistent_tokens',
  /** Above the maximum cost per call (`deploy/decisions/amounts-of-events.md`). */
  'beyond_range',
] as const
