/**
 * The sentinel: checks budgets, spend and coverage and emits an event when a limit is crossed. Several sentinels share
 * the tenants.
 */

import type { StoredConnector } from '../../internal/access/connectors/connector.js'
import { watchHealth } from '../../internal/access/connectors/connector-health.js'
import { applyPending } from '../../internal/access/tenants/apply-pending.js'
import { auditOnce } from '../../internal/audit/audit-sink.js'
import type { Tenant } from '../../internal/auth/tenant.js'
import { mirrorBucket } from '../../internal/broker/mirror.js'
import { createPublisher } from '../../internal/broker/publisher.js'
import { bucketRecords } from '../../internal/broker/records.js'
import { watchRecords } from '../../internal/broker/watched-records.js'
import { WatchedDirectory } from '../../internal/directory/directory.js'
import { eventPublisher } from '../../internal/events/publish-event.js'
import { tenantIdsCache } from '../../internal/ids/ids.js'
import { runMain } from '../../internal/process/main.js'
import { openSentinel } from '../../internal/sentinel/open-sentinel.js'
import { CONNECTORS, DIRECTORY, TENANTS } from '../../streams/buckets.js'
import { startRole } from '../role.js'

runMain('sentinel', async () => {
  const role = await startRole('sentinel', ['memberName', 'sentinelEveryMs', 'surveyEveryMs'])
  const { broker, clock, config, onLost, member } = role
  const directory = new WatchedDirectory()
  await mirrorBucket(await broker.bucket(DIRECTORY), onLost, (key, value) => directory.apply(key, value))
  const connectors = await watchRecords<StoredConnector>(await broker.bucket(CONNECTORS), onLost)
  const { publish } = createPublisher(broker.connection)
  const idsOf = tenantIdsCache(await role.signingKey('ids'))
  const tenants = bucketRecords<Tenant>(await broker.bucket(TENANTS), async () => undefined)
  const publishEvent = eventPublisher(publish, idsOf)
  const sentinel = await openSentinel(
    {
      broker,
      store: role.store,
      publish,
      membership: await role.join(),
      idsOf,
      sourcesOf: (tenantId) => directory.sources(tenantId),
      async applyPending(tenant) {
        for (const { setting, to } of await applyPending(tenant, { tenants, auditOnce: auditOnce(publish), clock })) {
          role.log.info({ tenantId: tenant.id, setting, to }, 'applied a pending change of settings')
        }
      },
      watchConnectors: (tenantId) => watchHealth(tenantId, { connectors, publishEvent, clock }),
      budgetsEveryMs: config.sentinelEveryMs,
      surveyEveryMs: config.surveyEveryMs,
      onLost,
      clock,
      log: role.log,
    },
    role.signal,
  )
  role.log.info({ member }, 'watching')

  await role.stopped()
  await sentinel.stopped
  await role.close()
})
