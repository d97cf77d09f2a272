/**
 * Everything at once for one machine: a private nats-server and store unless others are named, the gateway and the
 * attributor, kept running until it is asked to stop.
 */
import { fileURLToPath } from 'node:url'
import { connectBroker, ensureStreams } from '../../internal/broker/connect.js'
import { listeningUrl } from '../../internal/config/listening-url.js'
import {
  BLOB_SETTINGS,
  BROKER_SETTINGS,
  COURIER_SETTINGS,
  ConfigError,
  environmentOf,
  MASTER_KEY_SETTINGS,
  RATE_SETTINGS,
  readConfig,
  STORE_SETTINGS,
  TLS_SETTINGS,
  WEBHOOK_TARGET_SETTINGS,
} from '../../internal/config/settings.js'
import { readTls } from '../../internal/http/tls.js'
import { banner } from '../../internal/local/supervisor/banner.js'
import { bootstrapTenant } from '../../internal/local/supervisor/bootstrap.js'
import { type Role, Supervisor } from '../../internal/local/supervisor/children.js'
import { runDemo } from '../../internal/local/supervisor/demo.js'
import { inherited, inheritedForS3 } from '../../internal/local/supervisor/environment.js'
import {
  freePort,
  openInstance,
  requireFreePort,
  takeOver,
  writePrivate,
  writeRunFile,
} from '../../internal/local/supervisor/instance.js'
import { natsServerRole } from '../../internal/local/supervisor/nats-server.js'
import { COURIER_NODE_FLAGS, GATEWAY_NODE_FLAGS } from '../../internal/local/supervisor/processes.js'
import { answersAt } from '../../internal/local/supervisor/readiness.js'
import { fillSandbox } from '../../internal/local/supervisor/sandbox.js'
import { runMain, stopSignal, untilAvailable } from '../../internal/process/main.js'
import { readMasterKeys } from '../../internal/secrets/master-keys.js'
import { dropMasterKeys } from '../../internal/secrets/rotation.js'
import { createLog } from '../../internal/telemetry/log.js'

/** `dist/cmd/<role>/main.js` */
const mainOf = (role: string): string => fileURLToPath(new URL(`../${role}/main.js`, import.meta.url))
const NATS_USER = 'attribution'
const HOUR_MS = 60 * 60 * 1000

/** Keys that a rotation has replaced, once they open nothing any more. */
function dropMasterKeysHourly(file: string, say: (line: string) => void): void {
  const drop = (): void => {
    try {
      dropMasterKeys(file, Date.now())
    } catch (cause) {
      say((cause as Error).message)
    }
  }
  drop()
  setInterval(drop, HOUR_MS).unref()
}

