/**
 * The gateway: every HTTP route, and the admission of invocations. Needs the broker to start; later it admits without
 * it for a while (spool), and without the read model it admits and answers reads with 503.
 */
import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { AdmissionIndex } from '../../internal/admission/admission-index.js'
import { BodyFingerprint } from '../../internal/admission/body-fingerprint.js'
import { InFlight } from '../../internal/admission/in-flight.js'
import { type StoredKeyUse, trackKeyUses } from '../../internal/api-keys/last-use.js'
import { apiKeyRoutes } from '../../internal/api-keys/routes.js'
import { changePublisher } from '../../internal/attribution/changes/publish.js'
import { changeRoutes } from '../../internal/attribution/changes/routes.js'
import { openDirectory } from '../../internal/attribution/directory/open-directory.js'
import { directoryRoutes } from '../../internal/attribution/directory/routes.js'
import { workloadHashes } from '../../internal/attribution/directory/workloads.js'
import { openModelRoutes } from '../../internal/attribution/models/open-routes.js'
import type { StoredModelName } from '../../internal/attribution/names/name.js'
import { modelNameRoutes } from '../../internal/attribution/names/routes.js'
import type { StoredPool } from '../../internal/attribution/pools/pool.js'
import { poolRoutes } from '../../internal/attribution/pools/routes.js'
import type { StoredOverride } from '../../internal/attribution/prices/override.js'
import { priceRoutes } from '../../internal/attribution/prices/routes.js'
import { type AttributionRoutesDeps, attributionRoutes } from '../../internal/attribution/routes.js'
import { auditRoutes } from '../../internal/audit/routes.js'
import { createAuditSink } from '../../internal/audit/sink.js'
import type { StoredApiKey } from '../../internal/auth/api-keys.js'
import { type Authenticator, createAuthenticator } from '../../internal/auth/authenticate.js'
import { createBudgetExchange } from '../../internal/auth/budget-exchange.js'
import { type BudgetsCache, budgetsCache, rateLimitOverrides, rateLimitsOf } from '../../internal/auth/rate-limits.js'
import { connectBroker, ensureStreams } from '../../internal/broker/connect.js'
import { joinMembers } from '../../internal/broker/members.js'
import { mirrorBucket } from '../../internal/broker/mirror.js'
import { createPublisher } from '../../internal/broker/publisher.js'
import { bucketRecords } from '../../internal/broker/records.js'
import { watchRecords } from '../../internal/broker/watched-records.js'
import { followWatermark } from '../../internal/broker/watermark.js'
import type { StoredBudget } from '../../internal/budgets/budget.js'
import { budgetRoutes } from '../../internal/budgets/routes.js'
import { clientRoutes } from '../../internal/clients/routes.js'
import {
  BLOB_SETTINGS,
  BROKER_SETTINGS,
  ConfigError,
  MASTER_KEY_SETTINGS,
  RATE_SETTINGS,
  readConfig,
  STORE_SETTINGS,
  TLS_SETTINGS,
  WEBHOOK_TARGET_SETTINGS,
} from '../../internal/config/settings.js'
import { clientOf } from '../../internal/connectors/connector.js'
import { openConnectors } from '../../internal/connectors/open.js'
import { connectorRoutes } from '../../internal/connectors/routes.js'
import { coverageRoutes } from '../../internal/coverage/routes.js'
import { eventPublisher } from '../../internal/events/publish.js'
import { openBlobs } from '../../internal/exports/blobs/open.js'
import { openExportRoutes } from '../../internal/exports/open.js'
import { isKnownEvent } from '../../internal/gateway/admission/admission.js'
import { ELSEWHERE, type Told } from '../../internal/gateway/admission/answers.js'
import type { BulkRecord } from '../../internal/gateway/admission/bulk-outcomes.js'
import { fateRoutes } from '../../internal/gateway/admission/fate-routes.js'
import { createGroupCommit } from '../../internal/gateway/admission/group-commit.js'
import { admissionHistory } from '../../internal/gateway/admission/history.js'
import { keptRecords } from '../../internal/gateway/admission/kept-records.js'
import { createKeyConfirmation } from '../../internal/gateway/admission/key-confirmation.js'
import { createIndexLoader, EVENT_WINDOW_MS, KEY_WINDOW_MS } from '../../internal/gateway/admission/load-index.js'
import { localKeys } from '../../internal/gateway/admission/local-keys.js'
import { createLogWriter, deliverOrphans } from '../../internal/gateway/admission/log-writer.js'
import { type ObservationRecord, observationRoutes } from '../../internal/gateway/admission/observation-routes.js'
import { joinPeers } from '../../internal/gateway/admission/peers.js'
import { admissionRoutes } from '../../internal/gateway/admission/routes.js'
import { errorPageRoutes } from '../../internal/gateway/error-pages.js'
import { healthRoutes, watchBroker, watchStore } from '../../internal/gateway/health.js'
import { createClaims, LEASE_MS } from '../../internal/gateway/mutations/claims.js'
import { createMutations } from '../../internal/gateway/mutations/mutations.js'
import { withDescription } from '../../internal/gateway/openapi/routes.js'
import { createCursorCodec } from '../../internal/gateway/pages.js'
import { rateLimitRoutes } from '../../internal/gateway/rate-limit-routes.js'
import { serve, serveUnready } from '../../internal/gateway/server.js'
import { readTls } from '../../internal/gateway/tls.js'
import { turnNow } from '../../internal/gateway/turn-clock.js'
import { identityKeysCache, tenantIdsCache } from '../../internal/ids/ids.js'
import { openAuthorizationServer } from '../../internal/oauth/open.js'
import { encodeObservation, encodeObservations } from '../../internal/observations/codec.js'
import { partnerRoutes } from '../../internal/partner/routes.js'
import { runMain, stopSignal, untilAvailable } from '../../internal/process/main.js'
import { reportRoutes } from '../../internal/reports/routes.js'
import { openReportThread } from '../../internal/reports/thread.js'
import { readMasterKeys } from '../../internal/secrets/master-keys.js'
import { signingKey } from '../../internal/secrets/signing-keys.js'
import { adoptOrphans } from '../../internal/spool/orphans.js'
import { openSpool } from '../../internal/spool/spool.js'
import { connectStore } from '../../internal/store/client.js'
import { openRecords } from '../../internal/store/open-records.js'
import { findAdmissionKeys } from '../../internal/store/queries/admission-keys.js'
import { findAllocationWeights } from '../../internal/store/queries/allocation-weights.js'
import { findAttribution } from '../../internal/store/queries/attributions.js'
import { listAuditLog } from '../../internal/store/queries/audit-log.js'
import { closedVersionsOf } from '../../internal/store/queries/closed.js'
import { observedSources, seenLayers } from '../../internal/store/queries/coverage.js'
import { findQuarantined } from '../../internal/store/queries/quarantined.js'
import { listWebhookAttempts } from '../../internal/store/queries/webhook-attempts.js'
import { createLog } from '../../internal/telemetry/log.js'
import { settingsRoutes } from '../../internal/tenants/routes.js'
import { settingsOf, type Tenant } from '../../internal/tenants/tenant.js'
import { userRoutes } from '../../internal/users/routes.js'
import { openWebhookRoutes } from '../../internal/webhooks/open.js'
import {
  API_KEY_USES,
  API_KEYS,
  BUDGETS,
  CHECKPOINTS,
  CONNECTORS,
  DIRECTORY,
  IDEMPOTENCY,
  JOBS,
  MEMBERS,
  MODEL_NAMES,
  POOLS,
  PRICE_OVERRIDES,
  SIGNING_KEYS,
  TENANTS,
} from '../../streams/buckets.js'
import { EXPORTS } from '../../streams/exports.js'
import { observationsSubject } from '../../streams/observations.js'

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

