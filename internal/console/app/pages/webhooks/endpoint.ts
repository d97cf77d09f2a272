/** Webhook endpoints and deliveries, as far as the console reads them. */
export interface Endpoint {
  readonly id: string
  readonly url: string
  readonly events: readonly string[]
  readonly status: 'pending' | 'verified'
  readonly created_at: string
  readonly verified_at: string | null
  readonly previous_secret_expires_at: string | null
  readonly health: {
    readonly status: 'unknown' | 'healthy' | 'failing'
    readonly consecutive_failures: number
    readonly last_success_at: string | null
    readonly last_failure_at: string | null
    readonly last_failure: { readonly reason: string; readonly response_status: number | null } | null
  }
}

export interface WithSecret extends Endpoint {
  readonly signing_secret: string
}

export interface Delivery {
  readonly delivery_id: string
  readonly event_id: string
  readonly event_type: string
  readonly sequence: number
  readonly attempt: number
  readonly attempted_at: string
  readonly response_status: number | null
  readonly latency_ms: number
  readonly outcome: 'acknowledged' | 'retried' | 'dead_lettered'
  readonly reason: string | null
  readonly next_attempt_at: string | null
  readonly replayed: boolean
}

export const WEBHOOKS_PATH = '/api/v1/webhooks'
