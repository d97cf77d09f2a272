/** The trainer: trains, validates and publishes tenants' stage-B models, on a schedule and on request. */
import { constants, setPriority } from 'node:os'
import { settingsOf, type Tenant } from '../../internal/auth/tenant.js'
import { mirrorBucket } from '../../internal/broker/mirror.js'
import { followWatermark } from '../../internal/broker/watermark.js'
import { WatchedDirectory } from '../../internal/directory/directory.js'
import { tenantIdsCache } from '../../internal/ids/ids.js'
import { openTrainer } from '../../internal/inference/training/open-training.js'
import { resolvedByDirectory } from '../../internal/inference/training/resolved-events.js'
import { runMain } from '../../internal/process/main.js'
import { CHECKPOINTS, DIRECTORY, TENANTS } from '../../streams/buckets.js'
import { startRole } from '../role.js'

const MINUTE_MS = 60 * 1000
/** Newly resolved records change a model's score in minutes, not seconds. */
const WATCH_EVERY_MS = 15 * 1000

runMain('trainer', async () => {
  // Training can wait for the processes that answer callers.
  setPriority(constants.priority.PRIORITY_LOW)
  const role = await startRole('trainer', ['memberName', 'trainEveryMinutes'])
  const { broker, config, log, onLost, member } = role
  const tenants = await mirrorBucket<Tenant>(await broker.bucket(TENANTS), onLost)
  const membership = await role.join()
  const watermark = await followWatermark(await broker.bucket(CHECKPOINTS), onLost, role.clock)

  const idsOf = tenantIdsCache(await role.signingKey('ids'))
  const directory = new WatchedDirectory()
  await mirrorBucket<unknown>(await broker.bucket(DIRECTORY), onLost, (key, value) => directory.apply(key, value))
  const resolvedBy = (tenantId: string) => resolvedByDirectory(directory, tenantId, idsOf(tenantId).sip)

  const running = openTrainer(
    {
      broker,
      store: role.storeConnection,
      member,
      tenantIds: () => [...tenants.entries()].map(([tenantId]) => tenantId),
      owns: membership.owns,
      isEnabled: (tenantId) => settingsOf(tenants.get(tenantId)).stage_b_enabled,
      everyMs: config.trainEveryMinutes * MINUTE_MS,
      watchEveryMs: WATCH_EVERY_MS,
      resolvedBy,
      completeAsOf: watermark.renewed,
      idsOf,
      clock: role.clock,
      onLost,
      log,
    },
    role.signal,
  )
  log.info({ member, everyMinutes: config.trainEveryMinutes }, 'training')

  await role.stopped()
  await running
  await role.close()
})
