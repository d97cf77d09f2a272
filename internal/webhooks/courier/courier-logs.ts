import type { JetStreamManager } from '@nats-io/jetstream'
import {
  DELIVERED_KEPT_MS,
  DELIVERIES,
  DELIVERY_PARTITIONS,
  deliveriesCheckpoint,
  deliveriesSubject,
} from '../../../streams/deliveries.js'
import { EVENTS } from '../../../streams/events.js'
import {
  ATTEMPTS,
  ATTEMPTS_CHECKPOINT,
  ATTEMPTS_SUBJECT,
  DEADLETTERS,
  dueCheckpoint,
  dueSubject,
  REPLAYS_CHECKPOINT,
  REPLAYS_SUBJECT,
  RETRIES,
} from '../../../streams/retries.js'
import type { Broker } from '../../broker/connect.js'
import { firstSequenceSince, lastSequenceOf, readLog, type StoredEntry } from '../../broker/log.js'
import { type PlannedLogDeps, runPlannedLog } from '../../broker/planned-log.js'
import type { GroupPublisher } from '../../broker/publisher.js'
import type { PurgedLog } from '../../broker/purge.js'
import type { TenantIds } from '../../ids/ids.js'
import type { AttemptRow } from '../../store/tables/webhook-attempts.js'
import { fanOut } from '../fan-out.js'
import { replayer } from '../replayer.js'
import type { watchWebhooks } from '../watch-webhooks.js'
import { attemptLog } from './attempt-log.js'

export interface CourierLogsDeps extends PlannedLogDeps, GroupPublisher {
  readonly broker: Broker
  readonly idsOf: (tenantId: string) => TenantIds
  /** Inserts rows into the delivery log; a repeat with the same token changes nothing. */
  readonly insertAttempts: (rows: readonly AttemptRow[], token: string) => Promise<void>
  readonly webhooks: Awaited<ReturnType<typeof watchWebhooks>>
}

/** Runs the logs that one courier at a time reads: events to fan out, replay orders, and attempts to store. */
export async function runCourierLogs(deps: CourierLogsDeps, signal: AbortSignal): Promise<readonly Promise<void>[]> {
  const attempts = await attemptLogOf(deps)
  return [
    runPlannedLog(fanOutOf(deps), deps, signal),
    runPlannedLog(replayerOf(deps), deps, signal),
    runPlannedLog(attempts, deps, signal),
  ]
}

const fanOutOf = ({ broker: { connection, manager }, webhooks, publish, idsOf, log }: CourierLogsDeps) =>
  fanOut({
    current: webhooks.current,
    publish,
    lastDelivery: () => lastSequenceOf(manager, DELIVERIES.name),
    deliveriesAfter: (sequence) => readBehind(manager, DELIVERIES.name, 'deliveries.*', sequence),
    wake: (subject) => connection.publish(subject),
    idsOf,
    log,
  })

const replayerOf = ({ broker: { manager }, webhooks, ...deps }: CourierLogsDeps) =>
  replayer({
    ...deps,
    findWebhook: webhooks.records.read,
    firstEventSince: (atMs) => firstSequenceSince(manager, EVENTS.name, atMs),
    deleteDeadLetter: async (sequence) => {
      await manager.streams.deleteMessage(DEADLETTERS.name, sequence, false).catch(() => false)
    },
  })

async function attemptLogOf({ broker: { manager }, insertAttempts, log }: CourierLogsDeps) {
  const { created } = await manager.streams.info(ATTEMPTS.name)
  const logId = Math.floor(Date.parse(created) / 1_000)
  // Sequences identify a batch only within one incarnation of the stream.
  return attemptLog((rows, token) => insertAttempts(rows, `${logId}.${token}`), logId, log)
}

/** All messages of a subject after a sequence. */
async function readBehind(manager: JetStreamManager, stream: string, subject: string, sequence: number) {
  const found: StoredEntry[] = []
  for (let from = sequence + 1; ; ) {
    const entries = await readLog(manager, { stream, subject, from, messagesMax: 1_000, bytesMax: 8 * 1024 * 1024 })
    const last = entries.at(-1)
    if (last === undefined) return found
    found.push(...entries)
    from = last.sequence + 1
  }
}

/** RETRIES has no limit of bytes, so that it never counts as crowded. */
const UNLIMITED = Number.MAX_SAFE_INTEGER

const partitions = [...Array(DELIVERY_PARTITIONS).keys()]

/** The logs that couriers purge, each up to its checkpoint. */
export const COURIER_LOGS: readonly PurgedLog[] = [
  ...partitions.map((partition) => ({
    key: deliveriesCheckpoint(partition),
    stream: DELIVERIES.name,
    subject: deliveriesSubject(partition),
    bytesMax: DELIVERIES.max_bytes,
    keepMs: DELIVERED_KEPT_MS,
  })),
  ...partitions.map((partition) => ({
    key: dueCheckpoint(partition),
    stream: RETRIES.name,
    subject: dueSubject(partition),
    bytesMax: UNLIMITED,
    keepMs: 0,
  })),
  { key: REPLAYS_CHECKPOINT, stream: RETRIES.name, subject: REPLAYS_SUBJECT, bytesMax: UNLIMITED, keepMs: 0 },
  {
    key: ATTEMPTS_CHECKPOINT,
    stream: ATTEMPTS.name,
    subject: ATTEMPTS_SUBJECT,
    bytesMax: ATTEMPTS.max_bytes,
    keepMs: DELIVERED_KEPT_MS,
  },
]
