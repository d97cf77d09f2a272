/**
 * The exporter: makes the files of export jobs out of the read model. Any number of them share the queue.
 */

import { WatchedDirectory } from '../../internal/attribution/directory/directory.js'
import { workloadHashes } from '../../internal/attribution/directory/workloads.js'
import { unitPricesIn } from '../../internal/attribution/valuation/cost/unit-prices.js'
import { settingsOf, type Tenant } from '../../internal/auth/tenant.js'
import { connectBroker, ensureStreams } from '../../internal/broker/connect.js'
import { mirrorBucket } from '../../internal/broker/mirror.js'
import { createPublisher } from '../../internal/broker/publisher.js'
import { followWatermark } from '../../internal/broker/watermark.js'
import { workOff } from '../../internal/broker/work-queue.js'
import {
  BLOB_SETTINGS,
  BROKER_SETTINGS,
  MASTER_KEY_SETTINGS,
  readConfig,
  STORE_SETTINGS,
} from '../../internal/config/settings.js'
import { eventPublisher } from '../../internal/events/publish.js'
import { openBlobs } from '../../internal/exports/blobs/open.js'
import type { StoredJob } from '../../internal/exports/job.js'
import { jobQueue } from '../../internal/exports/queue.js'
import { jobsAtOnce } from '../../internal/exports/slots.js'
import { sweepJobs } from '../../internal/exports/sweep.js'
import { waker } from '../../internal/exports/waiting.js'
import { workOnJob } from '../../internal/exports/worker.js'
import { identityKeysCache, tenantIdsCache } from '../../internal/ids/ids.js'
import { runMain, stopSignal, untilAvailable } from '../../internal/process/main.js'
import { thisInstance } from '../../internal/residency/residency.js'
import { readMasterKeys } from '../../internal/secrets/master-keys.js'
import { signingKey } from '../../internal/secrets/signing-keys.js'
import { connectStore } from '../../internal/store/client.js'
import { exportSource } from '../../internal/store/queries/exports/export-source.js'
import { createLog } from '../../internal/telemetry/log.js'
import { CHECKPOINTS, DIRECTORY, EXPORT_PLACES, JOBS, SIGNING_KEYS, TENANTS } from '../../streams/buckets.js'
import { EXPORTERS, EXPORTS } from '../../streams/exports.js'

const SWEEP_EVERY_MS = 30_000
/** A slice of a large month is silent for as long as its groups are formed. */
const STORE_SILENCE_MS_MAX = 30 * 60_000

runMain('exporter', async () => {
  const config = readConfig(
    ['logLevel', 'exportsPerTenant', ...BLOB_SETTINGS, ...MASTER_KEY_SETTINGS, ...BROKER_SETTINGS, ...STORE_SETTINGS],
    process.argv.slice(2),
    process.env,
  )
  const log = createLog('exporter', config.logLevel)
  const masterKeys = readMasterKeys(config)
  const clock = Date.now

  const broker = await connectBroker({
    url: config.natsUrl,
    user: config.natsUser,
    password: config.natsPassword,
    name: `exporter-${process.pid}`,
  })
  await untilAvailable('JetStream', () => ensureStreams(broker, { ...config, replicas: config.streamReplicas }), log)
  const store = connectStore({
    url: config.storeUrl,
    user: config.storeUser,
    password: config.storePassword,
    database: config.storeDatabase,
    silenceMsMax: STORE_SILENCE_MS_MAX,
  })

  const stopping = new AbortController()
  const lost = (cause: unknown): void => {
    if (stopping.signal.aborted) return
    log.fatal({ err: cause }, 'a copy of a bucket no longer follows it')
    process.exit(1)
  }
  const tenants = await mirrorBucket<Tenant>(await broker.bucket(TENANTS), lost)
  const jobs = await broker.bucket(JOBS)
  const watermark = await followWatermark(await broker.bucket(CHECKPOINTS), lost, clock)
  const { publish } = createPublisher(broker.connection)
  const idsOf = tenantIdsCache(await signingKey(await broker.bucket(SIGNING_KEYS), masterKeys, 'ids'))
  const directory = new WatchedDirectory()
  await mirrorBucket(await broker.bucket(DIRECTORY), lost, (key, value) => directory.apply(key, value))
  const identityKeyOf = identityKeysCache(await signingKey(await broker.bucket(SIGNING_KEYS), masterKeys, 'identities'))
  const blobs = await openBlobs(config)
  const watched = await mirrorBucket<StoredJob>(jobs, lost)
  const enqueue = jobQueue(publish, async (subject) => {
    return (await broker.manager.direct.getMessage(EXPORTS.name, { last_by_subj: subject })) !== null
  })
  const deps = {
    jobs,
    slots: await broker.bucket(EXPORT_PLACES),
    perTenant: config.exportsPerTenant,
    wake: waker(watched, enqueue, config.exportsPerTenant),
    source: exportSource(store),
    blobs,
    newestComplete: watermark.renewed,
    findTenant: (tenantId: string) => {
      const tenant = tenants.get(tenantId)
      return tenant && { name: tenant.name, residencyRegion: settingsOf(tenant).residency_region }
    },
    places: [thisInstance(config.region === '' ? null : config.region), blobs.place],
    workloadsOf: async (tenantId: string) => workloadHashes(directory, tenantId, identityKeyOf(tenantId)),
    unitPricesIn,
    publishEvent: eventPublisher(publish, idsOf),
    clock,
    log,
  }
  const sweeping = sweepJobs({ ...deps, watched, enqueue }, SWEEP_EVERY_MS, stopping.signal)
  const queue = {
    manager: broker.manager,
    stream: EXPORTS.name,
    consumer: EXPORTERS.durable_name,
    atOnce: jobsAtOnce(config.exportsPerTenant),
    log,
  }
  const working = workOff(queue, (work) => workOnJob(work, deps, stopping.signal), stopping.signal)
  log.info('exporting')

  await stopSignal()
  stopping.abort()
  await Promise.all([working, sweeping])
  await broker.close()
  await store.close()
})