runMain('up', async () => {
  const config = readConfig(
    [
      'host',
      'port',
      'mode',
      'logLevel',
      'baseUrl',
      'errorDocsUrl',
      'demo',
      'demoSpeed',
      'demoEventIds',
      'partitions',
      'indexStaleSeconds',
      'trainEveryMinutes',
      'natsServerBin',
      ...MASTER_KEY_SETTINGS,
      ...BROKER_SETTINGS,
      'spoolBytesMax',
      'sentinelEveryMs',
      'surveyEveryMs',
      ...RATE_SETTINGS,
      ...WEBHOOK_TARGET_SETTINGS,
      ...COURIER_SETTINGS,
      ...STORE_SETTINGS,
      'storeCluster',
      'storeMemoryBytesMax',
      ...BLOB_SETTINGS,
      'exportsPerTenant',
      'accessTokenSeconds',
      ...TLS_SETTINGS,
    ],
    process.argv.slice(2),
    process.env,
  )
  const say = (line: string): void => void process.stderr.write(`  ${line}\n`)
  // The keys of an operator who keeps them elsewhere come before one in the data folder.
  const ownsMasterKey = config.masterKey === '' && config.masterKeyFile === ''
  const { files, secrets } = openInstance(config.dataDir, ownsMasterKey)
  await takeOver(files)
  await requireFreePort(config.host, config.port)

  const ownsNats = config.natsUrl === ''
  const natsPort = ownsNats ? await freePort() : 0
  const nats = ownsNats
    ? { url: `nats://127.0.0.1:${natsPort}`, user: NATS_USER, password: secrets.natsPassword }
    : { url: config.natsUrl, user: config.natsUser, password: config.natsPassword }
  const ownsStore = config.storeUrl === ''
  const storePort = ownsStore ? await freePort() : 0
  const storeUrl = ownsStore ? `http://127.0.0.1:${storePort}` : config.storeUrl
  const storePassword = ownsStore ? secrets.storePassword : config.storePassword
  const listening = listeningUrl(config.host, config.port, readTls(config) !== undefined)
  const baseUrl = config.baseUrl === '' ? listening : config.baseUrl

  const masterKeyFile = ownsMasterKey ? files.masterKey : config.masterKeyFile
  const { host: _host, port: _port, demo: _demo, demoSpeed, demoEventIds, natsServerBin, ...shared } = config
  const settings = environmentOf({
    ...shared,
    baseUrl,
    dataDir: files.dataDir,
    masterKeyFile,
    natsUrl: nats.url,
    natsUser: nats.user,
    natsPassword: nats.password,
    storeUrl,
    storePassword,
  })
  const env = { ...inherited(process.env), ...settings }
  // Gateways hand out what exporters write.
  const s3Env = config.exportsS3Bucket === '' ? env : { ...env, ...inheritedForS3(process.env) }
  const { ATTRIBUTION_MASTER_KEY: _key, ...told }: Record<string, string> = settings
  writePrivate(files.environment, `${JSON.stringify(told, null, 2)}\n`)
  const role = (
    name: string,
    args: readonly string[],
    ready: Role['ready'],
    nodeFlags: readonly string[] = [],
  ): Role => ({
    name,
    command: process.execPath,
    args: [...nodeFlags, mainOf(name), ...args],
    env: name === 'gateway' || name === 'exporter' ? s3Env : env,
    ready,
  })

  if (ownsMasterKey) dropMasterKeysHourly(files.masterKey, say)
  const supervisor = new Supervisor({ logsDir: files.logsDir, say, onChange: (pids) => writeRunFile(files, pids) })
  const stopping = stopSignal()
  try {
    const first: Role[] = []
    if (ownsNats) {
      if (natsServerBin === '')
        throw new ConfigError('no nats-server is named: start with "npm start", or set --nats-server-bin')
      first.push(natsServerRole(natsServerBin, files, natsPort, nats.user, nats.password))
    }
    if (ownsStore) {
      const args = [
        '--data-dir',
        files.dataDir,
        '--store-port',
        String(storePort),
        '--store-memory-bytes-max',
        String(config.storeMemoryBytesMax),
      ]
      first.push(role('store', args, answersAt(`${storeUrl}/ping`)))
    }
    await Promise.all(first.map((one) => supervisor.start(one)))
    const broker = await connectBroker({ ...nats, name: 'up' })
    await untilAvailable(
      'JetStream',
      () => ensureStreams(broker, { ...config, replicas: config.streamReplicas }),
      createLog('up', config.logLevel),
    )
    await bootstrapTenant(broker, files, readMasterKeys({ ...config, masterKeyFile }), config.mode, baseUrl)
    await broker.close()

    const gatewayArgs = ['--host', config.host, '--port', String(config.port), '--base-url', baseUrl]
    await Promise.all([
      supervisor.start(role('gateway', gatewayArgs, answersAt(`${listening}/healthz`), GATEWAY_NODE_FLAGS)),
      supervisor.start(role('attributor', ['--member-name', 'attributor-1'], answersAt(`${listening}/readyz`))),
    ])
    // Nobody waits for these: what they are to do does.
    await supervisor.start(role('courier', ['--member-name', 'courier-1'], async () => undefined, COURIER_NODE_FLAGS))
    await supervisor.start(role('exporter', [], async () => undefined))
    await supervisor.start(role('sentinel', ['--member-name', 'sentinel-1'], async () => undefined))
    await supervisor.start(role('trainer', ['--member-name', 'trainer-1'], async () => undefined))
    process.stdout.write(banner({ baseUrl, files, mode: config.mode, ownsNats, ownsStore }))

    const demo = config.demo ? runDemo(mainOf('attribution'), files, env, demoSpeed, demoEventIds) : undefined
    const filling = config.mode === 'sandbox' ? fillSandbox(mainOf('attribution'), files, env) : undefined
    await stopping
    demo?.kill()
    filling?.kill()
    say('stopping')
  } finally {
    await supervisor.stop()
  }
})
