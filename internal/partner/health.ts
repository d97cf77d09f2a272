import type { WatchedRecords } from '../broker/watched-records.js'
import { type StoredConnector, withReport } from '../connectors/connector.js'
import type { PublishEvent } from '../events/publish.js'
import type { HealthReport } from './contract.js'

export interface HealthDeps {
  readonly connectors: WatchedRecords<StoredConnector>
  readonly publishEvent: PublishEvent
  readonly clock: () => number
}

/**
 * Takes a connector's report of its health. Each change is published once it is kept and before the next is, also when
 * the one who took it died in between; the same change again is the same event.
 *
 * @returns the connector as it is then; undefined when it is gone
 */
export async function reportHealth(
  id: string,
  { status, reason }: HealthReport,
  { connectors, publishEvent, clock }: HealthDeps,
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
  let isTaken = false
  while (connector !== undefined) {
    if (!connector.health.is_announced) connector = await announce(connector)
    else if (isTaken) return connector
    else {
      const reportedAt = new Date(clock()).toISOString()
      connector = await connectors.change(id, (found) => {
        isTaken = found.health.is_announced
        return isTaken ? withReport(found, { status, reason: reason ?? null }, reportedAt) : undefined
      })
    }
  }
  return undefined
}
