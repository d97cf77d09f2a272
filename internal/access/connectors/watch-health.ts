import { isHealthLapsed } from './connector.js'
import { type HealthDeps, lapseHealth } from './health.js'

/**
 * Checks the health of a tenant's connectors: one that has not reported for long becomes `unknown`, and a change that its
 * gateway could not announce is announced.
 */
export async function watchHealth(tenantId: string, deps: HealthDeps): Promise<void> {
  for (const connector of [...deps.connectors.of(tenantId)]) {
    if (!connector.health.is_announced || isHealthLapsed(connector, deps.clock())) await lapseHealth(connector.id, deps)
  }
}
