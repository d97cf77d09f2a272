import type { AttemptOutcome, AttemptReason } from '../attempt-outcomes.js'
import type { Delivery } from '../delivery.js'

/** What an attempt came to, as it is logged. */
export interface AttemptRecord {
  readonly delivery: Pick<Delivery, 'id' | 'tenantId' | 'endpointId' | 'eventId' | 'type' | 'sequence' | 'isReplayed'>
  /** 1 is the first. */
  readonly attempt: number
  readonly attemptedAtMs: number
  readonly latencyMs: number
  /** Null: there was no answer. */
  readonly status: number | null
  readonly outcome: AttemptOutcome
  readonly reason: AttemptReason | null
  readonly nextAttemptAtMs: number | null
}

/** What became of a message of a log of deliveries. */
export type Outcome =
  | { readonly kind: 'acknowledged'; readonly record: AttemptRecord }
  /** To come back at that time; without a record when it was put off. */
  | { readonly kind: 'again'; readonly delivery: Delivery; readonly atMs: number; readonly record?: AttemptRecord }
  | { readonly kind: 'dead_lettered'; readonly delivery: Delivery; readonly record: AttemptRecord }
  /** Its endpoint is gone, or asks no more for it. */
  | { readonly kind: 'dropped' }
