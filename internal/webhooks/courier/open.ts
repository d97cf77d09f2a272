import { setMaxListeners } from 'node:events'
import { rootCertificates } from 'node:tls'
import type { JetStreamManager } from '@nats-io/jetstream'
import { DELIVERY_CHECKPOINTS, MEMBERS, WEBHOOK_HEALTH, WEBHOOKS } from '../../../streams/buckets.js'
import {
  DELIVERED_KEPT_MS,
  DELIVERIES,
  DELIVERY_PARTITIONS,
  deliveriesCheckpoint,
  deliveriesSubject,
  deliveriesWake,
} from '../../../streams/deliveries.js'
import { EVENTS } from '../../../streams/events.js'
import {
  ATTEMPTS,
  ATTEMPTS_SUBJECT,
  DEADLETTERS,
  dueCheckpoint,
  dueSubject,
  REPLAYS_CHECKPOINT,
  REPLAYS_SUBJECT,
  RETRIES,
} from '../../../streams/retries.js'
import { ByTenant } from '../../broker/by-tenant.js'
import { entryUpdater } from '../../broker/checkpoint.js'
import type { Broker } from '../../broker/connect.js'
import { readFence } from '../../broker/fence.js'
import { firstSequenceSince, type LogRange, readLog } from '../../broker/log.js'
import { joinMembers } from '../../broker/members.js'
import { mirrorBucket } from '../../broker/mirror.js'
import { runPlannedLog } from '../../broker/planned-log.js'
import { createPublisher } from '../../broker/publisher.js'
import { purgeDone } from '../../broker/purge.js'
import { bucketRecords } from '../../broker/records.js'
import type { TenantIds } from '../../ids/ids.js'
import type { ResidencyRegion } from '../../residency/residency.js'
import type { MasterKeys } from '../../secrets/master-keys.js'
import type { AttemptRow } from '../../store/tables/webhook-attempts.js'
import type { Logger } from '../../telemetry/log.js'
import { attemptLog } from '../attempt-log/actor.js'
import { attemptWriter } from '../attempt-log/writer.js'
import type { Delivery } from '../delivery.js'
import type { StoredWebhook } from '../endpoint.js'
import { fanOut } from '../fan-out.js'
import type { StoredHealth } from '../health.js'
import { guardOf, type TargetSettings, targetRulesOf } from '../open.js'
import { replayer } from '../replayer.js'
import { refusalOfReceiver } from '../residency.js'
import type { RetryRules } from '../retry-schedule.js'
import { type AttemptRequest, type AttemptResult, attempt } from './attempt.js'
import { createConnections } from './connections.js'
import { deliver, putOff } from './deliver.js'
import { Lanes } from './lanes.js'
import { Partition } from './partition.js'

export interface CourierSettings {
  readonly targets: TargetSettings
  /** PEM of authorities that are trusted besides the public ones. */
  readonly extraCa: string | undefined
  readonly inFlightPerEndpoint: number
  /** Of an attempt, all of it. */
  readonly timeoutMs: number
  readonly rules: RetryRules
  readonly baseUrl: string
  readonly instanceRegion: ResidencyRegion
}

export interface CourierDeps {
  readonly broker: Broker
  /** Unique among couriers. */
  readonly member: string
  readonly settings: CourierSettings
  readonly masterKeys: MasterKeys
  readonly idsOf: (tenantId: string) => TenantIds
  /** Undefined where there is no such tenant: it then is told nothing. */
  readonly residencyRegionOf: (tenantId: string) => ResidencyRegion | undefined
  /** Keeps rows of the delivery log once for a token. */
  readonly insertAttempts: (rows: readonly AttemptRow[], token: string) => Promise<void>
  /** Called once when a copy no longer follows its bucket. */
  readonly lost: (cause: unknown) => void
  readonly clock: () => number
  readonly log: Logger
}

export interface RunningCourier {
  /** Makes no new attempt, and resolves when those under way are settled and others may go on. */
  stop(): Promise<void>
}

const CONNECT_TIMEOUT_MS = 3_000
/** Couriers look for themselves so often: schedules fire in sweeps of a quarter of a second, and a call may be lost. */
const LOOK_EVERY_MS = 200
const SWEEP_EVERY_MS = 5_000

