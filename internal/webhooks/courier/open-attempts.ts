import { rootCertificates } from 'node:tls'
import { EVENTS } from '../../../streams/events.js'
import { lastSequenceOf } from '../../broker/log.js'
import { guardOf, targetRulesOf } from '../../outbound/targets.js'
import { refusalOfReceiver } from '../webhook-residency.js'
import { attempt } from './attempt.js'
import { createConnections } from './connections.js'
import type { PartitionDeps } from './courier-partition.js'
import { type DeliverDeps, deliver } from './deliver.js'
import type { EndpointQueues } from './endpoint-queues.js'
import type { CourierDeps } from './open-courier.js'
import { park } from './outcomes.js'
import type { watchWebhooks } from './watch-webhooks.js'

export interface Attempts extends Pick<PartitionDeps, 'deliver' | 'park'> {
  close(): Promise<void>
}

const CONNECT_TIMEOUT_MS = 3_000
const SWEEP_EVERY_MS = 5_000

/** Delivery attempts over kept-alive connections to the receivers. */
export function openAttempts(
  {
    broker: { manager },
    settings,
    masterKeys,
    idsOf,
    residencyRegionOf,
    clock,
  }: Pick<CourierDeps, 'broker' | 'settings' | 'masterKeys' | 'idsOf' | 'residencyRegionOf' | 'clock'>,
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
