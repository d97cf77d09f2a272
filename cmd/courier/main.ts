/**
 * The courier: turns events into deliveries to webhook endpoints, delivers them signed, retries, gives up, replays, and
 * writes the delivery log. Several couriers share the endpoints.
 */
import { settingsOf, type Tenant } from '../../internal/auth/tenant.js'
import { mirrorBucket } from '../../internal/broker/mirror.js'
import { COURIER_SETTINGS, WEBHOOK_TARGET_SETTINGS } from '../../internal/config/settings.js'
import { tenantIdsCache } from '../../internal/ids/ids.js'
import { readExtraCa } from '../../internal/outbound/extra-ca.js'
import { runMain } from '../../internal/process/main.js'
import { insertRows } from '../../internal/store/sink.js'
import { WEBHOOK_ATTEMPTS } from '../../internal/store/tables/webhook-attempts.js'
import { openCourier } from '../../internal/webhooks/courier/open-courier.js'
import { TENANTS } from '../../streams/buckets.js'
import { configureRole, connectRole } from '../role.js'

const SETTINGS = ['baseUrl', 'region', 'memberName', ...WEBHOOK_TARGET_SETTINGS, ...COURIER_SETTINGS] as const

runMain('courier', async () => {
  const configured = configureRole('courier', SETTINGS)
  const extraCa = readExtraCa(configured.config.webhookCaFile)
  const role = await connectRole(configured)
  const { broker, config, onLost, member, store } = role
  const tenants = await mirrorBucket<Tenant>(await broker.bucket(TENANTS), onLost)
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
    masterKeys: role.masterKeys,
    idsOf: tenantIdsCache(await role.signingKey('ids')),
    residencyRegionOf: (tenantId) => {
      const tenant = tenants.get(tenantId)
      return tenant && settingsOf(tenant).residency_region
    },
    insertAttempts: (rows, token) => insertRows(store, WEBHOOK_ATTEMPTS, rows, token),
    onLost,
    clock: role.clock,
    log: role.log,
  })
  role.log.info({ member }, 'delivering')

  await role.stopped()
  await courier.stop()
  await role.close()
})
