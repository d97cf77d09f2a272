/**
 * Owners that are people: they own calls that state their own name as identity. A call that states nobody must not get
 * such a name as its owner: its group would contain nobody, and would therefore be shown (k = 5).
 */

/**
 * Whether a record's owner is the identity that its call states. Quotes within a text are escaped, so only a member can
 * match.
 */
export const IS_OWN = `position(evidence, '"owner_from":"event_identity"') > 0`

/** Replaces such a name; also used where the directory knows no owner. */
export const NOBODY_NAMED = 'unassigned'
