import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { ClickHouseClient } from '@clickhouse/client'
import { CHECKPOINTS, IDEMPOTENCY, MEMBERS } from '../../streams/buckets.js'
import { INVOCATIONS, isInvocations } from '../../streams/invocations.js'
import { observationsSubject } from '../../streams/observations.js'
import type { BudgetExchange } from '../auth/budget-exchange.js'
import type { Broker } from '../broker/connect.js'
import { joinMembers } from '../broker/members.js'
import type { Publisher } from '../broker/publisher.js'
import { followStreamCapacity, withinStreamCapacity } from '../broker/stream-capacity.js'
import type { Watermark } from '../broker/watermark.js'
import { ConfigError } from '../config/settings.js'
import type { HealthDeps } from '../http/health.js'
import type { Route } from '../http/route.js'
import { turnNow } from '../http/turn-clock.js'
import { identityKeysCache, type TenantIds } from '../ids/ids.js'
import { untilAvailable } from '../process/main.js'
import { findAdmissionKeys } from '../store/queries/attribution/admission-keys.js'
import { findQuarantined } from '../store/queries/quarantined.js'
import { findAttribution } from '../store/queries/records/attributions.js'
import type { Logger } from '../telemetry/log.js'
import { isKnownEvent } from './admission/admission.js'
import { ELSEWHERE, type Told } from './admission/answers.js'
import type { BulkDeps } from './bulk/bulk.js'
import type { BulkRecord } from './bulk/bulk-outcomes.js'
import { createGroupCommit } from './commit/group-commit.js'
import { createLogWriter, deliverOrphans, writerBehind } from './commit/log-writer.js'
import { fateRoutes } from './invocation-status-routes.js'
import { AdmissionIndex } from './keys/admission-index.js'
import { BodyFingerprint } from './keys/body-fingerprint.js'
import { admissionHistory } from './keys/history.js'
import { InFlight } from './keys/in-flight.js'
import { keptRecords } from './keys/kept-records.js'
import { createKeyConfirmation } from './keys/key-confirmation.js'
import { createIndexLoader, EVENT_WINDOW_MS, KEY_WINDOW_MS } from './keys/load-index.js'
import { localKeys } from './keys/local-keys.js'
import { encodeObservation, encodeObservations } from './observations/codec.js'
import { type ObservationRecord, observationRoutes } from './observations/routes.js'
import { answerForEvents, isAdmittedElsewhere } from './peers/events-of-peers.js'
import { joinPeers } from './peers/peers.js'
import { admissionRoutes } from './routes.js'
import { adoptOrphans } from './spool/orphans.js'
import { openSpool, type Spool } from './spool/spool.js'

export interface AdmissionSettings {
  readonly broker: Broker
  readonly isBrokerUp: () => boolean
  readonly publisher: Publisher
  readonly store: ClickHouseClient
  readonly watermark: Watermark
  /** This gateway among the others; a new name at each start. */
  readonly gatewayName: string
  readonly budgetExchange: Pick<BudgetExchange, 'follow'>
  readonly dataDir: string
  readonly spoolBytesMax: number
  readonly partitions: number
  /** The secret of key hashes and fingerprints; equal on all gateways. */
  readonly key: Uint8Array
  readonly idsOf: (tenantId: string) => TenantIds
  readonly isDiscoveryOnly: (tenantId: string, ingestionLayer: string) => boolean
  readonly clock: () => number
  readonly log: Logger
  /** Called once when a watched copy no longer follows its bucket. */
  readonly lost: (cause: unknown) => void
  /** Aborted when the gateway stops. */
  readonly stopping: AbortSignal
}

export interface RunningAdmission {
  /** Of events, observations and their fate. */
  readonly routes: readonly Route[]
  /** For routes of others that take events. */
  readonly deps: BulkDeps
  /** For the events to come. */
  readonly space: Pick<HealthDeps, 'room' | 'spool'>
  /** Resolves when the log, or the spool, has everything that was taken. */
  close(): Promise<void>
}

