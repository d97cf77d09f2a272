import type { ClickHouseClient } from '@clickhouse/client'
import { BACKLOG_EPISODES, CHECKPOINTS, IDEMPOTENCY } from '../../streams/buckets.js'
import { INVOCATIONS, isInvocations, laneOf, partitionsWithLane } from '../../streams/invocations.js'
import { observationsSubject } from '../../streams/observations.js'
import type { BudgetExchange } from '../auth/budget-exchange.js'
import type { Broker } from '../broker/connect.js'
import { setStreamLevels } from '../broker/log-metrics.js'
import type { Publisher } from '../broker/publisher.js'
import { bucketRecords } from '../broker/records.js'
import { followStreamCapacity, withinStreamCapacity } from '../broker/stream-capacity.js'
import type { Watermark } from '../broker/watermark.js'
import type { PublishEvent } from '../events/publish.js'
import type { HealthDeps } from '../http/health.js'
import type { Route } from '../http/route.js'
import { turnNow } from '../http/turn-clock.js'
import { identityKeysCache, type TenantIds } from '../ids/ids.js'
import type { KeyHash } from '../ids/key-hash.js'
import { untilAvailable } from '../process/main.js'
import { findQuarantined } from '../store/queries/quarantined.js'
import { hasAttribution } from '../store/queries/records/attributions.js'
import { mergedInto } from '../store/queries/records/merged.js'
import type { Logger } from '../telemetry/log.js'
import { gauge, whenRead } from '../telemetry/metrics.js'
import { isKnownEvent } from './admission/admission.js'
import { type BacklogEpisode, backlogNotices } from './admission/backlog-notices.js'
import { Lane, NO_LANE } from './admission/lane.js'
import { TenantShares } from './admission/tenant-shares.js'
import type { BulkDeps } from './bulk/bulk.js'
import type { BulkRecord } from './bulk/bulk-outcomes.js'
import { GroupCommit } from './commit/group-commit.js'
import { createLogWriter, type LogWriter, writerBehind } from './commit/log-writer.js'
import { PartitionLag } from './commit/partition-lag.js'
import type { InvocationStatusDeps } from './invocation-status-routes.js'
import { BodyFingerprint } from './keys/body-fingerprint.js'
import { keptRecords } from './keys/kept-records.js'
import { openIndex } from './keys/open-index.js'
import { OwnedEvents } from './keys/owned-events.js'
import { encodeObservation, encodeObservations } from './observations/codec.js'
import type { ObservationDeps, ObservationRecord } from './observations/routes.js'
import { type KeyClaims, openKeyClaims } from './open-key-claims.js'
import { type OrphanDelivery, startOrphanDelivery } from './orphan-delivery.js'
import type { EventClaims } from './peers/event-claims.js'
import { KeyOwners } from './peers/key-owners.js'
import { OwnerChanges } from './peers/owner-changes.js'
import { answerForEvents, isAdmittedElsewhere } from './peers/peer-events.js'
import { ingestRoutes } from './routes.js'
import { openSpools } from './spool/open-spools.js'
import type { Spool } from './spool/spool.js'
import { watchIngestBounds } from './watch-bounds.js'

const SPOOL_BYTES = gauge('spool_bytes', 'Bytes of events that wait on this disk while the log does not answer.')
const SPOOL_RECORDS = gauge('spool_records', 'Messages that wait on this disk while the log does not answer.')
const WAITING_EVENTS = gauge('log_waiting_events', 'Events of this gateway that the log has not acknowledged yet.')

export interface AdmissionSettings {
  readonly broker: Broker
  readonly isBrokerUp: () => boolean
  readonly publisher: Publisher
  readonly publishEvent: PublishEvent
  readonly store: ClickHouseClient
  readonly watermark: Watermark
  /** This gateway's name among the members; a new one per start. */
  readonly gatewayName: string
  readonly budgetExchange: Pick<BudgetExchange, 'follow'>
  readonly dataDir: string
  readonly spoolBytesMax: number
  readonly partitions: number
  /** Secret for key hashes and fingerprints; the same on all gateways. */
  readonly key: Uint8Array
  readonly idsOf: (tenantId: string) => TenantIds
  readonly isDiscoveryOnly: (tenantId: string, ingestionLayer: string) => boolean
  readonly retainedFromMs: (tenantId: string, nowMs: number) => number
  readonly clock: () => number
  readonly log: Logger
  /** Called once when the watch on a KV bucket is lost. */
  readonly onLost: (cause: unknown) => void
  /** Aborted when the gateway stops. */
  readonly stopping: AbortSignal
}

