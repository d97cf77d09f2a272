import { isHealthLapsed } from './connector.js'
import { type HealthDeps, lapseHealth } from './connector-health.js'

/**
 * Checks the health of a tenant's connectors: without a recent report it becomes `unknown`, and a change that a gateway
 * could not publish is published.
 */
export async function watchHealth(tenantId: string, deps: HealthDeps): Promise<void> {
  for (const connector of [...deps.connectors.of(tenantId)]) {
    if (!connector.health.is_announced || isHealthLapsed(connector, deps.clock())) await lapseHealth(connector.id, deps)
  }
}
