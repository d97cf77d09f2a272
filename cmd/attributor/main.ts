/**
 * The attributor: the stage A, B and C actors of the partitions that this process owns, and the reader of observations
 * and the writer of the audit logs where those are this process.
 */
import { randomBytes } from 'node:crypto'
import { setMaxListeners } from 'node:events'
import { loadSeenEvents } from '../../internal/attribution/actor/load-seen.js'
import { partitionActor } from '../../internal/attribution/actor/partition-actor.js'
import { readPartitions } from '../../internal/attribution/actor/read-partitions.js'
import type { Stage } from '../../internal/attribution/actor/stage.js'
import { changesActor } from '../../internal/attribution/changes/actor.js'
import { openReattribution } from '../../internal/attribution/changes/open-reattribution.js'
import { correctionPublisher } from '../../internal/attribution/changes/publish.js'
import { WatchedDirectory } from '../../internal/attribution/directory/directory.js'
import { workloadHashes } from '../../internal/attribution/directory/workloads.js'
import type { AllocationDeps } from '../../internal/attribution/pools/allocate.js'
import type { StoredPool } from '../../internal/attribution/pools/pool.js'
import { trailingWeights } from '../../internal/attribution/pools/trailing-weights.js'
import { WatchedPools } from '../../internal/attribution/pools/watched-pools.js'
import { announcer } from '../../internal/attribution/records/announce.js'
import { loadTraces } from '../../internal/attribution/stages/a/load-traces.js'
import { stageA } from '../../internal/attribution/stages/a/stage.js'
import { openInference } from '../../internal/attribution/stages/b/open.js'
import { stageC } from '../../internal/attribution/stages/c/stage.js'
import { followPriceBooks } from '../../internal/attribution/valuation/books/follow.js'
import { consumptionRules } from '../../internal/attribution/valuation/consumption.js'
import { loadPriceBook } from '../../internal/attribution/valuation/cost/price-book.js'
import type { StoredModelName } from '../../internal/attribution/valuation/names/name.js'
import type { StoredOverride } from '../../internal/attribution/valuation/prices/override.js'
import { WatchedPrices } from '../../internal/attribution/valuation/prices/watched-prices.js'
import { auditActor } from '../../internal/audit/actor.js'
import { signedHeads } from '../../internal/audit/heads.js'
import { auditOnce } from '../../internal/audit/sink.js'
import { settingsOf, type Tenant } from '../../internal/auth/tenant.js'
import { connectBroker, ensureStreams } from '../../internal/broker/connect.js'
import { readFence } from '../../internal/broker/fence.js'
import { type LogRange, readLog } from '../../internal/broker/log.js'
import { joinMembers } from '../../internal/broker/members.js'
import { mirrorBucket } from '../../internal/broker/mirror.js'
import { followMirrorLag } from '../../internal/broker/mirror-lag.js'
import { partitionsHeld } from '../../internal/broker/partitions.js'
import { runPlannedLog } from '../../internal/broker/planned-log.js'
import { createPublisher } from '../../internal/broker/publisher.js'
import { type PurgedLog, purgeDone } from '../../internal/broker/purge.js'
import { admittableBytes, followStreamCapacity, withinStreamCapacity } from '../../internal/broker/stream-capacity.js'
import { watchRecords } from '../../internal/broker/watched-records.js'
import { followWatermark } from '../../internal/broker/watermark.js'
import { BROKER_SETTINGS, MASTER_KEY_SETTINGS, readConfig, STORE_SETTINGS } from '../../internal/config/settings.js'
import { eventPublisher } from '../../internal/events/publish.js'
import { identityKeysCache, tenantIdsCache } from '../../internal/ids/ids.js'
import { observationsActor } from '../../internal/ingest/observations/actor.js'
import { runMain, stopSignal, untilAvailable } from '../../internal/process/main.js'
import { readMasterKeys } from '../../internal/secrets/master-keys.js'
import { signingKey } from '../../internal/secrets/signing-keys.js'
import { connectStore } from '../../internal/store/client.js'
import { compactNowAndThen } from '../../internal/store/compaction.js'
import { fillCopies } from '../../internal/store/migrations/fill-copies.js'
import { createDatabase, MIGRATIONS, migrate } from '../../internal/store/migrations/migrate.js'
import { lastWeightsInstant, resolvedCosts } from '../../internal/store/queries/attribution/allocation-weights.js'
import { tracedRecordsSince } from '../../internal/store/queries/attribution/traced-records.js'
import { lastAuditRecords } from '../../internal/store/queries/audit-log.js'
import { recordedIds, recordSourcesOf, recordSourcesSince } from '../../internal/store/queries/records/sources.js'
import { versionsBefore } from '../../internal/store/queries/records/versions.js'
import { insertVersions } from '../../internal/store/queries/records/versions-sink.js'
import { observationSources } from '../../internal/store/queries/reports/observations.js'
import { insertRows, type RowBinaryTable } from '../../internal/store/sink.js'
import { ADMISSION_KEYS } from '../../internal/store/tables/admission-keys.js'
import { ALLOCATION_WEIGHTS } from '../../internal/store/tables/allocation-weights.js'
import { ATTRIBUTIONS, type AttributionRow } from '../../internal/store/tables/attributions.js'
import { AUDIT_LOG } from '../../internal/store/tables/audit-log.js'
import { CLOSED } from '../../internal/store/tables/closed.js'
import { OBSERVATIONS_TABLE } from '../../internal/store/tables/observations.js'
import { QUARANTINED } from '../../internal/store/tables/quarantined.js'
import { createLog } from '../../internal/telemetry/log.js'
import type { StoredWebhook } from '../../internal/webhooks/endpoint.js'
import { AUDIT } from '../../streams/audit.js'
import {
  AUDIT_DAYS,
  AUDIT_HEADS,
  type Bucket,
  CHECKPOINTS,
  DIRECTORY,
  MEMBERS,
  MODEL_NAMES,
  POOLS,
  PRICE_BOOK_FILES,
  PRICE_BOOKS,
  PRICE_OVERRIDES,
  SIGNING_KEYS,
  TENANTS,
  WEBHOOKS,
} from '../../streams/buckets.js'
import { CHANGES } from '../../streams/changes.js'
import { INVOCATIONS, REPLAY_WINDOW_MS } from '../../streams/invocations.js'
import { OBSERVATIONS } from '../../streams/observations.js'
import { stageOf } from '../../streams/records.js'

