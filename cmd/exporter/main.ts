/**
 * The exporter: writes the files of export jobs from the read model, and delivers those of schedules to tenants'
 * buckets. Any number of exporters share the work.
 */

import { auditOnce } from '../../internal/audit/audit-sink.js'
import { mirrorBucket } from '../../internal/broker/mirror.js'
import { createPublisher } from '../../internal/broker/publisher.js'
import { BLOB_SETTINGS, WEBHOOK_TARGET_SETTINGS } from '../../internal/config/settings.js'
import { costObjectsIn } from '../../internal/directory/cost-objects.js'
import { WatchedDirectory, workloadHashes } from '../../internal/directory/directory.js'
import { openBlobs } from '../../internal/exports/blobs/open-blobs.js'
import { openExporter } from '../../internal/exports/open-exporter.js'
import { openRunner } from '../../internal/exports/schedules/ticker.js'
import { identityKeysCache, tenantIdsCache } from '../../internal/ids/ids.js'
import { readExtraCa } from '../../internal/outbound/extra-ca.js'
import { runMain } from '../../internal/process/main.js'
import { notifySupervisor } from '../../internal/process/notice.js'
import { DISK_EVERY_MS, watchBound } from '../../internal/telemetry/bounds.js'
import { unitPricesIn } from '../../internal/valuation/cost/unit-prices.js'
import { DIRECTORY } from '../../streams/buckets.js'
import { configureRole, connectRole } from '../role.js'

/** The store is silent for as long as it forms the groups of a large month. */
const STORE_SILENCE_MS_MAX = 30 * 60_000

const SETTINGS = ['exportsPerTenant', 'baseUrl', ...BLOB_SETTINGS, ...WEBHOOK_TARGET_SETTINGS] as const

runMain('exporter', async () => {
  const configured = configureRole('exporter', SETTINGS)
  const extraCa = readExtraCa(configured.config.webhookCaFile)
  const role = await connectRole(configured, { silenceMsMax: STORE_SILENCE_MS_MAX })
  const { broker, config, onLost } = role
  const directory = new WatchedDirectory()
  await mirrorBucket(await broker.bucket(DIRECTORY), onLost, (key, value) => directory.apply(key, value))
  const identityKeyOf = identityKeysCache(await role.signingKey('identities'))
  const blobs = await openBlobs(config)
  const shared = {
    broker,
    store: role.store,
    blobs,
    instanceRegion: config.region === '' ? null : config.region,
    idsOf: tenantIdsCache(await role.signingKey('ids')),
    onLost,
    clock: role.clock,
    log: role.log,
  }
  const exporter = await openExporter(
    {
      ...shared,
      perTenant: config.exportsPerTenant,
      workloadsOf: async (tenantId) => workloadHashes(directory, tenantId, identityKeyOf(tenantId)),
      costObjectsOf: (tenantId) => costObjectsIn(directory, tenantId),
      unitPricesIn,
    },
    role.signal,
  )
  const { publish } = createPublisher(broker.connection)
  const runner = await openRunner(
    {
      ...shared,
      ...{ publish, audit: auditOnce(publish), member: role.member },
      masterKeys: role.masterKeys,
      targets: config,
      extraCa,
      baseUrl: config.baseUrl,
    },
    role.signal,
  )
  const used = () => blobs.usedShare()
  const watched = { bound: 'exports', used, everyMs: DISK_EVERY_MS, notify: notifySupervisor, log: role.log } as const
  void watchBound(watched, role.signal)
  role.log.info('exporting')

  await role.stopped()
  await Promise.all([exporter.stopped, runner.stopped])
  await role.close()
})
