/** The exporter: writes the files of export jobs from the read model. Any number of exporters share the queue. */
import { WatchedDirectory } from '../../internal/attribution/directory/directory.js'
import { workloadHashes } from '../../internal/attribution/directory/workloads.js'
import { unitPricesIn } from '../../internal/attribution/valuation/cost/unit-prices.js'
import { mirrorBucket } from '../../internal/broker/mirror.js'
import { BLOB_SETTINGS } from '../../internal/config/settings.js'
import { openBlobs } from '../../internal/exports/blobs/open.js'
import { openExporter } from '../../internal/exports/open-exporter.js'
import { identityKeysCache, tenantIdsCache } from '../../internal/ids/ids.js'
import { runMain } from '../../internal/process/main.js'
import { DIRECTORY } from '../../streams/buckets.js'
import { startRole } from '../role.js'

/** The store is silent for as long as it forms the groups of a large month. */
const STORE_SILENCE_MS_MAX = 30 * 60_000

runMain('exporter', async () => {
  const role = await startRole('exporter', ['exportsPerTenant', ...BLOB_SETTINGS], {
    silenceMsMax: STORE_SILENCE_MS_MAX,
  })
  const { broker, config, onLost } = role
  const directory = new WatchedDirectory()
  await mirrorBucket(await broker.bucket(DIRECTORY), onLost, (key, value) => directory.apply(key, value))
  const identityKeyOf = identityKeysCache(await role.signingKey('identities'))
  const exporter = await openExporter(
    {
      broker,
      store: role.store,
      blobs: await openBlobs(config),
      perTenant: config.exportsPerTenant,
      instanceRegion: config.region === '' ? null : config.region,
      workloadsOf: async (tenantId) => workloadHashes(directory, tenantId, identityKeyOf(tenantId)),
      unitPricesIn,
      idsOf: tenantIdsCache(await role.signingKey('ids')),
      onLost,
      clock: role.clock,
      log: role.log,
    },
    role.signal,
  )
  role.log.info('exporting')

  await role.stopped()
  await exporter.stopped
  await role.close()
})