runMain('gateway', async () => {
  const config = readConfig(
    [
      'host',
      'port',
      'mode',
      'baseUrl',
      'errorDocsUrl',
      'logLevel',
      'partitions',
      ...BLOB_SETTINGS,
      ...MASTER_KEY_SETTINGS,
      ...BROKER_SETTINGS,
      'spoolBytesMax',
      ...STORE_SETTINGS,
      ...RATE_SETTINGS,
      ...WEBHOOK_TARGET_SETTINGS,
      'accessTokenSeconds',
      ...TLS_SETTINGS,
    ],
    process.argv.slice(2),
    process.env,
  )
  const log = createLog('gateway', config.logLevel)
  const masterKeys = readMasterKeys(config)
  const clock = Date.now
  const tls = readTls(config)
  const scheme = tls === undefined ? 'http' : 'https'
  const baseUrl = config.baseUrl === '' ? `${scheme}://${config.host}:${config.port}` : config.baseUrl
  const errorDocsUrl = config.errorDocsUrl === '' ? `${baseUrl}/docs/errors` : config.errorDocsUrl
  const address = { host: config.host, port: config.port, errorDocsUrl, tls }
  const portTaken = (cause: Error): never => {
    throw new ConfigError(`${cause.message}: is another process using the port?`, { cause })
  }
  const stopUnready = await serveUnready(address, log).catch(portTaken)

  const broker = await connectBroker({
    url: config.natsUrl,
    user: config.natsUser,
    password: config.natsPassword,
    name: `gateway-${process.pid}`,
  })
  await untilAvailable('JetStream', () => ensureStreams(broker, { ...config, replicas: config.streamReplicas }), log)
  const brokerWatch = watchBroker(broker, clock)
  const isBrokerUp = (): boolean => brokerWatch.awayMs() === 0
  const storeConnection = {
    url: config.storeUrl,
    user: config.storeUser,
    password: config.storePassword,
    database: config.storeDatabase,
  }
  const store = connectStore(storeConnection)
  const storedRecords = openRecords(storeConnection)
  const reports = openReportThread(storeConnection)

  const signingKeys = await broker.bucket(SIGNING_KEYS)
  const idsOf = tenantIdsCache(await signingKey(signingKeys, masterKeys, 'ids'))
  const cursors = createCursorCodec(await signingKey(signingKeys, masterKeys, 'cursors'))
  const admissionKey = await signingKey(signingKeys, masterKeys, 'admission')

  // A copy of the credentials that no longer follows the bucket would let revoked keys in: start over instead.
  const stopping = new AbortController()
  const lost = (cause: unknown): void => {
    if (stopping.signal.aborted) return
    log.fatal({ err: cause }, 'the copy of a bucket no longer follows it')
    process.exit(1)
  }
  const authenticators: Authenticator[] = []
  const forget = (id: string): void => {
    for (const authenticator of authenticators) authenticator.forget(id)
  }
  const keyUseBucket = await broker.bucket(API_KEY_USES)
  const keyUsesKept = await mirrorBucket<StoredKeyUse>(keyUseBucket, lost)
  const keyUses = trackKeyUses({ bucket: keyUseBucket, stored: (keyId) => keyUsesKept.get(keyId), isBrokerUp, log })
  const apiKeys = await watchRecords<StoredApiKey>(await broker.bucket(API_KEYS), lost, (keyId, key) => {
    forget(keyId)
    if (key === undefined) keyUses.forget(keyId)
  })
  // A new name at each start: nothing that was said to the one before is meant for this one.
  const gatewayName = `gateway-${randomBytes(6).toString('hex')}`
  const budgetExchange = createBudgetExchange({
    connection: broker.connection,
    self: gatewayName,
    isBrokerUp,
    clock,
    log,
  })
  const retuning: BudgetsCache[] = []
  const tenantBucket = await broker.bucket(TENANTS)
  const tenants = await mirrorBucket<Tenant>(tenantBucket, lost, (tenantId) => {
    for (const budgets of retuning) budgets.retune(tenantId, clock())
  })
  const instanceLimits = rateLimitsOf({
    ingest: config.rateIngest,
    read: config.rateRead,
    report: config.rateReport,
    control: config.rateControl,
    token: config.rateToken,
  })
  const budgetsOf = budgetsCache(instanceLimits, {
    overridesOf: (tenantId) => rateLimitOverrides(tenants.get(tenantId)?.settings.rate_limits),
    sharing: budgetExchange.sharing,
  })
  retuning.push(budgetsOf)
  budgetExchange.listen(budgetsOf)
  const publisher = createPublisher(broker.connection)
  const auditSink = createAuditSink({ publish: publisher.publish, clock, log })
  const { connectors, withClient } = await openConnectors(await broker.bucket(CONNECTORS), lost, forget)
  const residencyRegionOf = (tenantId: string) => settingsOf(tenants.get(tenantId)).residency_region
  const oauth = await openAuthorizationServer({
    bucket: (bucket) => broker.bucket(bucket),
    masterKeys,
    mode: config.mode,
    baseUrl,
    tokenLifeS: config.accessTokenSeconds,
    budgetsOf,
    findPartnerClient(clientId) {
      const connector = withClient(clientId)
      return connector && clientOf(connector)
    },
    auditSink,
    isBrokerUp,
    forget,
    lost,
    log,
    clock,
  })
  const authentication = { mode: config.mode, budgetsOf, useOf: keyUses.of }
  const authenticator = createAuthenticator({
    ...authentication,
    findKey: (keyId) => apiKeys.get(keyId),
    judgeToken: oauth.judgeToken,
  })
  const partnerAuthenticator = createAuthenticator({
    ...authentication,
    findKey: () => undefined,
    judgeToken: oauth.partner.judgeToken,
  })
  authenticators.push(authenticator, partnerAuthenticator)

  const spoolsDir = join(config.dataDir, 'spool')
  const spoolSettings = {
    bytesMax: config.spoolBytesMax,
    segmentBytes: SEGMENT_BYTES,
    onIncident: (incident: object) => log.error({ incident }, 'the spool met damage'),
  }
  // Before the log is read for keys: what dead gateways had spooled must be in it.
  const orphans = await adoptOrphans(spoolsDir, spoolSettings)
  for (const { folder, error } of orphans.failures) log.error({ err: error, folder }, 'a spool could not be adopted')
  await deliverOrphans(orphans.spools, publisher, isBrokerUp, log, stopping.signal)
  const opened = await openSpool({
    ...spoolSettings,
    folder: join(spoolsDir, gatewayName),
  })
  if (opened.kind !== 'opened') {
    throw new ConfigError(
      `the spool in ${spoolsDir} cannot be opened: ${opened.kind === 'failed' ? opened.error.message : 'taken'}`,
    )
  }
  const writer = createLogWriter(publisher, opened.spool, isBrokerUp, log)
  const groups = createGroupCommit(writer, config.partitions)

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
  const watermark = await followWatermark(checkpoints, lost, clock)
  const history = admissionHistory(broker.manager, checkpoints, store, config.partitions)
  const findKeys = createKeyConfirmation((hashes) => findAdmissionKeys(store, hashes, clock() - KEY_WINDOW_MS), clock)
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
      const members = await joinMembers(await broker.bucket(MEMBERS), 'gateway', gatewayName, lost)
      budgetExchange.follow(members)
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
  const records = await broker.bucket(IDEMPOTENCY)

  const directory = await openDirectory(await broker.bucket(DIRECTORY), idsOf, lost)
  const identityKeyOf = identityKeysCache(await signingKey(signingKeys, masterKeys, 'identities'))
  const admission = {
    ...index,
    isLoaded: loader.isLoaded,
    inFlight,
    peers,
    fingerprints: new BodyFingerprint(admissionKey.subarray(0, 16)),
    confirmation: loader.confirmation,
    recheck: loader.recheck,
    groups,
    partitions: config.partitions,
    idsOf,
    keyHashingOf: identityKeysCache(admissionKey),
    isDiscoveryOnly: (tenantId: string, layer: string) =>
      directory.directory.source(tenantId, layer)?.is_discovery_only === true,
    clock: turnNow,
  }
  const mutate = createMutations({
    claims: createClaims(records, { leaseMs: LEASE_MS }),
    auditSink,
    idsOf,
    keyHashingOf: admission.keyHashingOf,
    secret: await signingKey(signingKeys, masterKeys, 'mutations'),
    errorDocsUrl,
    clock,
    log,
  })
  const publishEvent = eventPublisher(publisher.publish, idsOf)
  const prices = await watchRecords<StoredOverride>(await broker.bucket(PRICE_OVERRIDES), lost)
  const collection = { mutate, cursors, idsOf, clock }
  const attributions = {
    list: storedRecords.list,
    find: (tenantId, id, snapshotMs, signal) => findAttribution(store, tenantId, id, snapshotMs, signal),
    snapshot: watermark.latest,
    closedVersionsOf: (tenantId, id, byMs) => closedVersionsOf(store, tenantId, id, byMs),
    findWeights: (tenantId, asOfMs) => findAllocationWeights(store, tenantId, asOfMs),
    cursors,
    idsOf,
    clock,
  } satisfies AttributionRoutesDeps
  const bulkAdmission = { ...admission, ...keptRecords<BulkRecord>(records, 'bulk', isBrokerUp) }
  const server = await serve(
    address,
    withDescription({ baseUrl, errorDocsUrl }, [
      ...healthRoutes({ broker: brokerWatch, store: watchStore(store, clock), spool: opened.spool }),
      ...errorPageRoutes(baseUrl.startsWith('https:')),
      ...admissionRoutes(bulkAdmission),
      ...observationRoutes({
        ...admission,
        ...keptRecords<ObservationRecord>(records, 'observation', isBrokerUp),
        writer,
        messageOf: ({ event, ...admitted }) => ({
          subject: observationsSubject(admitted.tenantId),
          payload: encodeObservations([encodeObservation(admitted, event)]),
        }),
      }),
      ...fateRoutes({
        idsOf,
        isAttributed: async (tenantId, idHex) =>
          (await findAttribution(store, tenantId, idHex, await watermark.latest(), stopping.signal)) !== undefined,
        findQuarantined: (tenantId, idHex) => findQuarantined(store, tenantId, idHex),
        isAdmitted: (id) => isKnownEvent(id, admission, clock()),
      }),
      ...oauth.routes,
      ...attributionRoutes(attributions),
      ...reportRoutes({
        thread: reports,
        notPeople: (tenantId) => workloadHashes(directory.directory, tenantId, identityKeyOf(tenantId)),
        cursors,
        clock,
      }),
      ...coverageRoutes({
        seen: (...question) => seenLayers(store, ...question),
        observed: (...question) => observedSources(store, ...question),
        sourcesOf: (tenantId) => directory.directory.sources(tenantId),
        cursors,
        clock,
      }),
      ...changeRoutes({
        mutate,
        idsOf,
        watermark,
        find: (tenantId, id, atMs) => findAttribution(store, tenantId, id, atMs, stopping.signal),
        closedVersionsOf: attributions.closedVersionsOf,
        publish: changePublisher(publisher.publish),
      }),
      ...apiKeyRoutes({
        mutate,
        mode: config.mode,
        idsOf,
        keys: apiKeys,
        deleteUse: (keyId) => keyUseBucket.delete(keyId),
        lastUsedAt: (keyId) => keyUsesKept.get(keyId)?.at ?? null,
        lifeDaysMaxOf: (tenantId) => settingsOf(tenants.get(tenantId)).api_key_max_lifetime_days,
        publishEvent,
        cursors,
        clock,
      }),
      ...clientRoutes({ mutate, mode: config.mode, idsOf, clients: oauth.clients, cursors, clock }),
      ...userRoutes({ mutate, idsOf, users: oauth.users, findUser: oauth.findUser, cursors, clock }),
      ...settingsRoutes({
        mutate,
        findTenant: (tenantId) => tenants.get(tenantId),
        tenants: bucketRecords(tenantBucket, tenants.reached),
        instanceLimits,
      }),
      ...directoryRoutes({ ...collection, ...directory }),
      ...priceRoutes({ ...collection, prices }),
      ...(await openModelRoutes(broker, collection, lost)),
      ...modelNameRoutes({
        ...collection,
        names: await watchRecords<StoredModelName>(await broker.bucket(MODEL_NAMES), lost),
      }),
      ...budgetRoutes({ ...collection, budgets: await watchRecords<StoredBudget>(await broker.bucket(BUDGETS), lost) }),
      ...poolRoutes({ ...collection, pools: await watchRecords<StoredPool>(await broker.bucket(POOLS), lost) }),
      ...connectorRoutes({ ...collection, mode: config.mode, connectors, residencyRegionOf }),
      ...partnerRoutes({
        mutate,
        issueTokenAt: oauth.partner.issueTokenAt,
        revokeTokenAt: oauth.partner.revokeTokenAt,
        connectors,
        withClient,
        publishEvent,
        residencyRegionOf,
        instanceRegion: config.region === '' ? null : config.region,
        attributions,
        admission: bulkAdmission,
        clock,
      }),
      ...(await openWebhookRoutes({
        ...collection,
        broker,
        publish: publisher.publish,
        masterKeys,
        targets: config,
        baseUrl,
        residencyRegionOf,
        instanceRegion: config.region === '' ? null : config.region,
        listAttempts: (question, signal) => listWebhookAttempts(store, question, signal),
        lost,
      })),
      ...(await openExportRoutes({
        ...collection,
        bucket: await broker.bucket(JOBS),
        publish: publisher.publish,
        isQueued: async (subject) =>
          (await broker.manager.direct.getMessage(EXPORTS.name, { last_by_subj: subject })) !== null,
        lost,
        blobs: await openBlobs(config),
        downloadsKey: await signingKey(signingKeys, masterKeys, 'downloads'),
        instanceRegion: config.region === '' ? null : config.region,
        residencyRegionOf,
        downloadBudgetOf: (tenantId) => budgetsOf(tenantId, 'downloads').report,
        isBrokerUp,
        baseUrl,
      })),
      ...rateLimitRoutes({ cursors, clock }),
      ...auditRoutes({ list: (question, signal) => listAuditLog(store, question, signal), cursors, clock }),
    ]),
    { authenticator, partnerAuthenticator, brokerAwayMs: () => brokerWatch.awayMs(), log },
  ).catch(portTaken)
  stopUnready()
  log.info({ port: server.port }, 'listening')

  await stopSignal()
  stopping.abort()
  await server.drain()
  oauth.close()
  await keyUses.close()
  await groups.idle()
  await auditSink.close()
  clearInterval(overdue)
  budgetExchange.stop()
  await peers.close()
  await writer.close()
  await broker.close()
  await storedRecords.close()
  await reports.close()
  await store.close()
})
