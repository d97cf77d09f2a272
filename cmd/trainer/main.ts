/** The trainer: trains, validates and publishes tenants' stage-B models, on a schedule and when it is asked to. */
import { randomBytes } from 'node:crypto'
import { constants, setPriority } from 'node:os'
import { openTrainer } from '../../internal/attribution/inference/training/open.js'
import { settingsOf, type Tenant } from '../../internal/auth/tenant.js'
import { connectBroker, ensureStreams } from '../../internal/broker/connect.js'
import { joinMembers } from '../../internal/broker/members.js'
import { mirrorBucket } from '../../internal/broker/mirror.js'
import { followWatermark } from '../../internal/broker/watermark.js'
import { BROKER_SETTINGS, MASTER_KEY_SETTINGS, readConfig, STORE_SETTINGS } from '../../internal/config/settings.js'
import { tenantIdsCache } from '../../internal/ids/ids.js'
import { runMain, stopSignal, untilAvailable } from '../../internal/process/main.js'
import { readMasterKeys } from '../../internal/secrets/master-keys.js'
import { signingKey } from '../../internal/secrets/signing-keys.js'
import { createLog } from '../../internal/telemetry/log.js'
import { CHECKPOINTS, MEMBERS, SIGNING_KEYS, TENANTS } from '../../streams/buckets.js'

const MINUTE_MS = 60 * 1000

runMain('trainer', async () => {
  const config = readConfig(
    ['logLevel', 'memberName', 'trainEveryMinutes', ...MASTER_KEY_SETTINGS, ...BROKER_SETTINGS, ...STORE_SETTINGS],
    process.argv.slice(2),
    process.env,
  )
  const log = createLog('trainer', config.logLevel)
  const member = config.memberName === '' ? randomBytes(8).toString('hex') : config.memberName
  // A training is in no hurry; what answers callers is.
  setPriority(constants.priority.PRIORITY_LOW)

  const broker = await connectBroker({
    url: config.natsUrl,
    user: config.natsUser,
    password: config.natsPassword,
    name: `trainer-${member}`,
  })
  await untilAvailable('JetStream', () => ensureStreams(broker, { ...config, replicas: config.streamReplicas }), log)
  const stopping = new AbortController()
  const lost = (cause: unknown): void => {
    if (stopping.signal.aborted) return
    log.fatal({ err: cause }, 'a copy of a bucket no longer follows it')
    process.exit(1)
  }
  const tenants = await mirrorBucket<Tenant>(await broker.bucket(TENANTS), lost)
  const membership = await joinMembers(await broker.bucket(MEMBERS), 'trainer', member, lost)
  const watermark = await followWatermark(await broker.bucket(CHECKPOINTS), lost, Date.now)
  const idsKey = await signingKey(await broker.bucket(SIGNING_KEYS), readMasterKeys(config), 'ids')

  const running = openTrainer(
    {
      broker,
      store: {
        url: config.storeUrl,
        user: config.storeUser,
        password: config.storePassword,
        database: config.storeDatabase,
      },
      member,
      tenantIds: () => [...tenants.entries()].map(([tenantId]) => tenantId),
      owns: membership.owns,
      isEnabled: (tenantId) => settingsOf(tenants.get(tenantId)).stage_b_enabled,
      everyMs: config.trainEveryMinutes * MINUTE_MS,
      completeAsOf: watermark.renewed,
      idsOf: tenantIdsCache(idsKey),
      clock: Date.now,
      onLost: lost,
      log,
    },
    stopping.signal,
  )
  log.info({ member, everyMinutes: config.trainEveryMinutes }, 'training')

  await stopSignal()
  stopping.abort()
  await running
  await membership.leave().catch((cause: unknown) => log.warn({ err: cause }, 'left without saying so'))
  await broker.close()
})
