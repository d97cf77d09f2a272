import type { AttemptReason } from './attempt-outcomes.js'
import type { ShownHealth } from './webhook-contract.js'

/** Delivery health of an endpoint; a value of the bucket webhook_health. */
export interface StoredHealth {
  readonly consecutive_failures: number
  readonly last_success_at: string | null
  readonly last_failure_at: string | null
  readonly last_failure: { readonly reason: AttemptReason; readonly response_status: number | null } | null
}

export const NO_HEALTH: StoredHealth = {
  consecutive_failures: 0,
  last_success_at: null,
  last_failure_at: null,
  last_failure: null,
}

export const shownHealth = (health: StoredHealth = NO_HEALTH): ShownHealth => ({
  status: health.consecutive_failures > 0 ? 'failing' : health.last_success_at === null ? 'unknown' : 'healthy',
  ...health,
})

export const afterSuccess = (health: StoredHealth, at: string): StoredHealth => ({
  ...health,
  consecutive_failures: 0,
  last_success_at: at,
})

export const afterFailure = (
  health: StoredHealth,
  at: string,
  reason: AttemptReason,
  responseStatus: number | null,
): StoredHealth => ({
  ...health,
  consecutive_failures: health.consecutive_failures + 1,
  last_failure_at: at,
  last_failure: { reason, response_status: responseStatus },
})
