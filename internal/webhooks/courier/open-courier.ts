import { setMaxListeners } from 'node:events'
import { DELIVERY_CHECKPOINTS, MEMBERS, WEBHOOK_HEALTH } from '../../../streams/buckets.js'
import { DELIVERY_PARTITIONS } from '../../../streams/deliveries.js'
import { nextArrival } from '../../broker/arrivals.js'
import { entryUpdater } from '../../broker/checkpoint.js'
import type { Broker } from '../../broker/connect.js'
import { readFence } from '../../broker/fence.js'
import { type LogRange, readLog } from '../../broker/log.js'
import { joinMembers } from '../../broker/members.js'
import { mirrorBucket } from '../../broker/mirror.js'
import { followPauses } from '../../broker/pause.js'
import { createPublisher } from '../../broker/publisher.js'
import { purgeDone } from '../../broker/purge.js'
import type { AttemptRow } from '../../store/tables/webhook-attempts.js'
import type { Logger } from '../../telemetry/log.js'
import type { StoredHealth } from '../endpoint-health.js'
import { watchWebhooks } from '../watch-webhooks.js'
import { attemptWriter } from './attempt-log.js'
import { COURIER_LOGS, runCourierLogs } from './courier-logs.js'
import { Partition } from './courier-partition.js'
import { type AttemptSettings, type AttemptsDeps, openAttempts } from './deliver.js'
import { EndpointQueues } from './endpoint-queues.js'
import { measureOldestDelivery } from './oldest-delivery.js'
import { subscribeWakeups } from './wakeups.js'

export interface CourierSettings extends AttemptSettings {
  readonly inFlightPerEndpoint: number
}

export interface CourierDeps extends AttemptsDeps {
  readonly broker: Broker
  /** Unique among couriers. */
  readonly member: string
  readonly settings: CourierSettings
  /** Inserts rows into the delivery log; a repeat with the same token changes nothing. */
  readonly insertAttempts: (rows: readonly AttemptRow[], token: string) => Promise<void>
  /** Called once when the watch of a KV bucket is lost. */
  readonly onLost: (cause: unknown) => void
  readonly log: Logger
}

export interface RunningCourier {
  /** Starts no more attempts; resolves when those in flight are settled and other couriers may take over. */
  stop(): Promise<void>
}

/** Runs this process's share of the webhook work: fan-out, deliveries, retries, replays, and the delivery log. */
export async function openCourier(deps: CourierDeps): Promise<RunningCourier> {
  const { broker, member, settings, onLost, log } = deps
  const { connection, manager } = broker
  const publisher = createPublisher(connection)
  const { publish } = publisher
  const stopping = new AbortController()
  // Every log that pauses listens to it.
  setMaxListeners(0, stopping.signal)
  const webhooks = await watchWebhooks(broker, onLost)
  const healthBucket = await broker.bucket(WEBHOOK_HEALTH)
  const health = await mirrorBucket<StoredHealth>(healthBucket, onLost)
  const checkpoints = await broker.bucket(DELIVERY_CHECKPOINTS)
  const membership = await joinMembers(await broker.bucket(MEMBERS), 'courier', member, onLost)
  const queues = new EndpointQueues({
    inFlightPerEndpoint: settings.inFlightPerEndpoint,
    healthOf: health.get,
    writeHealth: async (endpointId, now) => {
      if (webhooks.find(endpointId) !== undefined) await healthBucket.put(endpointId, JSON.stringify(now))
    },
  })
  const attempts = openAttempts(deps, webhooks, queues)
  const wakeups = subscribeWakeups(broker, log)
  const isOwner = (key: string): boolean => membership.owns(key)
  const logDeps = {
    checkpoints,
    readLog: (range: LogRange) => readLog(manager, range),
    nextArrival: (subject: string) => nextArrival(connection, subject),
    isOwner,
    log,
  }
  const isPaused = followPauses(connection)
  const stopMeasuring = measureOldestDelivery(checkpoints, logDeps.readLog, isOwner, deps.clock)
  const partitionDeps = {
    ...logDeps,
    self: member,
    ...publisher,
    updateCheckpoint: entryUpdater(publish, DELIVERY_CHECKPOINTS.name),
    logAttempts: attemptWriter(publish, log),
    liveMembers: membership.live,
    wakeups,
    queues,
    deliver: attempts.deliver,
    park: attempts.park,
  }
  const running = [
    ...(await runCourierLogs(
      { ...deps, ...logDeps, ...publisher, webhooks, readFence: () => readFence(manager), isPaused },
      stopping.signal,
    )),
    purgeDone({ manager, checkpoints, isOwner, log }, COURIER_LOGS, stopping.signal),
    ...Array.from({ length: DELIVERY_PARTITIONS }, (_, partition) =>
      new Partition(partition, partitionDeps).run(stopping.signal),
    ),
  ]

  return {
    async stop() {
      stopMeasuring()
      stopping.abort()
      await Promise.all(running)
      wakeups.stop()
      await queues.close()
      await attempts.close()
      webhooks.stop()
      health.stop()
      // If the broker is unavailable, the other couriers see the heartbeat expire.
      await membership.leave().catch(() => undefined)
    },
  }
}
