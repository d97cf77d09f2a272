import type { ClickHouseClient } from '@clickhouse/client'
import { BACKLOG_EPISODES, CHECKPOINTS, IDEMPOTENCY } from '../../streams/buckets.js'
import { INVOCATIONS, isInvocations } from '../../streams/invocations.js'
import { observationsSubject } from '../../streams/observations.js'
import type { Broker } from '../broker/connect.js'
import { setStreamLevels } from '../broker/log-metrics.js'
import { bucketRecords } from '../broker/records.js'
import { followStreamCapacity, withinStreamCapacity } from '../broker/stream-capacity.js'
import type { Watermark } from '../broker/watermark.js'
import type { PublishEvent } from '../events/publish-event.js'
import type { HealthDeps } from '../http/health.js'
import type { Route } from '../http/route.js'
import { turnNow } from '../http/turn-clock.js'
import { identityKeysCache, type TenantIds } from '../ids/ids.js'
import { untilAvailable } from '../process/main.js'
import { findAdmissionKeys, hasAdmissionKeys } from '../store/queries/attribution/admission-keys.js'
import { findQuarantined } from '../store/queries/quarantined.js'
import { hasAttribution } from '../store/queries/records/attributions.js'
import { mergedInto } from '../store/queries/records/merged.js'
import { recordedIds } from '../store/queries/records/sources.js'
import { whenRead } from '../telemetry/metrics.js'
import { type BacklogEpisode, backlogNotices } from './admission/backlog-notices.js'
import { TenantShares } from './admission/tenant-shares.js'
import type { BulkDeps } from './bulk/bulk.js'
import type { BulkRecord } from './bulk/bulk-outcomes.js'
import { unprocessedSearch } from './find-unprocessed.js'
import { admissionRoutes } from './invocation-routes.js'
import { type InvocationStatusDeps, invocationStatusRoutes } from './invocation-status-routes.js'
import { BodyFingerprint } from './keys/body-fingerprint.js'
import { keptRecords } from './keys/kept-records.js'
import { encodeObservation, encodeObservations } from './observations/observation-codec.js'
import { type ObservationDeps, type ObservationRecord, observationRoutes } from './observations/observation-routes.js'
import { type DecisionsSettings, openDecisions } from './open-decisions.js'
import type { ReceivedCounts } from './received/received-counts.js'
import { openSpools } from './spool/open-spools.js'
import type { Spool } from './spool/spool.js'
import { watchIngestBounds } from './watch-bounds.js'

/** An event that this gateway stored so lately, and that has no record, waits: its record cannot be deleted already. */
const CERTAINLY_QUEUED_MS = 60_000

export interface AdmissionSettings extends DecisionsSettings {
  readonly broker: Broker
  readonly publishEvent: PublishEvent
  readonly store: ClickHouseClient
  readonly watermark: Watermark
  readonly dataDir: string
  readonly spoolBytesMax: number
  /** Secret for key hashes and fingerprints; the same on all gateways. */
  readonly key: Uint8Array
  readonly idsOf: (tenantId: string) => TenantIds
  readonly isDiscoveryOnly: (tenantId: string, ingestionLayer: string) => boolean
  readonly retainedFromMs: (tenantId: string, nowMs: number) => number
  readonly received: Pick<ReceivedCounts, 'onReceived'>
}

export interface RunningAdmission {
  /** All routes of the ingest area. */
  readonly routes: readonly Route[]
  /** For the routes of other areas that ingest events. */
  readonly deps: BulkDeps
  /** Space for further events in the log and the spool. */
  readonly space: Pick<HealthDeps, 'logCapacity' | 'spool'>
  /** Resolves when the log, or the spool, holds every accepted event. */
  close(): Promise<void>
}

/**
 * Opens everything that admission needs: the spool, the keys that the gateways admitted, and the way to the log.
 *
 * @throws ConfigError when the spool cannot be opened
 */
export async function openAdmission(settings: AdmissionSettings): Promise<RunningAdmission> {
  const { broker, isBrokerUp, store, idsOf, clock, log, stopping } = settings
  const capacity = await untilAvailable(
    'the log',
    () => followStreamCapacity(broker.manager, INVOCATIONS.name, { log, signal: stopping }),
    log,
  )
  const publisher = { publish: withinStreamCapacity(settings.publisher.publish, capacity, isInvocations) }
  const spools = await openSpools(settings)
  const { spool } = spools
  // By itself: while the broker hangs, what it is asked for must not hold up the levels of the spool.
  whenRead(() => setStreamLevels(broker.manager))
  const decisions = await openDecisions({ ...settings, publisher }, spools, {
    findKeys: (hashes, sinceMs) => findAdmissionKeys(store, hashes, sinceMs),
    hasKeysBetween: (fromMs, toMs) => hasAdmissionKeys(store, fromMs, toMs),
  })
  const { writer } = decisions

  const admission = {
    ...decisions.deps,
    fingerprints: new BodyFingerprint(settings.key.subarray(0, 16)),
    tenantShares: await openShares(() => capacity.fill, spool, settings),
    idsOf,
    keyHashingOf: identityKeysCache(settings.key),
    isDiscoveryOnly: settings.isDiscoveryOnly,
    retainedFromMs: settings.retainedFromMs,
    received: settings.received.onReceived,
    clock: turnNow,
    log,
  }
  const { watermark, partitions } = settings
  const isUnprocessed = unprocessedSearch({ manager: broker.manager, doneOf: watermark.doneOf, partitions })
  const records = await broker.bucket(IDEMPOTENCY)
  const bulkRecords = keptRecords<BulkRecord>(records, 'bulk', { isBrokerUp, clock, log })
  const observationRecords = keptRecords<ObservationRecord>(records, 'observation', { isBrokerUp, clock, log })
  const deps = { ...admission, ...bulkRecords.records }
  return {
    routes: [
      ...admissionRoutes(deps),
      ...observationRoutes({ ...admission, ...observationRecords.records, writer, messageOf: observationMessage }),
      ...invocationStatusRoutes({
        ...storedStatus(settings),
        async isAdmitted(id) {
          if (admission.recentEvents.has(id, turnNow(), CERTAINLY_QUEUED_MS)) return true
          // Before: what leaves a spool meanwhile is found in the log.
          const mayBeSpooled = decisions.mayBeSpooled()
          const found = await isUnprocessed(id)
          return found === false && mayBeSpooled ? undefined : found
        },
      }),
    ],
    deps,
    space: {
      logCapacity: capacity,
      spool,
    },
    async close() {
      await decisions.deps.groups.idle()
      await Promise.all([bulkRecords.close(), observationRecords.close()])
      await decisions.close()
    },
  }
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
}: AdmissionSettings): Pick<InvocationStatusDeps, 'idsOf' | 'recordOf' | 'isRecorded' | 'findQuarantined'> {
  return {
    idsOf,
    async recordOf(tenantId, idHex, as) {
      const atMs = await watermark[as]()
      const isOwn = await hasAttribution(store, tenantId, idHex, atMs, stopping)
      return isOwn ? idHex : mergedInto(store, tenantId, idHex, atMs, stopping)
    },
    isRecorded: async (id) => (await recordedIds(store, [id])).size > 0,
    findQuarantined: (tenantId, idHex) => findQuarantined(store, tenantId, idHex),
  }
}
