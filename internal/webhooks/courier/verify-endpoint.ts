import type { Records } from '../../broker/records.js'
import { eventId } from '../../events/event.js'
import type { TenantIds } from '../../ids/ids.js'
import { parseJson } from '../../text/parse-json.js'
import type { Delivery } from '../delivery.js'
import { answersChallenge, challengeText, type StoredWebhook, verified } from '../endpoint.js'
import { VERIFICATION_RULES } from '../retry-schedule.js'
import type { AttemptResult, Failed } from './attempt.js'
import { type Outcome, type OutcomeDeps, outcomeOf } from './outcomes.js'
import { type SendDeps, send } from './send.js'

export interface VerifyDeps extends SendDeps, OutcomeDeps {
  readonly webhooks: Pick<Records<StoredWebhook>, 'read' | 'change'>
  /** Called with the result of each attempt, before it is settled. */
  readonly onAttempt: (delivery: Delivery, result: AttemptResult) => void
  /** The sequence of the newest event. */
  readonly newestEvent: () => Promise<number>
  readonly idsOf: (tenantId: string) => TenantIds
}

/** How much of a response is read for the challenge. */
const CHALLENGE_RESPONSE_BYTES = 4 * 1024

/** Whether a delivery carries a challenge and not an event. */
export const isChallenge = ({ type, sequence }: Delivery): boolean => type === 'webhook.verification' && sequence === 0

/** Sends a challenge, unless a newer one has replaced it or the endpoint is verified. */
export async function verify(
  delivery: Delivery,
  webhook: StoredWebhook,
  nowMs: number,
  deps: VerifyDeps,
): Promise<Outcome> {
  const { id, tenant_id: tenantId, challenge, status } = webhook
  if (status === 'verified' || challenge === null) return { kind: 'dropped' }
  if (eventId(deps.idsOf(tenantId), 'webhook.verification', challenge.id) !== delivery.eventId) {
    return { kind: 'dropped' }
  }
  const body = JSON.stringify({
    id: delivery.eventId,
    type: delivery.type,
    created_at: challenge.created_at,
    sequence: 0,
    tenant_id: tenantId,
    data: { challenge: challengeText(deps.masterKeys, id, challenge) },
  })
  const result = await new Promise<AttemptResult>((resolve) =>
    send(webhook, delivery, Buffer.from(body), CHALLENGE_RESPONSE_BYTES, nowMs, deps, resolve),
  )
  const isDone = result.kind === 'failed' || (await isConfirmed(id, challengeIn(result.responseBody), deps))
  const wrong: Failed = { ...result, kind: 'failed', reason: 'wrong_challenge', retryAfterMs: undefined }
  const judged = isDone ? result : wrong
  // A 2xx without the challenge counts as a failure: such an endpoint is not healthy.
  deps.onAttempt(delivery, judged)
  return outcomeOf(delivery, judged, nowMs, VERIFICATION_RULES, deps)
}

/** Verifies the endpoint when a response has returned the current challenge. */
async function isConfirmed(id: string, answer: string | undefined, deps: VerifyDeps): Promise<boolean> {
  if (answer === undefined) return false
  const startsAfter = await deps.newestEvent()
  let isVerified = false
  await deps.webhooks.change(id, (found) => {
    isVerified = answersChallenge(deps.masterKeys, found, answer, deps.clock())
    return isVerified ? verified(found, startsAfter, deps.clock()) : undefined
  })
  return isVerified
}

function challengeIn(response: Buffer): string | undefined {
  const value = parseJson(response)
  if (typeof value !== 'object' || value === null || !('challenge' in value)) return undefined
  return typeof value.challenge === 'string' ? value.challenge : undefined
}
