/**
 * The gateway: every HTTP route, and the admission of invocations. Needs the broker to start; later it admits without
 * it for a while (spool), and without the read model it admits and answers reads with 503.
 */
import { randomBytes } from 'node:crypto'
import { apiKeyRoutes } from '../../internal/access/api-keys/routes.js'
import { clientRoutes } from '../../internal/access/clients/routes.js'
import { connectorRoutes } from '../../internal/access/connectors/routes.js'
import { openAccess } from '../../internal/access/open-access.js'
import { settingsRoutes } from '../../internal/access/tenants/routes.js'
import { userRoutes } from '../../internal/access/users/routes.js'
import { changePublisher } from '../../internal/attribution/changes/publish.js'
import { changeRoutes } from '../../internal/attribution/changes/routes.js'
import { openDirectory } from '../../internal/attribution/directory/open-directory.js'
import { directoryRoutes } from '../../internal/attribution/directory/routes.js'
import { workloadHashes } from '../../internal/attribution/directory/workloads.js'
import { openModelRoutes } from '../../internal/attribution/inference/models/open-routes.js'
import type { StoredPool } from '../../internal/attribution/pools/pool.js'
import { poolRoutes } from '../../internal/attribution/pools/routes.js'
import { type AttributionRoutesDeps, attributionRoutes } from '../../internal/attribution/records/routes.js'
import type { StoredModelName } from '../../internal/attribution/valuation/names/name.js'
import { modelNameRoutes } from '../../internal/attribution/valuation/names/routes.js'
import type { StoredOverride } from '../../internal/attribution/valuation/prices/override.js'
import { priceRoutes } from '../../internal/attribution/valuation/prices/routes.js'
import { auditRoutes } from '../../internal/audit/routes.js'
import { createAuditSink } from '../../internal/audit/sink.js'
import { rateLimitsOf } from '../../internal/auth/rate-limits.js'
import { settingsOf } from '../../internal/auth/tenant.js'
import { connectBroker, ensureStreams } from '../../internal/broker/connect.js'
import { createPublisher } from '../../internal/broker/publisher.js'
import { bucketRecords } from '../../internal/broker/records.js'
import { followStreamCapacity, withinStreamCapacity } from '../../internal/broker/stream-capacity.js'
import { watchRecords } from '../../internal/broker/watched-records.js'
import { followWatermark } from '../../internal/broker/watermark.js'
import { listeningUrl } from '../../internal/config/listening-url.js'
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
import { eventPublisher } from '../../internal/events/publish.js'
import { openBlobs } from '../../internal/exports/blobs/open.js'
import { openExportRoutes } from '../../internal/exports/open.js'
import { errorPageRoutes } from '../../internal/http/error-pages.js'
import { healthRoutes, watchBroker, watchStore } from '../../internal/http/health.js'
import { createClaims, LEASE_MS } from '../../internal/http/mutations/claims.js'
import { createMutations } from '../../internal/http/mutations/mutations.js'
import { withDescription } from '../../internal/http/openapi/routes.js'
import { rateLimitRoutes } from '../../internal/http/rate-limit-routes.js'
import { createCursorCodec } from '../../internal/http/resource/pages.js'
import { serve, serveUnready } from '../../internal/http/server.js'
import { readTls } from '../../internal/http/tls.js'
import { identityKeysCache, tenantIdsCache } from '../../internal/ids/ids.js'
import { openAdmission } from '../../internal/ingest/open.js'
import { partnerRoutes } from '../../internal/partner/routes.js'
import { runMain, stopSignal, untilAvailable } from '../../internal/process/main.js'
import { reportRoutes } from '../../internal/reports/routes.js'
import { openReportThread } from '../../internal/reports/thread.js'
import { readMasterKeys } from '../../internal/secrets/master-keys.js'
import { signingKey } from '../../internal/secrets/signing-keys.js'
import type { StoredBudget } from '../../internal/sentinel/budgets/budget.js'
import { budgetRoutes } from '../../internal/sentinel/budgets/routes.js'
import { coverageRoutes, readCoverage } from '../../internal/sentinel/coverage/routes.js'
import { connectStore } from '../../internal/store/client.js'
import { findAllocationWeights } from '../../internal/store/queries/attribution/allocation-weights.js'
import { listAuditLog } from '../../internal/store/queries/audit-log.js'
import { findAttribution } from '../../internal/store/queries/records/attributions.js'
import { closedVersionsOf } from '../../internal/store/queries/records/closed.js'
import { openRecords } from '../../internal/store/queries/records/open-records.js'
import { observedSources, seenLayers } from '../../internal/store/queries/reports/coverage.js'
import { listWebhookAttempts } from '../../internal/store/queries/webhook-attempts.js'
import { createLog } from '../../internal/telemetry/log.js'
import { openWebhookRoutes } from '../../internal/webhooks/open.js'
import {
  BUDGETS,
  CHECKPOINTS,
  DIRECTORY,
  IDEMPOTENCY,
  JOBS,
  MODEL_NAMES,
  POOLS,
  PRICE_OVERRIDES,
  SIGNING_KEYS,
} from '../../streams/buckets.js'
import { CHANGES } from '../../streams/changes.js'
import { EXPORTS } from '../../streams/exports.js'

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
  const listening = listeningUrl(config.host, config.port, tls !== undefined)
  const baseUrl = config.baseUrl === '' ? listening : config.baseUrl
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
  const reports = openReportThread(storeConnection, log)

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
  // A new name at each start: nothing that was said to the one before is meant for this one.
  const gatewayName = `gateway-${randomBytes(6).toString('hex')}`
  const instanceLimits = rateLimitsOf({
    ingest: config.rateIngest,
    read: config.rateRead,
    report: config.rateReport,
    control: config.rateControl,
    token: config.rateToken,
  })
  const publisher = createPublisher(broker.connection)
  const auditSink = createAuditSink({ publish: publisher.publish, clock, log })
  const access = await openAccess({
    broker,
    isBrokerUp,
    masterKeys,
    mode: config.mode,
    baseUrl,
    accessTokenSeconds: config.accessTokenSeconds,
    instanceLimits,
    gatewayName,
    auditSink,
    lost,
    log,
    clock,
  })
  const { oauth, tenants, residencyRegionOf, connectors, withClient } = access
  const watermark = await followWatermark(await broker.bucket(CHECKPOINTS), lost, clock)
  const directory = await openDirectory(await broker.bucket(DIRECTORY), idsOf, lost)
  const identityKeyOf = identityKeysCache(await signingKey(signingKeys, masterKeys, 'identities'))
  const changesRoom = await untilAvailable(
    'the log of changes',
    () => followStreamCapacity(broker.manager, CHANGES.name, { log, signal: stopping.signal }),
    log,
  )
  const admission = await openAdmission({
    broker,
    isBrokerUp,
    publisher,
    store,
    watermark,
    gatewayName,
    budgetExchange: access.budgetExchange,
    dataDir: config.dataDir,
    spoolBytesMax: config.spoolBytesMax,
    partitions: config.partitions,
    key: admissionKey,
    idsOf,
    isDiscoveryOnly: (tenantId, layer) => directory.directory.source(tenantId, layer)?.is_discovery_only === true,
    clock,
    log,
    lost,
    stopping: stopping.signal,
  })
  const mutate = createMutations({
    claims: createClaims(await broker.bucket(IDEMPOTENCY), { leaseMs: LEASE_MS }),
    auditSink,
    idsOf,
    keyHashingOf: admission.deps.keyHashingOf,
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
    watermark,
    closedVersionsOf: (...question) => closedVersionsOf(store, ...question),
    findWeights: (...question) => findAllocationWeights(store, ...question),
    cursors,
    idsOf,
    clock,
  } satisfies AttributionRoutesDeps
  const server = await serve(
    address,
    withDescription({ baseUrl, errorDocsUrl }, [
      ...healthRoutes({
        broker: brokerWatch,
        store: watchStore(store, clock),
        credentials: access.credentials,
        ...admission.space,
      }),
      ...errorPageRoutes(baseUrl.startsWith('https:')),
      ...admission.routes,
      ...oauth.routes,
      ...attributionRoutes(attributions),
      ...reportRoutes({
        thread: reports,
        notPeople: (tenantId) => workloadHashes(directory.directory, tenantId, identityKeyOf(tenantId)),
        cursors,
        clock,
      }),
      ...coverageRoutes({
        read: (tenantId, nowMs, signal) =>
          storedRecords.ask(tenantId, signal, (reader) =>
            readCoverage(
              tenantId,
              nowMs,
              {
                seen: (...question) => seenLayers(reader, ...question),
                observed: (...question) => observedSources(reader, ...question),
                sourcesOf: (id) => directory.directory.sources(id),
              },
              signal,
            ),
          ),
        cursors,
        clock,
      }),
      ...changeRoutes({
        mutate,
        idsOf,
        watermark,
        find: (tenantId, id, atMs) => findAttribution(store, tenantId, id, atMs, stopping.signal),
        closedVersionsOf: (tenantId, id, byMs) => closedVersionsOf(store, tenantId, id, byMs, stopping.signal),
        publish: changePublisher(withinStreamCapacity(publisher.publish, changesRoom)),
      }),
      ...apiKeyRoutes({
        mutate,
        mode: config.mode,
        idsOf,
        keys: access.apiKeys,
        deleteUse: access.deleteUse,
        lastUsedAt: access.lastUsedAt,
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
        tenants: bucketRecords(access.tenantBucket, tenants.reached),
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
        admission: admission.deps,
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
        onLost: lost,
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
        downloadBudgetOf: (tenantId) => access.budgetsOf(tenantId, 'downloads').report,
        isBrokerUp,
        baseUrl,
      })),
      ...rateLimitRoutes({ cursors, clock }),
      ...auditRoutes({ list: (question, signal) => listAuditLog(store, question, signal), cursors, clock }),
    ]),
    {
      authenticator: access.authenticator,
      partnerAuthenticator: access.partnerAuthenticator,
      credentialsAwayMs: access.credentials.awayMs,
      log,
    },
  ).catch(portTaken)
  stopUnready()
  log.info({ port: server.port }, 'listening')

  await stopSignal()
  stopping.abort()
  await server.drain()
  await access.close()
  access.budgetExchange.stop()
  await admission.close()
  await auditSink.close()
  await broker.close()
  await storedRecords.close()
  await reports.close()
  await store.close()
})
