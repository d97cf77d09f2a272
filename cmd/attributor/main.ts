/**
 * The attributor: runs the actors of the stages (the lane, A, T, B and C) on the partitions that this process owns, and
 * the readers of observations, changes, audit entries and events where this process owns them.
 */
import { openAttributor } from '../../internal/attribution/open-attributor.js'
import { openReferenceData } from '../../internal/attribution/open-reference-data.js'
import { openAuditLog } from '../../internal/audit/audit-actor.js'
import { auditOnce } from '../../internal/audit/audit-sink.js'
import { partitionsOf } from '../../internal/broker/layout.js'
import { openOwnedLogs } from '../../internal/broker/owned-logs.js'
import { createPublisher } from '../../internal/broker/publisher.js'
import { followWatermark } from '../../internal/broker/watermark.js'
import { openEventLog } from '../../internal/event-log/event-log-actor.js'
import { eventPublisher, eventsPublisher } from '../../internal/events/publish-event.js'
import { identityKeysCache, tenantIdsCache } from '../../internal/ids/ids.js'
import { openObservations } from '../../internal/ingest/observations/observation-actor.js'
import { runMain, untilAvailable } from '../../internal/process/main.js'
import { prepareSchema } from '../../internal/store/migrations/prepare-schema.js'
import { reportWhileWaiting } from '../../internal/telemetry/waiting-time.js'
import { watchSubscriptions } from '../../internal/webhooks/watch-webhooks.js'
import { CHECKPOINTS } from '../../streams/buckets.js'
import { startRole } from '../role.js'
import { keepReadModel } from './read-model.js'

runMain('attributor', async () => {
  const settings = ['indexStaleSeconds', 'stages', 'memberName', 'eventLogDays', 'sortedCopiesDays'] as const
  const role = await startRole('attributor', settings, { makesSpans: true })
  const { broker, config, onLost, log, signal, store } = role
  const partitions = partitionsOf(role.layout)
  const { storeConnection } = role
  const prepared = untilAvailable('the store', () => prepareSchema(store, storeConnection, config), log)
  await reportWhileWaiting('the store', storeConnection.url, prepared)
  const checkpoints = await broker.bucket(CHECKPOINTS)
  const publisher = createPublisher(broker.connection)
  const subscriptions = await watchSubscriptions(broker, onLost)
  const watermark = await followWatermark(checkpoints, onLost, role.clock)
  const staleMs = config.indexStaleSeconds * 1000
  const reference = await openReferenceData({ ...role, staleMs }, signal)
  // Last, since a member that is still loading copies would own partitions without reading them.
  // The lane feeds stage A.
  const membership = await role.join([...config.stages, ...(config.stages.includes('a') ? ['l'] : [])])
  const logs = openOwnedLogs({ ...role, checkpoints, membership }, signal)
  logs.run(await openObservations({ ...role, ...publisher, bytesMax: role.layout.observationsBytesMax }))
  logs.run(await openAuditLog({ ...role, ...publisher, key: await role.signingKey('audit') }))
  logs.read(await openEventLog(broker, store, log))
  const idsOf = tenantIdsCache(await role.signingKey('ids'))
  const attributor = await openAttributor(
    {
      ...role,
      ...config,
      partitions,
      invocationsBytesMax: role.layout.invocationsBytesMax,
      logs,
      membership,
      watermark,
      ...publisher,
      publishEvent: eventPublisher(publisher.publish, idsOf),
      publishEvents: eventsPublisher(publisher, idsOf),
      identityKeyOf: identityKeysCache(await role.signingKey('identities')),
      subscribesToRecords: (tenantId) => subscriptions(tenantId, 'attribution.materialized'),
      subscribesToMerges: (tenantId) => subscriptions(tenantId, 'attribution.merged'),
      audit: auditOnce(publisher.publish),
      staleMs,
      reference,
    },
    signal,
  )
  const owns = (work: string): boolean => membership.owns(work) && logs.deps.isPaused?.() !== true
  const readModel = keepReadModel(
    { ...role, ...config, owns, newestSnapshot: watermark.latest, progress: watermark.progress },
    signal,
  )
  log.info({ member: role.member, stages: config.stages, partitions }, 'attributing')

  await role.stopped()
  await attributor.stopped
  await Promise.all([logs.stopped(), readModel])
  await role.close()
})
