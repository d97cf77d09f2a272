/**
 * The courier: makes events deliveries to webhook endpoints, delivers them signed, retries, gives up, replays, and
 * writes the delivery log. Several of them share the endpoints.
 */
import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { settingsOf, type Tenant } from '../../internal/auth/tenant.js'
import { connectBroker, ensureStreams } from '../../internal/broker/connect.js'
import { mirrorBucket } from '../../internal/broker/mirror.js'
import {
  BROKER_SETTINGS,
  COURIER_SETTINGS,
  ConfigError,
  MASTER_KEY_SETTINGS,
  readConfig,
  STORE_SETTINGS,
  WEBHOOK_TARGET_SETTINGS,
} from '../../internal/config/settings.js'
import { tenantIdsCache } from '../../internal/ids/ids.js'
import { runMain, stopSignal, untilAvailable } from '../../internal/process/main.js'
import { readMasterKeys } from '../../internal/secrets/master-keys.js'
import { signingKey } from '../../internal/secrets/signing-keys.js'
import { connectStore } from '../../internal/store/client.js'
import { insertRows } from '../../internal/store/sink.js'
import { WEBHOOK_ATTEMPTS } from '../../internal/store/tables/webhook-attempts.js'
import { createLog } from '../../internal/telemetry/log.js'
import { openCourier } from '../../internal/webhooks/courier/open.js'
import { SIGNING_KEYS, TENANTS } from '../../streams/buckets.js'

runMain('courier', async () => {
  const config = readConfig(
    [
      'logLevel',
      'baseUrl',
      'region',
      'memberName',
      ...MASTER_KEY_SETTINGS,
      ...BROKER_SETTINGS,
      ...STORE_SETTINGS,
      ...WEBHOOK_TARGET_SETTINGS,
      ...COURIER_SETTINGS,
    ],
    process.argv.slice(2),
    process.env,
  )
  const log = createLog('courier', config.logLevel)
  const masterKeys = readMasterKeys(config)
  const member = config.memberName === '' ? randomBytes(8).toString('hex') : config.memberName
  const extraCa = readCa(config.webhookCaFile)

  const broker = await connectBroker({
    url: config.natsUrl,
    user: config.natsUser,
    password: config.natsPassword,
    name: `courier-${member}`,
  })
  await untilAvailable('JetStream', () => ensureStreams(broker, { ...config, replicas: config.streamReplicas }), log)
  const store = connectStore({
    url: config.storeUrl,
    user: config.storeUser,
    password: config.storePassword,
    database: config.storeDatabase,
  })
  const signingKeys = await broker.bucket(SIGNING_KEYS)
  const stopping = new AbortController()
  const lost = (cause: unknown): void => {
    if (stopping.signal.aborted) return
    log.fatal({ err: cause }, 'a copy of a bucket no longer follows it')
    process.exit(1)
  }
  const tenants = await mirrorBucket<Tenant>(await broker.bucket(TENANTS), lost)
  const courier = await openCourier({
    broker,
    member,
    settings: {
      targets: config,
      extraCa,
      inFlightPerEndpoint: config.webhookInFlight,
      timeoutMs: config.webhookTimeoutMs,
      rules: { maximaMs: config.webhookRetryMaximaMs, stopMs: config.webhookRetryStopMs },
      baseUrl: config.baseUrl,
      instanceRegion: config.region === '' ? null : config.region,
    },
    masterKeys,
    idsOf: tenantIdsCache(await signingKey(signingKeys, masterKeys, 'ids')),
    residencyRegionOf: (tenantId) => {
      const tenant = tenants.get(tenantId)
      return tenant && settingsOf(tenant).residency_region
    },
    insertAttempts: (rows, token) => insertRows(store, WEBHOOK_ATTEMPTS, rows, token),
    onLost: lost,
    clock: Date.now,
    log,
  })
  log.info({ member }, 'delivering')

  await stopSignal()
  stopping.abort()
  await courier.stop()
  await broker.close()
  await store.close()
})

function readCa(file: string): string | undefined {
  if (file === '') return undefined
  try {
    return readFileSync(file, 'utf8')
  } catch (cause) {
    throw new ConfigError(`the certificates in ${file} cannot be read`, { cause })
  }
}
