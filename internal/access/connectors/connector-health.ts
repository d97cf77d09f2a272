import type { WatchedRecords } from '../../broker/watched-records.js'
import type { PublishEvent } from '../../events/publish-event.js'
import { isHealthExpired, type StoredConnector, withHealth } from './connector.js'
import type { HealthReport } from './connector-contract.js'

export interface HealthDeps {
  readonly connectors: WatchedRecords<StoredConnector>
  readonly publishEvent: PublishEvent
  readonly clock: () => number
}

/**
 * Stores a connector's report of its health.
 *
 * @returns the updated connector; undefined when it was deleted
 */
export const reportHealth = (
  id: string,
  { status, reason }: HealthReport,
  deps: HealthDeps,
): Promise<StoredConnector | undefined> =>
  changeHealth(id, deps, (connector) => {
    const at = new Date(deps.clock()).toISOString()
    return withHealth(connector, { status, reason: reason ?? null, reported_at: at }, at)
  })

/** Sets the health to `unknown` when the last report is too old. */
export const expireHealth = (id: string, deps: HealthDeps): Promise<StoredConnector | undefined> =>
  changeHealth(id, deps, (connector) => {
    if (!isHealthExpired(connector, deps.clock())) return undefined
    const { reported_at } = connector.health
    return withHealth(
      connector,
      { status: 'unknown', reason: 'not_reported', reported_at },
      new Date(deps.clock()).toISOString(),
    )
  })

/**
 * Publishes each change after it is stored and before the next one is, even if the process that stored it crashed in
 * between. Publishing a change again repeats the same event.
 */
async function changeHealth(
  id: string,
  { connectors, publishEvent }: HealthDeps,
  changed: (connector: StoredConnector) => StoredConnector | undefined,
): Promise<StoredConnector | undefined> {
  const announce = async ({ tenant_id: tenantId, health }: StoredConnector): Promise<StoredConnector | undefined> => {
    const { changes, was: from, status: to } = health
    await publishEvent({
      tenantId,
      type: 'connector.health.changed',
      cause: `${id} ${changes}`,
      data: { connector_id: id, from, to },
    })
    return connectors.change(id, (connector) =>
      connector.health.changes === changes
        ? { ...connector, health: { ...connector.health, is_announced: true } }
        : undefined,
    )
  }

  let connector = await connectors.read(id)
  let isStored = false
  while (connector !== undefined) {
    if (!connector.health.is_announced) connector = await announce(connector)
    else if (isStored) return connector
    else {
      connector = await connectors.change(id, (found) => {
        isStored = found.health.is_announced
        return isStored ? changed(found) : undefined
      })
    }
  }
  return undefined
}

/**
 * Checks the health of a tenant's connectors: without a recent report it becomes `unknown`, and a change that a gateway
 * could not publish is published.
 */
export async function watchHealth(tenantId: string, deps: HealthDeps): Promise<void> {
  for (const connector of [...deps.connectors.of(tenantId)]) {
    if (!connector.health.is_announced || isHealthExpired(connector, deps.clock()))
      await expireHealth(connector.id, deps)
  }
}