export interface RunningAdmission {
  /** All routes of the ingest area. */
  readonly routes: readonly Route[]
  /** For the routes of other areas that ingest events. */
  readonly deps: BulkDeps
  /** Space for further events in the log and the spool. */
  readonly space: Pick<HealthDeps, 'room' | 'spool'>
  /** Resolves when the log, or the spool, holds every accepted event. */
  close(): Promise<void>
}

/**
 * Opens everything that admission needs: the spool, the index of admitted keys and events (loaded here from the log and
 * the read model), and the connection to the other gateways.
 *
 * @throws ConfigError when the spool cannot be opened
 */
export async function openAdmission(settings: AdmissionSettings): Promise<RunningAdmission> {
  const { broker, isBrokerUp, store, gatewayName, partitions, idsOf, clock, log, stopping } = settings
  const capacity = await untilAvailable(
    'the log',
    () => followStreamCapacity(broker.manager, INVOCATIONS.name, { log, signal: stopping }),
    log,
  )
  const publisher = { publish: withinStreamCapacity(settings.publisher.publish, capacity, isInvocations) }
  const { spool, orphans } = await openSpools(settings)
  const ownerChanges = new OwnerChanges(() => performance.now())
  const isBehindOrphans = (): boolean => !delivery.isDone
  const claims = (): EventClaims => keyClaims.peers.events
  const onCaughtUp = (waitedMs: number): void => keyClaims.announceLateEvents(waitedMs)
  const writer = openWriter({ ...settings, publisher, spool, isBehindOrphans, claims, onCaughtUp })
  const owners = { keys: new KeyOwners(gatewayName), events: new KeyOwners(gatewayName) }
  const { groups, lane } = openGroups(writer, owners.keys, settings)
  measureWaiting(spool, groups, broker)

  const { index, loader } = await openIndex(broker, store, owners, clock, log)
  const owned = new OwnedEvents({
    index: index.events,
    isSure: (key) => loader.isLoaded('events', key) && ownerChanges.areSettled && isBrokerUp(),
    partitionInFlight: (key) => groups.partitionInFlight(key),
    partitions,
    clock,
  })
  const claiming = { keys: index.keys, owners, owned, ownerChanges, loader, flushed: () => groups.flushed() }
  const keyClaims = await openKeyClaims({ ...settings, ...claiming })
  await loader.load()
  const delivery = await startOrphanDelivery(orphans, { ...settings, publisher, index, peers: keyClaims.peers })

  const admission = {
    ...index,
    isLoaded: (key: KeyHash) => loader.isLoaded('keys', key),
    isEventLoaded: (key: KeyHash) => loader.isLoaded('events', key),
    inFlight: keyClaims.inFlight,
    peers: keyClaims.peers,
    eventClaims: keyClaims.peers.events,
    fingerprints: new BodyFingerprint(settings.key.subarray(0, 16)),
    confirmation: loader.confirmation,
    recheck: loader.recheck,
    groups,
    lane,
    tenantShares: await openShares(() => capacity.fill, spool, settings),
    partitions,
    idsOf,
    keyHashingOf: identityKeysCache(settings.key),
    isDiscoveryOnly: settings.isDiscoveryOnly,
    retainedFromMs: settings.retainedFromMs,
    clock: turnNow,
    log,
  }
  const status = openAdmittedStatus(admission, delivery, settings)
  const records = await broker.bucket(IDEMPOTENCY)
  const bulkRecords = keptRecords<BulkRecord>(records, 'bulk', { isBrokerUp, clock, log })
  const observationRecords = keptRecords<ObservationRecord>(records, 'observation', { isBrokerUp, clock, log })
  const deps = { ...admission, ...bulkRecords.records }
  return {
    routes: ingestRoutes({
      invocations: deps,
      observations: { ...admission, ...observationRecords.records, writer, messageOf: observationMessage },
      invocationStatus: {
        ...storedStatus(settings),
        isAdmitted: status.isAdmitted,
        isAdmittedElsewhere: status.isAdmittedElsewhere,
      },
    }),
    deps,
    space: {
      room: { has: (bytes) => delivery.isDone && capacity.has(bytes) },
      spool: {
        get isEmpty() {
          return spool.isEmpty
        },
        hasRoomFor: (bytes) => delivery.isDone && spool.hasRoomFor(bytes),
      },
    },
    async close() {
      await groups.idle()
      await keyClaims.close()
      status.close()
      await Promise.all([bulkRecords.close(), observationRecords.close()])
      await delivery.ended
      await writer.close()
    },
  }
}

/**
 * Whether an event was admitted, here or at another gateway, and the answers to the others' questions: undefined for an
 * unknown event while those that a dead gateway admitted are not in the log yet.
 */