runMain('attributor', async () => {
  const config = readConfig(
    [
      'logLevel',
      'partitions',
      'indexStaleSeconds',
      'stages',
      'memberName',
      ...MASTER_KEY_SETTINGS,
      ...BROKER_SETTINGS,
      ...STORE_SETTINGS,
      'storeCluster',
    ],
    process.argv.slice(2),
    process.env,
  )
  const log = createLog('attributor', config.logLevel)
  const masterKeys = readMasterKeys(config)
  const member = config.memberName === '' ? randomBytes(8).toString('hex') : config.memberName

  const broker = await connectBroker({
    url: config.natsUrl,
    user: config.natsUser,
    password: config.natsPassword,
    name: `attributor-${member}`,
  })
  await untilAvailable('JetStream', () => ensureStreams(broker, { ...config, replicas: config.streamReplicas }), log)
  const account = { url: config.storeUrl, user: config.storeUser, password: config.storePassword }
  const store = connectStore({ ...account, database: config.storeDatabase })
  await untilAvailable(
    'the store',
    async () => {
      await createDatabase(account, config.storeDatabase)
      await migrate(store, MIGRATIONS, config.storeCluster)
    },
    log,
  )

  const stopping = new AbortController()
  const filling = fillCopies(store, stopping.signal).catch((cause: unknown) => {
    if (!stopping.signal.aborted) log.error({ err: cause }, 'sorted copies are not filled; the next start goes on')
  })
  // Every actor that pauses listens to it.
  setMaxListeners(0, stopping.signal)
  const lost = (cause: unknown): void => {
    if (stopping.signal.aborted) return
    log.fatal({ err: cause }, 'a copy of a bucket no longer follows it')
    process.exit(1)
  }
  /** A copy of a bucket, and whether it lags its source by more than a record may be silent about. */
  const followed = async <T>(from: Bucket, apply: (key: string, value: T | undefined) => void) => {
    const bucket = await broker.bucket(from)
    const copy = await mirrorBucket<T>(bucket, lost, apply)
    const currency = await followMirrorLag(bucket, copy, { clock: Date.now, log }, stopping.signal)
    return { isIndexStale: () => currency.lagMs() > config.indexStaleSeconds * 1000 }
  }
  const directory = new WatchedDirectory()
  const directoryCopy = await followed(DIRECTORY, (key, value) => directory.apply(key, value))
  const pools = new WatchedPools()
  const poolsCopy = await followed<StoredPool>(POOLS, (key, pool) => pools.apply(key, pool))
  const prices = new WatchedPrices((id, what) => log.error({ id, what }, 'a price of a tenant cannot be applied'))
  await mirrorBucket<StoredOverride>(await broker.bucket(PRICE_OVERRIDES), lost, (key, price) =>
    prices.apply(key, price),
  )
  await mirrorBucket<StoredModelName>(await broker.bucket(MODEL_NAMES), lost, (id, name) => prices.applyName(id, name))
  const books = await followPriceBooks(
    await broker.bucket(PRICE_BOOKS),
    await broker.objects(PRICE_BOOK_FILES),
    loadPriceBook(),
    lost,
    log,
  )
  const settingsChanged: ((tenantId: string) => void)[] = []
  const tenants = await mirrorBucket<Tenant>(await broker.bucket(TENANTS), lost, (tenantId) => {
    for (const tell of settingsChanged) tell(tenantId)
  })
  const checkpoints = await broker.bucket(CHECKPOINTS)
  const signingKeys = await broker.bucket(SIGNING_KEYS)
  const identityKeyOf = identityKeysCache(await signingKey(signingKeys, masterKeys, 'identities'))
  const auditHeads = signedHeads(
    await broker.bucket(AUDIT_HEADS),
    await broker.bucket(AUDIT_DAYS),
    await signingKey(signingKeys, masterKeys, 'audit'),
  )

  // Sequences name a batch only within one log: a broker that lost its data begins anew at 1.
  const createdAtS = async (stream: string): Promise<number> =>
    Math.floor(Date.parse((await broker.manager.streams.info(stream)).created) / 1000)
  const logId = await createdAtS(INVOCATIONS.name)
  const observationsLogId = await createdAtS(OBSERVATIONS.name)
  const insertInto =
    <Row>(table: RowBinaryTable<Row>, ofLog: number) =>
    (rows: readonly Row[], token: string) =>
      insertRows(store, table, rows, `${ofLog}.${token}`)

  const membership = await joinMembers(await broker.bucket(MEMBERS), 'attributor', member, lost, config.stages)
  const { publish } = createPublisher(broker.connection)
  const logDeps = {
    checkpoints,
    readLog: (range: LogRange) => readLog(broker.manager, range),
    isOwner: (key: string) => membership.owns(key, stageOf(key)),
    readFence: () => readFence(broker.manager),
    clock: Date.now,
    log,
  }
  const seenDeps = {
    ...logDeps,
    logId,
    recordSourcesSince: (partition: number, sinceMs: number) => recordSourcesSince(store, partition, sinceMs),
    recordSourcesOf: (ids: readonly Uint8Array[], sinceMs: number) => recordSourcesOf(store, ids, sinceMs),
  }
  const rowDeps = {
    logId,
    consumptionOf: consumptionRules(
      (eventTimeMs) => books.at(eventTimeMs),
      (tenantId) => prices.of(tenantId),
      (tenantId) => settingsOf(tenants.get(tenantId)).grid,
    ),
    identityKeyOf,
    residencyRegionOf: (tenantId: string) => settingsOf(tenants.get(tenantId)).residency_region,
  }
  const publishEvent = eventPublisher(publish, tenantIdsCache(await signingKey(signingKeys, masterKeys, 'ids')))
  const webhooks = await watchRecords<StoredWebhook>(await broker.bucket(WEBHOOKS), lost)
  const announce = announcer({
    isSubscribed: (tenantId) =>
      [...webhooks.of(tenantId)].some(
        ({ status, events }) => status === 'verified' && events.includes('attribution.materialized'),
      ),
    publishEvent,
  })
  const watermark = await followWatermark(checkpoints, lost, Date.now)
  const inference = await openInference(
    {
      broker,
      store,
      membership,
      member,
      isEnabled: (tenantId) => settingsOf(tenants.get(tenantId)).stage_b_enabled,
      tenantIds: () => [...tenants.entries()].map(([tenantId]) => tenantId),
      completeAsOf: watermark.latest,
      staleMs: config.indexStaleSeconds * 1000,
      publishEvent,
      clock: Date.now,
      onLost: lost,
      log,
    },
    stopping.signal,
  )
  settingsChanged.push(inference.board.settingsChanged)
  const allocation: AllocationDeps = {
    degradationOf: (tenantId) => inference.board.of(tenantId).state,
    policyOf: (tenantId) => pools.of(tenantId),
    weightsAsOf: trailingWeights({
      costsOf: (tenantId, window, limit) =>
        resolvedCosts(store, tenantId, window, limit, workloadHashes(directory, tenantId, identityKeyOf(tenantId))),
      keep: insertInto(ALLOCATION_WEIGHTS, logId),
      lastKept: (tenantId, byMs) => lastWeightsInstant(store, tenantId, byMs),
      failed(tenantId, asOfMs, cause) {
        // What is under way when the process ends is cut off, and worked out by whoever is asked next.
        if (stopping.signal.aborted) return
        log.error({ tenantId, asOf: new Date(asOfMs), err: cause }, 'the weights of cost pools could not be worked out')
      },
    }),
  }
  const facts = { directory, settingsOf: (tenantId: string) => settingsOf(tenants.get(tenantId)) }
  const stages: readonly Stage[] = [
    stageA({
      ...rowDeps,
      ...directoryCopy,
      ...facts,
      loadSeen: (partition) => loadSeenEvents(partition, seenDeps),
      loadTraces: (partition) =>
        loadTraces(partition, {
          ...logDeps,
          ...facts,
          ...allocation,
          tracedRecordsSince: (...asked) => tracedRecordsSince(store, ...asked),
        }),
    }),
    inference.stage(rowDeps),
    stageC({ ...rowDeps, ...poolsCopy, ...allocation }),
  ].filter(({ name }) => config.stages.includes(name))
  const changesRoom = await untilAvailable(
    'the log of changes',
    () => followStreamCapacity(broker.manager, CHANGES.name, { log, signal: stopping.signal }),
    log,
  )
  const actorDeps = {
    publish,
    insert: async (rows: readonly AttributionRow[], token: string, isRepeat: boolean) =>
      announce(await insertVersions(store, rows, `${logId}.${token}`, isRepeat)),
    recordKeys: insertInto(ADMISSION_KEYS, logId),
    recordQuarantined: insertInto(QUARANTINED, logId),
    hasRecord: async (invocations: readonly { readonly id: Uint8Array }[]) => {
      const recorded = await recordedIds(
        store,
        invocations.map(({ id }) => id),
      )
      return invocations.map(({ id }) => recorded.has(Buffer.from(id).toString('hex')))
    },
    correct: correctionPublisher(withinStreamCapacity(publish, changesRoom), logId),
    log,
  }
  const observations = observationsActor({
    publish,
    insert: insertInto(OBSERVATIONS_TABLE, observationsLogId),
    sourcesOf: (eventIds) => observationSources(store, eventIds),
    logId: observationsLogId,
    log,
  })
  const audit = auditActor({
    publish,
    insert: insertInto(AUDIT_LOG, await createdAtS(AUDIT.name)),
    lastOf: (tenantIds) => lastAuditRecords(store, tenantIds),
    heads: auditHeads,
    log,
  })

  const changesLogId = await createdAtS(CHANGES.name)
  const changes = changesActor({
    publish,
    publishEvent,
    versionsBefore: (tenantId, ids, beforeMs) => versionsBefore(store, tenantId, ids, beforeMs),
    slices: await openReattribution({
      broker,
      store,
      publish,
      directory,
      rowDeps,
      facts: { ...facts, ...directoryCopy },
      stageB: inference.stage,
      allocation: { ...allocation, ...poolsCopy },
    }),
    insert: insertInto(ATTRIBUTIONS, changesLogId),
    close: insertInto(CLOSED, changesLogId),
    announce,
    audit: auditOnce(publish),
    log,
  })

  const running = [
    runPlannedLog(observations, logDeps, stopping.signal),
    runPlannedLog(audit, logDeps, stopping.signal),
    // A correction comes behind a version that a clock ahead of this one may have dated.
    runPlannedLog(
      changes,
      { ...logDeps, clock: () => Math.max(Date.now(), watermark.newestPlanned() + 1) },
      stopping.signal,
    ),
  ]
  const purged: PurgedLog[] = [
    { ...observations, bytesMax: config.observationsBytesMax, keepMs: undefined },
    { ...audit, bytesMax: AUDIT.max_bytes, keepMs: REPLAY_WINDOW_MS },
    { ...changes, bytesMax: admittableBytes(CHANGES.max_bytes), keepMs: REPLAY_WINDOW_MS },
  ]
  const reading = readPartitions(
    { partitions: config.partitions, held: () => partitionsHeld(broker.manager), log },
    (partition) => {
      for (const stage of stages) {
        const mailbox = partitionActor(stage, partition, actorDeps)
        running.push(runPlannedLog(mailbox, logDeps, stopping.signal))
        purged.push({ ...mailbox, bytesMax: admittableBytes(config.invocationsBytesMax), keepMs: REPLAY_WINDOW_MS })
      }
    },
    stopping.signal,
  )
  const purging = purgeDone({ ...logDeps, manager: broker.manager }, purged, stopping.signal)
  const compacting = compactNowAndThen(
    { store, isOwner: () => membership.owns('compaction'), newestSnapshot: watermark.latest, log },
    stopping.signal,
  )
  log.info({ member, stages: config.stages, partitions: config.partitions }, 'attributing')

  await stopSignal()
  stopping.abort()
  await reading
  await Promise.all([...running, purging, compacting, inference.stopped, filling])
  // The others find out by the missing heartbeat when the broker is gone already.
  await membership.leave().catch((cause: unknown) => log.warn({ err: cause }, 'left without saying so'))
  await broker.close()
  await store.close()
})
