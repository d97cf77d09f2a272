import type { Caller } from '../../auth/authenticate.js'
import { problem } from '../../problems/problem-catalogue.js'

/** How long a user's sign-in counts as recent. */
const STEP_UP_S = 15 * 60

/** Whether a person acts whose last sign-in is too long ago. */
export const needsNewSignIn = ({ authTimeS }: Caller, nowMs: number): boolean =>
  authTimeS !== undefined && nowMs / 1_000 - authTimeS > STEP_UP_S

export const STEP_UP = problem('STEP_UP_REQUIRED', 'Sign in again: the last sign-in was more than 15 minutes ago.', {
  // RFC 9470 section 3.
  challenge: `Bearer realm="attribution", error="insufficient_user_authentication", max_age=${STEP_UP_S}`,
})
