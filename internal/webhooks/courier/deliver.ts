import { rootCertificates } from 'node:tls'
import { EVENTS } from '../../../streams/events.js'
import type { Broker } from '../../broker/connect.js'
import { lastSequenceOf } from '../../broker/log.js'
import type { TenantIds } from '../../ids/ids.js'
import { guardOf, type TargetSettings, targetRulesOf } from '../../outbound/targets.js'
import type { ResidencyRegion } from '../../residency/residency.js'
import type { MasterKeys } from '../../secrets/master-keys.js'
import type { Delivery } from '../delivery.js'
import { refusalOfReceiver, type StoredWebhook } from '../endpoint.js'
import type { RetryRules } from '../retry-schedule.js'
import type { watchWebhooks } from '../watch-webhooks.js'
import { attempt } from './attempt.js'
import { createConnections } from './connections.js'
import type { PartitionDeps } from './courier-partition.js'
import type { EndpointQueues } from './endpoint-queues.js'
import { expired, type Outcome, outcomeOf, park } from './outcomes.js'
import { send } from './send.js'
import { isChallenge, type VerifyDeps, verify } from './verify-endpoint.js'

export interface DeliverDeps extends VerifyDeps {
  /** From the copy in memory, a moment old. */
  readonly findWebhook: (id: string) => StoredWebhook | undefined
  readonly rules: RetryRules
}

/**
 * Makes one attempt at a delivery. The usual path creates no promise: with promises from here to `attempt`, a delivery
 * took 7 % more processor time (measured): the endpoint's next request is then posted too late for its connection.
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

export interface AttemptSettings {
  readonly targets: TargetSettings
  /** PEM of authorities that are trusted in addition to the public ones. */
  readonly extraCa: string | undefined
  /** Of a whole attempt, from name resolution to the last byte of the response. */
  readonly timeoutMs: number
  readonly rules: RetryRules
  readonly baseUrl: string
  readonly instanceRegion: ResidencyRegion
}

export interface AttemptsDeps {
  readonly broker: Pick<Broker, 'manager'>
  readonly settings: AttemptSettings
  readonly masterKeys: MasterKeys
  readonly idsOf: (tenantId: string) => TenantIds
  /** Undefined when there is no such tenant: nothing is delivered to its endpoints. */
  readonly residencyRegionOf: (tenantId: string) => ResidencyRegion | undefined
  readonly clock: () => number
}

export interface Attempts extends Pick<PartitionDeps, 'deliver' | 'park'> {
  close(): Promise<void>
}

const CONNECT_TIMEOUT_MS = 3_000
const SWEEP_EVERY_MS = 5_000

/** Delivery attempts over kept-alive connections to the receivers. */
export function openAttempts(
  { broker: { manager }, settings, masterKeys, idsOf, residencyRegionOf, clock }: AttemptsDeps,
  webhooks: Awaited<ReturnType<typeof watchWebhooks>>,
  queues: EndpointQueues,
): Attempts {
  const connections = createConnections(
    { extraCa: settings.extraCa, connectTimeoutMs: CONNECT_TIMEOUT_MS },
    rootCertificates,
  )
  const sweeping = setInterval(() => connections.sweep(), SWEEP_EVERY_MS)
  const attemptDeps = { guard: guardOf(settings.targets), connections, timeoutMs: settings.timeoutMs }
  const deliverDeps: DeliverDeps = {
    findWebhook: webhooks.find,
    webhooks: webhooks.records,
    masterKeys,
    targetRules: targetRulesOf(settings.targets, settings.baseUrl),
    mayReceive(webhook) {
      const home = residencyRegionOf(webhook.tenant_id)
      return home !== undefined && refusalOfReceiver(home, settings.instanceRegion, webhook) === undefined
    },
    rules: settings.rules,
    attempt: (request, done) => attempt(request, attemptDeps, done),
    onAttempt: (delivery, result) => {
      const queue = queues.of(delivery)
      if (result.kind === 'acknowledged') queue.succeeded(clock())
      else queue.failed(result, clock())
    },
    newestEvent: () => lastSequenceOf(manager, EVENTS.name),
    idsOf,
    clock,
    random: Math.random,
  }
  return {
    deliver: (delivery, onOutcome, onFailure) => deliver(delivery, deliverDeps, onOutcome, onFailure),
    park: (delivery) => park(delivery, deliverDeps),
    async close() {
      clearInterval(sweeping)
      await connections.close()
    },
  }
}
