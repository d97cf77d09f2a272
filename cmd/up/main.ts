/**
 * Runs the service on one machine: a private nats-server and store unless the settings name others, and every role.
 * Keeps them running until it is asked to stop.
 */
import { fileURLToPath } from 'node:url'
import { listeningUrl } from '../../internal/config/listening-url.js'
import { banner, newSignInLink } from '../../internal/local/supervisor/banner.js'
import { Supervisor } from '../../internal/local/supervisor/children.js'
import { durabilityText } from '../../internal/local/supervisor/durability.js'
import { noteProcesses, surviveFullDisk } from '../../internal/local/supervisor/full-disk.js'
import { prepareInstance } from '../../internal/local/supervisor/prepare-instance.js'
import { runDemo } from '../../internal/local/supervisor/run-demo.js'
import { fillSandbox } from '../../internal/local/supervisor/sandbox.js'
import { localRoles } from '../../internal/local/supervisor/supervised-roles.js'
import { watchDependencies } from '../../internal/local/supervisor/watch-dependencies.js'
import { runMain, stopSignal } from '../../internal/process/main.js'
import { readMasterKeys } from '../../internal/secrets/master-keys.js'
import { claimInstance } from './instance.js'

/** `dist/cmd/<role>/main.js` */
const mainOf = (role: string): string => fileURLToPath(new URL(`../${role}/main.js`, import.meta.url))
const print = (line: string): void => void process.stderr.write(`  ${line}\n`)

runMain('up', async () => {
  const { config, files, addresses, metrics, http, envOf } = await claimInstance(print)
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
    const credentials = await prepareInstance(config, readMasterKeys(config), files, addresses, print)
    await supervisor.startAll(serving)
    await supervisor.startAll(background)
    const link = await newSignInLink(credentials, addresses)
    const { console_url: consoleUrl } = credentials
    const isPrivate = addresses.nats.ownPort !== undefined && addresses.store.ownPort !== undefined
    const durability = durabilityText({ durability: config.durability, isPrivate, folder: files.dataDir })
    const facts = { mode: config.mode, files, addresses, http, consoleUrl, signInLink: link, durability }
    process.stdout.write(banner({ ...facts, metrics: metricsUrl(config) }))
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
