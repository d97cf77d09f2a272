/** The figures of reports: sums over calls. */

/** The owner of a call that has none (design section 5). */
const NO_OWNER = "owner = 'unassigned'"
const NO_SERVICE = "output_state = 'unresolved'"

interface Figure {
  /** What is summed: a column of `usage_1d`. */
  readonly of: SummedColumn
  /** Over which calls; default: all. */
  readonly when?: string
}

/** The columns that figures sum, each with its value in one record. */
const SUMMED = {
  calls: 'toInt64(1)',
  cost_usd: 'cost_usd',
  energy_wh: 'energy_wh',
  carbon_gco2e: 'carbon_gco2e',
  input_tokens: 'toInt64(ifNull(input_tokens, 0))',
  output_tokens: 'toInt64(ifNull(output_tokens, 0))',
  cached_input_tokens: 'toInt64(ifNull(cached_input_tokens, 0))',
  cache_write_tokens: 'toInt64(ifNull(cache_write_tokens, 0))',
  reasoning_tokens: 'toInt64(ifNull(reasoning_tokens, 0))',
  energy_unknown_calls: "toInt64(energy_basis = 'unknown')",
  carbon_unknown_calls: "toInt64(carbon_basis = 'unknown')",
  input_tokens_unknown_calls: 'toInt64(isNull(input_tokens))',
  output_tokens_unknown_calls: 'toInt64(isNull(output_tokens))',
  // Exact: 18 digits of the cost and 4 of the confidence.
  cost_confidence: 'CAST(cost_usd * confidence AS Decimal(76, 22))',
} as const
export type SummedColumn = keyof typeof SUMMED

/** Calls whose attribution or cost cannot be relied on, by reason. A call may have several. */
export const REASONS = {
  default_pool: NO_SERVICE,
  no_owner: NO_OWNER,
  below_floor: "export_eligibility = 'below_floor'",
  advisory: "export_eligibility = 'advisory'",
  implausible_cost: "export_eligibility = 'implausible_cost'",
  unpriced: "cost_basis = 'unpriced'",
} as const
export type Reason = keyof typeof REASONS
export const REASON_NAMES = Object.keys(REASONS) as readonly Reason[]

const perReason = Object.fromEntries(
  REASON_NAMES.flatMap((reason) => [
    [`${reason}_calls`, { of: 'calls', when: REASONS[reason] }],
    [`${reason}_cost_usd`, { of: 'cost_usd', when: REASONS[reason] }],
  ]),
) as Readonly<Record<`${Reason}_calls` | `${Reason}_cost_usd`, Figure>>

export const FIGURES = {
  calls: { of: 'calls' },
  cost_usd: { of: 'cost_usd' },
  energy_wh: { of: 'energy_wh' },
  carbon_gco2e: { of: 'carbon_gco2e' },
  input_tokens: { of: 'input_tokens' },
  output_tokens: { of: 'output_tokens' },
  cached_input_tokens: { of: 'cached_input_tokens' },
  cache_write_tokens: { of: 'cache_write_tokens' },
  reasoning_tokens: { of: 'reasoning_tokens' },
  cost_unknown_calls: { of: 'calls', when: REASONS.unpriced },
  energy_unknown_calls: { of: 'energy_unknown_calls' },
  carbon_unknown_calls: { of: 'carbon_unknown_calls' },
  input_tokens_unknown_calls: { of: 'input_tokens_unknown_calls' },
  output_tokens_unknown_calls: { of: 'output_tokens_unknown_calls' },
  cost_confidence: { of: 'cost_confidence' },
  chargeback_ready_cost_usd: { of: 'cost_usd', when: "confidence_band = 'chargeback_ready'" },
  provisional_cost_usd: { of: 'cost_usd', when: "confidence_band = 'provisional'" },
  unattributed_calls: { of: 'calls', when: `(${NO_SERVICE} OR ${NO_OWNER})` },
  unattributed_cost_usd: { of: 'cost_usd', when: `(${NO_SERVICE} OR ${NO_OWNER})` },
  ...perReason,
} as const satisfies Readonly<Record<string, Figure>>

export type FigureName = keyof typeof FIGURES
export const FIGURE_NAMES = Object.keys(FIGURES) as readonly FigureName[]

/** The column of a figure: apart from the columns that it sums. */
export const figureColumn = (name: FigureName): string => `f_${name}`

/** A figure of a group of records, or of rows of `usage_1d`. */
export function figureSql(name: FigureName, source: 'records' | 'days'): string {
  const { of, when }: Figure = FIGURES[name]
  const value = source === 'days' ? of : SUMMED[of]
  return when === undefined ? `sum(${value})` : `sumIf(${value}, ${when})`
}