/** Fans events out, delivers, retries, replays, and writes the delivery log: whatever of it falls to this process. */
export async function openCourier(deps: CourierDeps): Promise<RunningCourier> {
  const { broker, member, settings, masterKeys, idsOf, lost, clock, log } = deps
  const { connection, manager } = broker
  const { publish } = createPublisher(connection)
  const stopping = new AbortController()
  // Every log that pauses listens to it.
  setMaxListeners(0, stopping.signal)
  const webhooks = await watchWebhooks(broker, lost)
  const healthBucket = await broker.bucket(WEBHOOK_HEALTH)
  const health = await mirrorBucket<StoredHealth>(healthBucket, lost)
  const checkpoints = await broker.bucket(DELIVERY_CHECKPOINTS)
  const membership = await joinMembers(await broker.bucket(MEMBERS), 'courier', member, lost)
  const targetRules = targetRulesOf(settings.targets, settings.baseUrl)
  const connections = createConnections(
    { extraCa: settings.extraCa, connectTimeoutMs: CONNECT_TIMEOUT_MS },
    rootCertificates,
  )
  const attemptDeps = { guard: guardOf(settings.targets), connections, timeoutMs: settings.timeoutMs }
  const lastOf = async (stream: string): Promise<number> => (await manager.streams.info(stream)).state.last_seq
  const read = (range: LogRange) => readLog(manager, range)

  const lanes = new Lanes({
    inFlightPerEndpoint: settings.inFlightPerEndpoint,
    healthOf: health.get,
    writeHealth: async (endpointId, now) => {
      if (webhooks.find(endpointId) !== undefined) await healthBucket.put(endpointId, JSON.stringify(now))
    },
  })
  const deliverDeps = {
    findWebhook: webhooks.find,
    webhooks: webhooks.records,
    masterKeys,
    targetRules,
    mayReceive(webhook: StoredWebhook) {
      const home = deps.residencyRegionOf(webhook.tenant_id)
      return home !== undefined && refusalOfReceiver(home, settings.instanceRegion, webhook) === undefined
    },
    rules: settings.rules,
    attempt: (request: AttemptRequest, done: (result: AttemptResult) => void) => attempt(request, attemptDeps, done),
    tellLane: (delivery: Delivery, result: AttemptResult) => {
      const lane = lanes.of(delivery)
      if (result.kind === 'acknowledged') lane.succeeded(clock())
      else lane.failed(result, clock())
    },
    newestEvent: () => lastOf(EVENTS.name),
    idsOf,
    clock,
    random: Math.random,
  }
  const updateCheckpoint = entryUpdater(publish, DELIVERY_CHECKPOINTS.name)
  const logAttempts = attemptWriter(publish, log)
  const wakes = Array.from({ length: DELIVERY_PARTITIONS }, (_, partition) => new Bell(partition, connection))
  const partitions = wakes.map(
    (bell, partition) =>
      new Partition(partition, {
        self: member,
        checkpoints,
        updateCheckpoint,
        readLog: read,
        publish,
        logAttempts,
        isOwner: (key) => membership.owns(key),
        live: membership.live,
        somethingNew: (_, signal) => bell.rung(LOOK_EVERY_MS, signal),
        lanes,
        deliver: (delivery, made, failed) => deliver(delivery, deliverDeps, made, failed),
        putOff: (delivery) => putOff(delivery, deliverDeps),
        log,
      }),
  )

  const logDeps = {
    checkpoints,
    readLog: read,
    isOwner: (key: string) => membership.owns(key),
    readFence: () => readFence(manager),
    clock,
    log,
  }
  const attemptsLog = Math.floor(Date.parse((await manager.streams.info(ATTEMPTS.name)).created) / 1_000)
  const planned = [
    runPlannedLog(
      fanOut({
        current: webhooks.current,
        publish,
        lastDelivery: () => lastOf(DELIVERIES.name),
        deliveriesAfter: (sequence) => readBehind(manager, DELIVERIES.name, 'deliveries.*', sequence),
        wake: (subject) => connection.publish(subject),
        idsOf,
        log,
      }),
      logDeps,
      stopping.signal,
    ),
    runPlannedLog(
      replayer({
        findWebhook: webhooks.records.read,
        readLog: read,
        firstEventSince: (atMs) => firstSequenceSince(manager, EVENTS.name, atMs),
        deleteDeadLetter: async (sequence) => {
          await manager.streams.deleteMessage(DEADLETTERS.name, sequence, false).catch(() => false)
        },
        publish,
        idsOf,
        clock,
        log,
      }),
      logDeps,
      stopping.signal,
    ),
    runPlannedLog(
      attemptLog({
        // Sequences name a batch only within one log.
        insert: (rows, token) => deps.insertAttempts(rows, `${attemptsLog}.${token}`),
        logId: attemptsLog,
        log,
      }),
      logDeps,
      stopping.signal,
    ),
  ]
  const parts = [...partitions.keys()]
  const purging = purgeDone(
    { manager, checkpoints, isOwner: (key) => membership.owns(key), log },
    [
      ...parts.map((part) => ({
        key: deliveriesCheckpoint(part),
        stream: DELIVERIES.name,
        subject: deliveriesSubject(part),
        bytesMax: DELIVERIES.max_bytes,
        keepMs: DELIVERED_KEPT_MS,
      })),
      ...parts.map((part) => ({
        key: dueCheckpoint(part),
        stream: RETRIES.name,
        subject: dueSubject(part),
        bytesMax: Number.MAX_SAFE_INTEGER,
        keepMs: 0,
      })),
      {
        key: REPLAYS_CHECKPOINT,
        stream: RETRIES.name,
        subject: REPLAYS_SUBJECT,
        bytesMax: Number.MAX_SAFE_INTEGER,
        keepMs: 0,
      },
      {
        key: 'attempts',
        stream: ATTEMPTS.name,
        subject: ATTEMPTS_SUBJECT,
        bytesMax: ATTEMPTS.max_bytes,
        keepMs: DELIVERED_KEPT_MS,
      },
    ],
    stopping.signal,
  )
  const running = partitions.map((partition) => partition.run(stopping.signal))
  const sweeping = setInterval(() => connections.sweep(), SWEEP_EVERY_MS)

  return {
    async stop() {
      stopping.abort()
      await Promise.all([...running, ...planned, purging])
      clearInterval(sweeping)
      for (const bell of wakes) bell.stop()
      await lanes.close()
      await connections.close()
      webhooks.stop()
      health.stop()
      // The others find out by the missing heartbeat when the broker is gone already.
      await membership.leave().catch(() => undefined)
    },
  }
}

