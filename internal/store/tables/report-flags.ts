/**
 * What reports count and sum by, as bits of one number per record: a report reads it instead of seven columns of texts.
 * The engine computes it from them, also again when an erasure changes one.
 *
 * A column of `attributions` only, which no insert names. Bits keep their places: stored rows have them.
 */
const FLAGS = {
  unpriced: "cost_basis = 'unpriced'",
  energy_unknown: "energy_basis = 'unknown'",
  carbon_unknown: "carbon_basis = 'unknown'",
  chargeback_ready: "confidence_band = 'chargeback_ready'",
  provisional: "confidence_band = 'provisional'",
  default_pool: "output_state = 'unresolved'",
  // The owner of a call that has none.
  no_owner: "owner = 'unassigned'",
  below_floor: "export_eligibility = 'below_floor'",
  advisory: "export_eligibility = 'advisory'",
  implausible_cost: "export_eligibility = 'implausible_cost'",
  ambiguous_usage: "export_eligibility = 'ambiguous_usage'",
  // Also of a tenant that charges it back.
  cost_upper_bound: "cost_bound = 'upper'",
  energy_class_estimate: "energy_basis = 'class_estimate'",
} as const
export type ReportFlag = keyof typeof FLAGS

const COLUMN = 'report_flags'
const bitOf = (flag: ReportFlag): number => 2 ** Object.keys(FLAGS).indexOf(flag)

/** Whether a record has one of some flags, as SQL. */
export const hasAny = (flags: readonly ReportFlag[]): string =>
  `bitAnd(${COLUMN}, ${flags.reduce((mask, flag) => mask + bitOf(flag), 0)}) != 0`

const SUM = Object.entries(FLAGS)
  .map(([flag, condition]) => `(${condition}) * ${bitOf(flag as ReportFlag)}`)
  .join(' + ')

/** The column, with the expression that fills it. */
export const REPORT_FLAGS = `${COLUMN} UInt16 MATERIALIZED toUInt16(${SUM})`
