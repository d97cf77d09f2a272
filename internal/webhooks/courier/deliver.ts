import type { Delivery } from '../delivery.js'
import type { StoredWebhook } from '../endpoint.js'
import type { RetryRules } from '../retry-schedule.js'
import { expired, type Outcome, outcomeOf } from './outcomes.js'
import { send } from './send.js'
import { isChallenge, type VerifyDeps, verify } from './verify-endpoint.js'

export interface DeliverDeps extends VerifyDeps {
  /** From the copy in memory, a moment old. */
  readonly findWebhook: (id: string) => StoredWebhook | undefined
  readonly rules: RetryRules
}

/**
 * Makes one attempt at a delivery. The usual path creates no promise, since it runs once per delivery.
 *
 * @param onOutcome called with the attempt's outcome, never before this returns
 * @param onFailure called instead when the broker is unavailable; the attempt has to be repeated
 */
export function deliver(
  delivery: Delivery,
  deps: DeliverDeps,
  onOutcome: (outcome: Outcome) => void,
  onFailure: (cause: unknown) => void,
): void {
  const webhook = deps.findWebhook(delivery.endpointId)
  if (webhook?.status === 'verified' && !isChallenge(delivery)) deliverEvent(delivery, webhook, deps, onOutcome)
  else deliverAfterLookup(delivery, deps).then(onOutcome, onFailure)
}

async function deliverAfterLookup(delivery: Delivery, deps: DeliverDeps): Promise<Outcome> {
  // The copy in memory may not have an endpoint that was created, verified or sent a new challenge a moment ago.
  const webhook = await deps.webhooks.read(delivery.endpointId)
  if (webhook === undefined || webhook.tenant_id !== delivery.tenantId) return { kind: 'dropped' }
  if (isChallenge(delivery)) return verify(delivery, webhook, deps.clock(), deps)
  return new Promise((onOutcome) => deliverEvent(delivery, webhook, deps, onOutcome))
}

function deliverEvent(
  delivery: Delivery,
  webhook: StoredWebhook,
  deps: DeliverDeps,
  onOutcome: (outcome: Outcome) => void,
): void {
  if (webhook.tenant_id !== delivery.tenantId || webhook.status !== 'verified') {
    return queueMicrotask(() => onOutcome({ kind: 'dropped' }))
  }
  const nowMs = deps.clock()
  const startedAtMs = delivery.startedAtMs ?? nowMs
  if (nowMs > startedAtMs + deps.rules.stopMs) return queueMicrotask(() => onOutcome(expired(delivery, nowMs)))
  send(webhook, delivery, delivery.body, 0, nowMs, deps, (result) => {
    deps.onAttempt(delivery, result)
    onOutcome(outcomeOf(delivery, result, nowMs, deps.rules, deps))
  })
}