function openAdmittedStatus(
  admission: Parameters<typeof isKnownEvent>[1] & { readonly peers: KeyClaims['peers'] },
  delivery: Pick<OrphanDelivery, 'isDone'>,
  { broker, gatewayName, clock, log }: AdmissionSettings,
) {
  const isAdmitted = (id: Uint8Array): boolean => isKnownEvent(id, admission, clock())
  const unlessOrphaned = (isAdmitted: boolean | undefined): boolean | undefined =>
    isAdmitted === false && !delivery.isDone ? undefined : isAdmitted
  const answering = answerForEvents(broker.connection, gatewayName, (id) => unlessOrphaned(isAdmitted(id)), log)
  return {
    isAdmitted,
    isAdmittedElsewhere: async (id: Uint8Array): Promise<boolean | undefined> =>
      unlessOrphaned(await isAdmittedElsewhere(broker.connection, admission.peers.others, id)),
    close: () => answering.unsubscribe(),
  }
}

/** The groups of events for the log, and the lane for those of tenants that send more than is worked off. */
function openGroups(
  writer: LogWriter,
  owners: Pick<KeyOwners, 'areInSlots'>,
  { partitions, watermark, log }: AdmissionSettings,
): { readonly groups: GroupCommit; readonly lane: Pick<Lane, 'partitionFor' | 'count'> } {
  const all = partitionsWithLane(partitions)
  const doneOf = (partition: number): number => watermark.doneOf(`a.${partition}`)
  const lag = new PartitionLag(all, doneOf)
  const groups = new GroupCommit(writer, all, (partition, sequence) => lag.stored(partition, sequence, turnNow()))
  const lane = laneOf(partitions)
  if (lane === undefined) return { groups, lane: NO_LANE }
  const lagMs = (partition: number): number => lag.ageMs(partition, turnNow())
  const progress = (): number => {
    let sum = 0
    for (let partition = 0; partition < all; partition++) sum += doneOf(partition)
    return sum
  }
  return {
    groups,
    lane: new Lane({ lane, lagMs, progress, isKnownToAll: () => owners.areInSlots, clock: turnNow, log }),
  }
}

interface WriterSettings extends Pick<AdmissionSettings, 'publisher' | 'isBrokerUp' | 'partitions' | 'log'> {
  readonly spool: Spool
  readonly isBehindOrphans: () => boolean
  readonly claims: () => EventClaims
  readonly onCaughtUp: (waitedMs: number) => void
}

/** With one partition, no event can be in another one. */
function openWriter({ isBehindOrphans, partitions, claims, ...deps }: WriterSettings): LogWriter {
  const isAlone = (): boolean => partitions === 1 || (claims().isAlone && claims().areOwnersSettled)
  const writer = createLogWriter({ ...deps, isAlone })
  return writerBehind(isBehindOrphans, writer)
}

function measureWaiting(spool: Spool, groups: GroupCommit, broker: Broker): void {
  whenRead(() => {
    SPOOL_BYTES.set(spool.bytes)
    SPOOL_RECORDS.set(spool.count)
    WAITING_EVENTS.set(groups.waiting)
  })
  // By itself: while the broker hangs, what it is asked for must not hold up the levels of the spool.
  whenRead(() => setStreamLevels(broker.manager))
}

/** Counts what tenants send, and follows how full the log and the spool are: those that cause it are notified. */
async function openShares(fill: () => number, spool: Spool, settings: AdmissionSettings): Promise<TenantShares> {
  const { broker, stopping } = settings
  const episodes = bucketRecords<BacklogEpisode>(await broker.bucket(BACKLOG_EPISODES), async () => undefined)
  const notice = backlogNotices({ ...settings, episodes })
  const tenantShares = new TenantShares(fill, turnNow, (tenantId) => notice(tenantId, 'refused'))
  const checkpoints = await broker.bucket(CHECKPOINTS)
  const onBacklog = (tenantId: string): void => notice(tenantId, 'warning')
  watchIngestBounds({ ...settings, checkpoints, spool, tenantShares, onBacklog }, stopping)
  return tenantShares
}

const observationMessage: ObservationDeps['messageOf'] = ({ event, ...admitted }) => ({
  subject: observationsSubject(admitted.tenantId),
  payload: encodeObservations([encodeObservation(admitted, event)]),
})

/** The part of an event's status that the read model knows. */
function storedStatus({
  idsOf,
  store,
  watermark,
  stopping,
}: AdmissionSettings): Pick<InvocationStatusDeps, 'idsOf' | 'recordOf' | 'findQuarantined'> {
  return {
    idsOf,
    async recordOf(tenantId, idHex) {
      const atMs = await watermark.latest()
      const isOwn = await hasAttribution(store, tenantId, idHex, atMs, stopping)
      return isOwn ? idHex : mergedInto(store, tenantId, idHex, atMs, stopping)
    },
    findQuarantined: (tenantId, idHex) => findQuarantined(store, tenantId, idHex),
  }
}
