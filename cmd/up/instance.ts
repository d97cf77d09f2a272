/** What comes before a process is started: the settings, the data folder, and the ports. */
import { readConfig, requireMetricsToken } from '../../internal/config/settings.js'
import { unknownVariables } from '../../internal/config/unknown-variables.js'
import { buildOf, describeBuild } from '../../internal/http/builds.js'
import { environmentsFor, sharedSettings } from '../../internal/local/supervisor/environment.js'
import { chooseAddresses } from '../../internal/local/supervisor/role-addresses.js'
import {
  openInstance,
  requireFreePort,
  takeOver,
  usableIntakePort,
  writeEnvironment,
} from '../../internal/local/supervisor/supervised-instance.js'
import { serveInstanceMetrics } from '../../internal/local/supervisor/supervised-roles.js'
import { dropMasterKeysHourly } from '../../internal/secrets/rotation.js'
import { UP_SETTINGS } from './settings.js'

/** Takes over the data folder, ending what a killed supervisor has left running. @throws ConfigError */
export async function claimInstance(print: (line: string) => void) {
  unknownVariables(process.env).forEach(print)
  const configured = readConfig(UP_SETTINGS, process.argv.slice(2), process.env)
  // Here, since the gateway would only say it in its log, again and again.
  const http = describeBuild(buildOf(configured.httpParser))
  // An operator who keeps the keys elsewhere names them in the settings.
  const ownsMasterKey = configured.masterKey === '' && configured.masterKeyFile === ''
  const { files, secrets } = openInstance(configured.dataDir, ownsMasterKey)
  await takeOver(files)
  await requireFreePort(configured.host, configured.port)
  requireMetricsToken(configured)
  if (configured.metricsPort !== 0)
    await requireFreePort(configured.metricsHost, configured.metricsPort, '--metrics-port')
  const metrics = await serveInstanceMetrics(configured)
  const config = {
    ...configured,
    intakePort: await usableIntakePort(configured.host, configured.intakePort, print),
    masterKeyFile: ownsMasterKey ? files.masterKey : configured.masterKeyFile,
  }
  const addresses = await chooseAddresses(config, secrets)
  const settings = sharedSettings(config, files, addresses)
  writeEnvironment(files, { ...settings, ATTRIBUTION_INTAKE_PORT: String(config.intakePort) })
  if (ownsMasterKey) dropMasterKeysHourly(files.masterKey, print)
  return { config, files, addresses, metrics, http, envOf: environmentsFor(settings, process.env, config) }
}