async function watchWebhooks(broker: Broker, lost: (cause: unknown) => void) {
  const bucket = await broker.bucket(WEBHOOKS)
  const byTenant = new ByTenant<StoredWebhook>()
  const mirror = await mirrorBucket<StoredWebhook>(bucket, lost, (id, webhook) => byTenant.follow(id, webhook))
  return {
    find: mirror.get,
    records: bucketRecords<StoredWebhook>(bucket, mirror.reached),
    /** Once the copy holds what was written before the call: an event's endpoints are those of when it happened, or later. */
    async current() {
      const { state } = (await bucket.status()).streamInfo
      await mirror.reached(state.last_seq)
      return (tenantId: string) => byTenant.of(tenantId)
    },
    stop: mirror.stop,
  }
}

async function readBehind(manager: JetStreamManager, stream: string, subject: string, sequence: number) {
  const found = []
  for (let from = sequence + 1; ; ) {
    const entries = await readLog(manager, { stream, subject, from, messagesMax: 1_000, bytesMax: 8 * 1024 * 1024 })
    const last = entries.at(-1)
    if (last === undefined) return found
    found.push(...entries)
    from = last.sequence + 1
  }
}

/** Rings when somebody says that a part has something new. */
class Bell {
  private readonly subscription: { unsubscribe(): void }
  private listeners = new Set<() => void>()

  constructor(partition: number, connection: Broker['connection']) {
    this.subscription = connection.subscribe(deliveriesWake(partition), {
      callback: () => {
        for (const listener of this.listeners) listener()
      },
    })
  }

  rung(ms: number, signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      if (signal.aborted) return resolve()
      const done = (): void => {
        clearTimeout(timer)
        this.listeners.delete(done)
        signal.removeEventListener('abort', done)
        resolve()
      }
      const timer = setTimeout(done, ms)
      this.listeners.add(done)
      signal.addEventListener('abort', done)
    })
  }

  stop(): void {
    this.subscription.unsubscribe()
  }
}
