import { BACKGROUND_ROLES, type Config } from '../../config/settings.js'
import { type MetricsServer, serveJoinedMetrics } from '../../telemetry/metrics-server.js'
import { freePort } from './supervised-instance.js'

export interface InstanceMetrics extends MetricsServer {
  readonly portOf: (role: string) => number | undefined
}

type MetricsConfig = Config<'metricsPort' | 'metricsHost' | 'metricsToken' | 'withoutRoles'>

/**
 * Serves the metrics of all roles of an instance on one port, each with the label `role`. Each role serves its own on a
 * port of loopback.
 *
 * @throws Error when the address cannot be listened on
 */
export async function serveInstanceMetrics(config: MetricsConfig): Promise<InstanceMetrics> {
  if (config.metricsPort === 0) return { portOf: () => undefined, close: async () => undefined }
  const ports = new Map<string, number>()
  const background = BACKGROUND_ROLES.filter((role) => !config.withoutRoles.includes(role))
  for (const role of ['gateway', 'attributor', ...background]) ports.set(role, await freePort())
  const addresses = new Map([...ports].map(([role, port]) => [role, `http://127.0.0.1:${port}/metrics`]))
  const server = await serveJoinedMetrics(config, addresses)
  return { portOf: (role) => ports.get(role), close: server.close }
}
