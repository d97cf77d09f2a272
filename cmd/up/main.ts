/**
 * Runs the service on one machine: a private nats-server and store unless the settings name others, and every role. Keeps
 * them running until it is asked to stop.
 */
import { fileURLToPath } from 'node:url'
import { listeningUrl } from '../../internal/config/listening-url.js'
import { readConfig, requireMetricsToken } from '../../internal/config/settings.js'
import { unknownVariables } from '../../internal/config/unknown-variables.js'
import { describeBuild, newestBuild } from '../../internal/http/builds.js'
import { chooseAddresses } from '../../internal/local/supervisor/addresses.js'
import { banner } from '../../internal/local/supervisor/banner.js'
import { Supervisor } from '../../internal/local/supervisor/children.js'
import { runDemo } from '../../internal/local/supervisor/demo.js'
import { dropMasterKeysHourly } from '../../internal/local/supervisor/drop-master-keys.js'
import { environmentsFor, sharedSettings } from '../../internal/local/supervisor/environment.js'
import { noteProcesses, surviveFullDisk } from '../../internal/local/supervisor/full-disk.js'
import {
  openInstance,
  requireFreePort,
  takeOver,
  usableIntakePort,
  writeEnvironment,
} from '../../internal/local/supervisor/instance.js'
import { serveInstanceMetrics } from '../../internal/local/supervisor/metrics.js'
import { prepareInstance } from '../../internal/local/supervisor/prepare-instance.js'
import { localRoles } from '../../internal/local/supervisor/roles.js'
import { fillSandbox } from '../../internal/local/supervisor/sandbox.js'
import { newSignInLink } from '../../internal/local/supervisor/sign-in-link.js'
import { watchDependencies } from '../../internal/local/supervisor/watch-dependencies.js'
import { runMain, stopSignal } from '../../internal/process/main.js'
import { readMasterKeys } from '../../internal/secrets/master-keys.js'
import { UP_SETTINGS } from './settings.js'

/** `dist/cmd/<role>/main.js` */
const mainOf = (role: string): string => fileURLToPath(new URL(`../${role}/main.js`, import.meta.url))
const print = (line: string): void => void process.stderr.write(`  ${line}\n`)

runMain('up', async () => {
  unknownVariables(process.env).forEach(print)
  const configured = readConfig(UP_SETTINGS, process.argv.slice(2), process.env)
  // Here, since the gateway would only say it in its log, again and again.
  const http = describeBuild(newestBuild())
  // An operator who keeps the keys elsewhere names them in the settings.
  const ownsMasterKey = configured.masterKey === '' && configured.masterKeyFile === ''
  const { files, secrets } = openInstance(configured.dataDir, ownsMasterKey)
  await takeOver(files)
  await requireFreePort(configured.host, configured.port)
  requireMetricsToken(configured)
  if (configured.metricsPort !== 0)
    await requireFreePort(configured.metricsHost, configured.metricsPort, '--metrics-port')
  const metrics = await serveInstanceMetrics(configured)
  const config = { ...configured, intakePort: await usableIntakePort(configured.host, configured.intakePort, print) }
  const addresses = await chooseAddresses(config, secrets)
  const masterKeyFile = ownsMasterKey ? files.masterKey : config.masterKeyFile
  const settings = sharedSettings({ ...config, masterKeyFile }, files, addresses)
  writeEnvironment(files, { ...settings, ATTRIBUTION_INTAKE_PORT: String(config.intakePort) })
  const envOf = environmentsFor(settings, process.env, config)

  if (ownsMasterKey) dropMasterKeysHourly(files.masterKey, print)
  const supervisor = new Supervisor({
    logsDir: files.logsDir,
    print,
    onChange: (pids) => noteProcesses(files, pids),
  })
  const disk = surviveFullDisk(supervisor, files, config.natsUrl === '', print)
  const stopped = stopSignal()
  const start = async (): Promise<void> => {
    const { dependencies, serving, background } = localRoles({
      config,
      files,
      addresses,
      mainOf,
      envOf,
      metricsPortOf: metrics.portOf,
    })
    await supervisor.startAll(dependencies)
    void stopped.then(watchDependencies(files, addresses, print).stop)
    const masterKeys = readMasterKeys({ ...config, masterKeyFile })
    const credentials = await prepareInstance(config, masterKeys, files, addresses, print)
    await supervisor.startAll(serving)
    await supervisor.startAll(background)
    const link = await newSignInLink(credentials, addresses)
    const { console_url: consoleUrl } = credentials
    process.stdout.write(
      banner({ mode: config.mode, files, addresses, http, consoleUrl, signInLink: link, metrics: metricsUrl(config) }),
    )
  }
  try {
    // It may wait for a broker or a store without end.
    if (await Promise.race([start().then(() => true), stopped.then(() => false)])) {
      const [cliMain, env] = [mainOf('attribution'), envOf('attribution')]
      const demo = config.demo ? runDemo(cliMain, files, env, config.demoSpeed, config.demoEventIds) : undefined
      const filling = config.mode === 'sandbox' ? fillSandbox(cliMain, files, env) : undefined
      await stopped
      for (const child of [demo, filling]) child?.kill()
    }
    print('stopping')
  } finally {
    disk.stop()
    await supervisor.stop()
    await metrics.close()
  }
})

const metricsUrl = ({ metricsHost, metricsPort }: { metricsHost: string; metricsPort: number }): string | undefined =>
  metricsPort === 0 ? undefined : `${listeningUrl(metricsHost, metricsPort, false)}/metrics`
