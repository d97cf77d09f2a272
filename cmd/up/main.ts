/**
 * Runs the service on one machine: a private nats-server and store unless the settings name others, and every role. Keeps
 * them running until it is asked to stop.
 */
import { fileURLToPath } from 'node:url'
import { readConfig } from '../../internal/config/settings.js'
import { unknownVariables } from '../../internal/config/unknown-variables.js'
import { chooseAddresses } from '../../internal/local/supervisor/addresses.js'
import { banner } from '../../internal/local/supervisor/banner.js'
import { Supervisor } from '../../internal/local/supervisor/children.js'
import { runDemo } from '../../internal/local/supervisor/demo.js'
import { dropMasterKeysHourly } from '../../internal/local/supervisor/drop-master-keys.js'
import { inherited, inheritedForS3, sharedSettings } from '../../internal/local/supervisor/environment.js'
import {
  openInstance,
  requireFreePort,
  takeOver,
  writePrivate,
  writeRunFile,
} from '../../internal/local/supervisor/instance.js'
import { prepareInstance } from '../../internal/local/supervisor/prepare-instance.js'
import { answersAt } from '../../internal/local/supervisor/readiness.js'
import { localRoles } from '../../internal/local/supervisor/roles.js'
import { fillSandbox } from '../../internal/local/supervisor/sandbox.js'
import { runMain, stopSignal } from '../../internal/process/main.js'
import { readMasterKeys } from '../../internal/secrets/master-keys.js'
import { sayWhileWaiting } from '../../internal/telemetry/waiting.js'
import { UP_SETTINGS } from './settings.js'

/** `dist/cmd/<role>/main.js` */
const mainOf = (role: string): string => fileURLToPath(new URL(`../${role}/main.js`, import.meta.url))
const print = (line: string): void => void process.stderr.write(`  ${line}\n`)

runMain('up', async () => {
  unknownVariables(process.env).forEach(print)
  const config = readConfig(UP_SETTINGS, process.argv.slice(2), process.env)
  // An operator who keeps the keys elsewhere names them in the settings.
  const ownsMasterKey = config.masterKey === '' && config.masterKeyFile === ''
  const { files, secrets } = openInstance(config.dataDir, ownsMasterKey)
  await takeOver(files)
  await requireFreePort(config.host, config.port)
  const addresses = await chooseAddresses(config, secrets)
  const masterKeyFile = ownsMasterKey ? files.masterKey : config.masterKeyFile
  const settings = sharedSettings({ ...config, masterKeyFile }, files, addresses)
  const { ATTRIBUTION_MASTER_KEY: _key, ...withoutMasterKey } = settings
  writePrivate(files.environment, `${JSON.stringify(withoutMasterKey, null, 2)}\n`)
  const env = { ...inherited(process.env), ...settings }
  const s3Env = config.exportsS3Bucket === '' ? env : { ...env, ...inheritedForS3(process.env) }
  // Gateways hand out the files that exporters write.
  const envOf = (role: string) => (role === 'gateway' || role === 'exporter' ? s3Env : env)

  if (ownsMasterKey) dropMasterKeysHourly(files.masterKey, print)
  const supervisor = new Supervisor({ logsDir: files.logsDir, print, onChange: (pids) => writeRunFile(files, pids) })
  const stopping = stopSignal()
  try {
    const { dependencies, serving, background } = localRoles({ config, files, addresses, mainOf, envOf })
    await supervisor.startAll(dependencies)
    await prepareInstance(config, readMasterKeys({ ...config, masterKeyFile }), files, addresses)
    if (addresses.store.ownPort === undefined) {
      const answers = answersAt(`${addresses.store.url}/ping`)(new AbortController().signal)
      await sayWhileWaiting('the store', addresses.store.url, answers, print)
    }
    await supervisor.startAll(serving)
    for (const role of background) await supervisor.start(role)
    process.stdout.write(banner({ mode: config.mode, files, addresses }))

    const cliMain = mainOf('attribution')
    const demo = config.demo ? runDemo(cliMain, files, env, config.demoSpeed, config.demoEventIds) : undefined
    const filling = config.mode === 'sandbox' ? fillSandbox(cliMain, files, env) : undefined
    await stopping
    demo?.kill()
    filling?.kill()
    print('stopping')
  } finally {
    await supervisor.stop()
  }
})
