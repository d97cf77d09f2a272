/** The outcome of a delivery attempt. */
export const ATTEMPT_OUTCOMES = ['acknowledged', 'retried', 'dead_lettered'] as const
export type AttemptOutcome = (typeof ATTEMPT_OUTCOMES)[number]

/**
 * Why an attempt was not acknowledged. A closed list: error texts of receivers or networks are never stored.
 *
 * - status: a response other than 2xx
 * - wrong_challenge: a 2xx response to `webhook.verification` without the challenge
 * - timeout: no response in time
 * - connection: refused, reset, or closed before the response was complete
 * - tls: the certificate is not valid for the host, or the handshake failed
 * - unresolved: the resolver has no address, or did not answer
 * - disallowed_address: the host has an address that is not allowed; no connection was made
 * - residency_blocked: the event would have left its tenant's data region, or that region is unknown; no connection was
 *   made
 * - expired: the retry period ended before the attempt could start
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
