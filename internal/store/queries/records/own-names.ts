/**
 * Owners that are people: who owns calls under the name that the calls themselves state. Whatever names the owner of a
 * call that states nobody must not take such a name: nobody would appear in its group, which would be shown (k = 5).
 */

/**
 * Of a record: whether its owner is the identity that its call states. Quotes within a text are escaped: only a member
 * reads so.
 */
export const IS_OWN = `position(evidence, '"owner_from":"event_identity"') > 0`

/** Replaces such a name; also used where the directory knows no owner. */
export const NOBODY_NAMED = 'unassigned'