const HOUR_MS = 60 * 60 * 1000
/** Keys known exactly: at most 64 bytes each. Older ones are known through filters. */
const KEYS_EXACT_MAX = 8_000_000
const EVENTS_EXACT_MAX = 8_000_000
const SEGMENT_BYTES = 32 * 1024 * 1024
/**
 * A request whose key has been under way for so long is answered with a 503, so that no sender waits for more than 3 s,
 * whatever is away: before that its key may have had to be looked for in the log and the read model, for 1 s.
 */
const OVERDUE_MS = 2_000
const OVERDUE_EVERY_MS = 100
/** What dead gateways had spooled is in the log by then, if it has room. */
const ORPHANS_WAIT_MS = 2_000

/**
 * Everything that admission keeps: the spool, the index of what was admitted, which is read from the log and the read
 * model here, and the other gateways.
 *
 * @throws ConfigError when the spool cannot be opened
 */
export async function openAdmission(settings: AdmissionSettings): Promise<RunningAdmission> {
  const { broker, isBrokerUp, store, watermark, gatewayName, partitions, idsOf, clock, log } = settings
  const room = await untilAvailable(
    'the log',
    () => followStreamCapacity(broker.manager, INVOCATIONS.name, { log, signal: settings.stopping }),
    log,
  )
  const publisher = { publish: withinStreamCapacity(settings.publisher.publish, room, isInvocations) }
  const { spool, orphans } = await openOwnSpool(settings)
  // Keys are read from the log, once it has these. A log that is full may not take them for long: then all else is served.
  const delivered = deliverOrphans(orphans, publisher, isBrokerUp, log, settings.stopping).then(() => true)
  let areOrphansIn = await Promise.race([delivered, sleep(ORPHANS_WAIT_MS, false, { ref: false })])
  const writer = writerBehind(() => !areOrphansIn, createLogWriter(publisher, spool, isBrokerUp, log))
  const groups = createGroupCommit(writer, partitions)

  const index = {
    keys: new AdmissionIndex({
      windowMs: KEY_WINDOW_MS,
      periodMs: 4 * HOUR_MS,
      exactKeysMax: KEYS_EXACT_MAX,
      hasFingerprint: true,
      filterBitsPerKey: 16,
    }),
    events: new AdmissionIndex({
      windowMs: EVENT_WINDOW_MS,
      periodMs: 24 * HOUR_MS,
      exactKeysMax: EVENTS_EXACT_MAX,
      hasFingerprint: false,
      filterBitsPerKey: 16,
    }),
  }
  const checkpoints = await broker.bucket(CHECKPOINTS)
  const history = admissionHistory(broker.manager, checkpoints, store)
  const findKeys = createKeyConfirmation(
    (hashes) => findAdmissionKeys(store, hashes, clock() - KEY_WINDOW_MS),
    clock,
    log,
  )
  const loader = createIndexLoader(index, history, findKeys, { clock, log })
  // Read ten times a second, not once a request.
  let coarseMs = performance.now()
  const inFlight = new InFlight<Told>({ keysMax: 65_536, waitingMax: 2_000, clock: () => coarseMs })
  const overdue = setInterval(() => {
    coarseMs = performance.now()
    inFlight.tellOverdue(OVERDUE_MS)
  }, OVERDUE_EVERY_MS)
  const peers = await joinPeers({
    connection: broker.connection,
    self: gatewayName,
    join: async () => {
      const members = await joinMembers(await broker.bucket(MEMBERS), 'gateway', gatewayName, settings.lost)
      settings.budgetExchange.follow(members)
      return members
    },
    local: localKeys<Told>({
      index: index.keys,
      inFlight,
      isLoaded: loader.isLoaded,
      confirm: loader.confirm,
      elsewhere: ELSEWHERE,
      clock,
    }),
    clock: () => performance.now(),
    log,
  })
  // The keys of a gateway that has gone are whose they fall to now, who does not know them yet.
  peers.onDeparture(() => void loader.load())
  await loader.load()
  if (!areOrphansIn) {
    log.warn('no events are taken before those that dead gateways had spooled are in the log')
    void delivered.then(async () => {
      // It has ended without them then.
      if (settings.stopping.aborted) return
      await loader.load()
      areOrphansIn = true
    })
  }
  const records = await broker.bucket(IDEMPOTENCY)

  const admission = {
    ...index,
    isLoaded: loader.isLoaded,
    inFlight,
    peers,
    fingerprints: new BodyFingerprint(settings.key.subarray(0, 16)),
    confirmation: loader.confirmation,
    recheck: loader.recheck,
    groups,
    partitions,
    idsOf,
    keyHashingOf: identityKeysCache(settings.key),
    isDiscoveryOnly: settings.isDiscoveryOnly,
    clock: turnNow,
  }
  const isAdmitted = (id: Uint8Array): boolean => isKnownEvent(id, admission, clock())
  /** What a dead gateway had admitted is nowhere else before it is in the log. */
  const unlessOrphaned = (isAdmitted: boolean | undefined): boolean | undefined =>
    isAdmitted === false && !areOrphansIn ? undefined : isAdmitted
  const tell = (id: Uint8Array): boolean | undefined => unlessOrphaned(isAdmitted(id))
  const answeringForEvents = answerForEvents(broker.connection, gatewayName, tell, log)
  const keeping = { isBrokerUp, clock, log }
  const ofBulk = keptRecords<BulkRecord>(records, 'bulk', keeping)
  const ofObservations = keptRecords<ObservationRecord>(records, 'observation', keeping)
  const deps = { ...admission, ...ofBulk.records }
  const routes = [
    ...admissionRoutes(deps),
    ...observationRoutes({
      ...admission,
      ...ofObservations.records,
      writer,
      messageOf: ({ event, ...admitted }) => ({
        subject: observationsSubject(admitted.tenantId),
        payload: encodeObservations([encodeObservation(admitted, event)]),
      }),
    }),
    ...fateRoutes({
      idsOf,
      isAttributed: async (tenantId, idHex) =>
        (await findAttribution(store, tenantId, idHex, await watermark.latest(), settings.stopping)) !== undefined,
      findQuarantined: (tenantId, idHex) => findQuarantined(store, tenantId, idHex),
      isAdmitted,
      isAdmittedElsewhere: async (id) => unlessOrphaned(await isAdmittedElsewhere(broker.connection, peers.others, id)),
    }),
  ]
  return {
    routes,
    deps,
    space: {
      room: { has: (bytes) => areOrphansIn && room.has(bytes) },
      spool: {
        get isEmpty() {
          return spool.isEmpty
        },
        hasRoomFor: (bytes) => areOrphansIn && spool.hasRoomFor(bytes),
      },
    },
    async close() {
      await groups.idle()
      clearInterval(overdue)
      await peers.close()
      answeringForEvents.unsubscribe()
      await Promise.all([ofBulk.close(), ofObservations.close()])
      await delivered
      await writer.close()
    },
  }
}

/** This gateway's own spool, and those of dead ones. */
async function openOwnSpool(
  settings: AdmissionSettings,
): Promise<{ readonly spool: Spool; readonly orphans: readonly Spool[] }> {
  const { dataDir, spoolBytesMax, log, gatewayName } = settings
  const spoolsDir = join(dataDir, 'spool')
  const spoolSettings = {
    bytesMax: spoolBytesMax,
    segmentBytes: SEGMENT_BYTES,
    onIncident: (incident: object) => log.error({ incident }, 'the spool met damage'),
  }
  const orphans = await adoptOrphans(spoolsDir, spoolSettings)
  for (const { folder, error } of orphans.failures) log.error({ err: error, folder }, 'a spool could not be adopted')
  const opened = await openSpool({ ...spoolSettings, folder: join(spoolsDir, gatewayName) })
  if (opened.kind !== 'opened') {
    throw new ConfigError(
      `the spool in ${spoolsDir} cannot be opened: ${opened.kind === 'failed' ? opened.error.message : 'taken'}`,
    )
  }
  return { spool: opened.spool, orphans: orphans.spools }
}
