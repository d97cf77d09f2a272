/** The confidence floor of chargeback, checked independently of the record's eligibility. */
export const REACHES_FLOOR = "confidence >= toDecimal32('0.8', 4)"

/** Whether a chargeback file has a record, as SQL. */
export const IS_EXPORTED = `export_eligibility = 'eligible' AND ${REACHES_FLOOR}`
