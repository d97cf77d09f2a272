import { isHealthLapsed } from '../access/connectors/connector.js'
import { type HealthDeps, lapseHealth } from '../access/connectors/health.js'

/**
 * Looks after what a tenant's connectors said of themselves: whoever has said nothing for long is not known to be well any
 * more, and a change that its taker could not publish is published.
 */
export async function watchConnectors(tenantId: string, deps: HealthDeps): Promise<void> {
  for (const connector of [...deps.connectors.of(tenantId)]) {
    if (!connector.health.is_announced || isHealthLapsed(connector, deps.clock())) await lapseHealth(connector.id, deps)
  }
}
