/** What an attempt came to (spec 3). */
export const ATTEMPT_OUTCOMES = ['acknowledged', 'retried', 'dead_lettered'] as const
export type AttemptOutcome = (typeof ATTEMPT_OUTCOMES)[number]

/**
 * Why an attempt was not acknowledged, a closed list: what a stranger's server or network said is never kept.
 *
 * - status: an answer other than 2xx
 * - wrong_challenge: a 2xx to `webhook.verification` without the challenge in it
 * - timeout: no answer in time
 * - connection: refused, reset, or ended before the answer did
 * - tls: the certificate is not good for the host, or the handshake failed
 * - unresolved: the resolver knows no address, or did not answer
 * - disallowed_address: the host has an address that may not be called; no connection was made
 * - residency_blocked: it would have left the region in which its tenant's data stays, or nobody knows that region; no
 *   connection was made
 * - expired: its time was up before it could be tried
 */
export const ATTEMPT_REASONS = [
  'status',
  'wrong_challenge',
  'timeout',
  'connection',
  'tls',
  'unresolved',
  'disallowed_address',
  'residency_blocked',
  'expired',
] as const
export type AttemptReason = (typeof ATTEMPT_REASONS)[number]
