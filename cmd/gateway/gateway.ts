import { fileURLToPath } from 'node:url'
import { openAccess } from '../../internal/access/open-access.js'
import { createAuditSink } from '../../internal/audit/audit-sink.js'
import { clientAddresses } from '../../internal/auth/addresses.js'
import { rateLimitsOf } from '../../internal/auth/rate-limits.js'
import { partitionsOf } from '../../internal/broker/layout.js'
import { createPublisher } from '../../internal/broker/publisher.js'
import { followWatermark } from '../../internal/broker/watermark.js'
import { BLOB_SETTINGS, RATE_SETTINGS, TLS_SETTINGS, WEBHOOK_TARGET_SETTINGS } from '../../internal/config/settings.js'
import { readBuiltConsole } from '../../internal/console/built.js'
import { openRules } from '../../internal/directory/mapping/open-rules.js'
import { directoryPeople, openDirectory } from '../../internal/directory/open-directory.js'
import { eventPublisher } from '../../internal/events/publish-event.js'
import { watchBroker } from '../../internal/http/health.js'
import { createClaims, LEASE_MS } from '../../internal/http/mutations/claims.js'
import { createMutations } from '../../internal/http/mutations/mutations.js'
import type { OpenHttp } from '../../internal/http/open-http.js'
import { createCursorCodec } from '../../internal/http/resource/pages.js'
import { turnNow } from '../../internal/http/turn-clock.js'
import { identityKeysCache, tenantIdsCache } from '../../internal/ids/ids.js'
import { openAdmission } from '../../internal/ingest/open-ingest.js'
import { countReceived } from '../../internal/ingest/received/received-counts.js'
import { openRecords } from '../../internal/store/queries/records/open-records.js'
import { CHECKPOINTS, DIRECTORY, IDEMPOTENCY, MAPPING_RULES, RECEIVED } from '../../streams/buckets.js'
import type { Role } from '../role.js'

export const GATEWAY_SETTINGS = [
  'host',
  'port',
  'intakePort',
  'intakeGrpcPort',
  'sqlPort',
  'httpParser',
  'drainSeconds',
  'trustedProxies',
  'mode',
  'baseUrl',
  'errorDocsUrl',
  'spoolBytesMax',
  'probeEveryMs',
  'accessTokenSeconds',
  'eventLogDays',
  ...BLOB_SETTINGS,
  ...RATE_SETTINGS,
  ...WEBHOOK_TARGET_SETTINGS,
  ...TLS_SETTINGS,
] as const

type GatewayRole = Role<(typeof GATEWAY_SETTINGS)[number]>

/** `dist/console` */
const CONSOLE_FOLDER = fileURLToPath(new URL('../../console/', import.meta.url))

/** The parts on which the routes of the areas are built. */
export type Gateway = Awaited<ReturnType<typeof openGateway>>

const instanceLimitsOf = ({ config }: GatewayRole) =>
  rateLimitsOf({
    ingest: config.rateIngest,
    read: config.rateRead,
    report: config.rateReport,
    control: config.rateControl,
    token: config.rateToken,
  })

/** What every part of a gateway takes. */
async function sharedParts(role: GatewayRole, { baseUrl, errorDocsUrl, httpBuild }: OpenHttp) {
  const brokerWatch = watchBroker(role.broker, role.clock)
  const isBrokerUp = (): boolean => brokerWatch.awayMs() === 0
  const idsOf = tenantIdsCache(await role.signingKey('ids'))
  // New at each start, so that no message for a previous process of this gateway reaches this one.
  const gatewayName = `gateway-${role.member}`
  const received = countReceived({ ...role, bucket: await role.broker.bucket(RECEIVED), isBrokerUp })
  // That of the server: a budget charged by two clocks would refuse whoever comes with the slower one.
  const clock = turnNow
  const clientAddressOf = clientAddresses(role.config.trustedProxies)
  const shared = {
    ...role,
    clock,
    isBrokerUp,
    gatewayName,
    baseUrl,
    errorDocsUrl,
    httpBuild,
    idsOf,
    received,
    clientAddressOf,
  }
  return { brokerWatch, shared }
}

/** What routes of other areas need of access. */
const accessParts = ({ residencyRegionOf, dimensionsOf, credentialNames, prepareLeaving, oauth }: OpenAccess) => ({
  residencyRegionOf,
  dimensionsOf,
  credentialNames,
  prepareLeaving,
  endSignIns: oauth.endSignIns,
})
type OpenAccess = Awaited<ReturnType<typeof openAccess>>

export async function openGateway(role: GatewayRole, http: OpenHttp) {
  const { broker, clock, config, log, onLost, signal, store } = role
  const { brokerWatch, shared } = await sharedParts(role, http)
  const { idsOf } = shared
  const publisher = createPublisher(broker.connection)
  const { publish } = publisher
  const auditSink = createAuditSink({ publish, clock, log })
  const instanceLimits = instanceLimitsOf(role)
  const directory = await openDirectory(await broker.bucket(DIRECTORY), idsOf, onLost)
  const access = await openAccess({
    ...shared,
    mode: config.mode,
    accessTokenSeconds: config.accessTokenSeconds,
    instanceLimits,
    auditSink,
    directory: directoryPeople(directory, idsOf),
  })
  const mapping = await openRules(await broker.bucket(MAPPING_RULES), access.dimensionsOf, onLost)
  const watermark = await followWatermark(await broker.bucket(CHECKPOINTS), onLost, clock)
  const publishEvent = eventPublisher(publish, idsOf)
  const admission = await openAdmission({
    ...shared,
    dataDir: config.dataDir,
    spoolBytesMax: config.spoolBytesMax,
    partitions: partitionsOf(role.layout),
    publisher,
    publishEvent,
    watermark,
    budgetExchange: access.budgetExchange,
    key: await role.signingKey('admission'),
    isDiscoveryOnly: (tenantId, layer) => directory.directory.source(tenantId, layer)?.is_discovery_only === true,
    haveCostlyGlobs: mapping.haveCostlyGlobs,
    retainedFromMs: access.retainedFromMs,
    stopping: signal,
  })
  // After it has joined the gateways: `streams apply` looks for gateways before it changes the number.
  await role.exitOnOtherPartitions()
  const mutate = createMutations({
    ...shared,
    claims: createClaims(await broker.bucket(IDEMPOTENCY), { leaseMs: LEASE_MS }),
    auditSink,
    keyHashingOf: admission.deps.keyHashingOf,
    secret: await role.signingKey('mutations'),
  })
  const records = openRecords(role.storeConnection, watermark)
  return {
    ...shared,
    mode: config.mode,
    instanceRegion: config.region === '' ? null : config.region,
    instanceLimits,
    brokerWatch,
    builtConsole: readBuiltConsole(CONSOLE_FOLDER),
    access,
    ...accessParts(access),
    ...mapping,
    admission,
    directory,
    watermark,
    records,
    store,
    mutate,
    auditSink,
    publish,
    publishEvent,
    cursors: createCursorCodec(await role.signingKey('cursors')),
    identityKeyOf: identityKeysCache(await role.signingKey('identities')),
    /** Once no request is in flight. */
    async drain() {
      await access.close()
      access.budgetExchange.stop()
      await shared.received.close()
      await admission.close()
      await auditSink.close()
    },
  }
}
