/**
 * Whether a cost is fit to alarm anybody: one that a sender states far from the price counts in reports, and neither for
 * budgets nor for anomalies. Over records and over rollups.
 */
export const IS_PLAUSIBLE = "export_eligibility != 'implausible_cost'"
