import { mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { StorageType } from '@nats-io/jetstream'
import { type Broker, connectBroker, ensureStreams } from '../../internal/broker/connect.js'
import { bootstrapTenant, type Credentials } from '../../internal/local/supervisor/bootstrap.js'
import { natsPidFile, natsServerRole } from '../../internal/local/supervisor/nats-server.js'
import { nodeFlagsOf } from '../../internal/local/supervisor/processes.js'
import { answersAt } from '../../internal/local/supervisor/readiness.js'
import { freePort, type InstanceFiles, openInstance } from '../../internal/local/supervisor/supervised-instance.js'
import { readMasterKeys } from '../../internal/secrets/master-keys.js'
import { connectStore } from '../../internal/store/client.js'
import { createDatabase, migrate } from '../../internal/store/migrations/migrate.js'
import type { Processes } from '../processes.js'

/** A server under load. */
export interface Server {
  readonly name: ServerName
  readonly port: number
  readonly pid: number
  /** Further processes on the same port. */
  readonly siblings?: readonly number[]
}
export type ServerName = 'bare' | 'ours' | 'fastify'

/** What all servers of one run share: a private broker, and the first tenant of an instance of ours. */
export interface Ground {
  readonly processes: Processes
  readonly files: InstanceFiles
  readonly broker: Broker
  readonly brokerPid: number
  /** Of the first tenant, as in its credentials file. */
  readonly credentials: Credentials
  readonly nats: { readonly url: string; readonly user: string; readonly password: string }
  readonly storePassword: string
}

export const FASTIFY_STREAM = 'BENCH_FASTIFY'
const FASTIFY_SUBJECT = 'bench.fastify'

const INVOCATIONS_BYTES_MAX = 8 * 1024 ** 3
const NATS_USER = 'bench'

/** `dist/cmd/<role>/main.js` and `dist/bench/ingest/<name>.js` */
export const roleMain = (role: string): string => fileURLToPath(new URL(`../../cmd/${role}/main.js`, import.meta.url))
const benchMain = (name: string): string => fileURLToPath(new URL(`./${name}.js`, import.meta.url))

/** Starts a private nats-server with its data in `folder`, and makes the streams, the first tenant and its key. */
export async function prepareGround(
  folder: string,
  natsServerBin: string,
  processes: Processes,
  durability: 'power' | 'process' = 'power',
): Promise<Ground> {
  const { files, secrets } = openInstance(join(folder, 'instance'), true)
  const port = await freePort()
  await processes.start(
    natsServerRole(natsServerBin, files, {
      port,
      user: NATS_USER,
      password: secrets.natsPassword,
      durability,
    }),
  )
  const nats = { url: `nats://127.0.0.1:${port}`, user: NATS_USER, password: secrets.natsPassword }
  const broker = await connectBroker({ ...nats, name: 'bench' })
  await ensureStreams(broker, {
    replicas: 1,
    invocationsBytesMax: INVOCATIONS_BYTES_MAX,
    observationsBytesMax: 1024 ** 2,
  })
  await broker.manager.streams.add({ name: FASTIFY_STREAM, subjects: [FASTIFY_SUBJECT], storage: StorageType.File })
  const credentials = await bootstrapTenant(
    broker,
    files,
    readMasterKeys({ masterKey: '', masterKeyFile: files.masterKey }),
    'production',
    '',
  )
  const brokerPid = Number(readFileSync(natsPidFile(files), 'utf8'))
  return { processes, files, broker, brokerPid, credentials, nats, storePassword: secrets.storePassword }
}

export const keyHeader = ({ credentials }: Ground): string => `X-API-Key: ${credentials.api_key}`

/** The header with an access token that the first client gets for its secret. */
export async function tokenHeader({ credentials }: Ground, { port }: Server): Promise<string> {
  const answer = await fetch(`http://127.0.0.1:${port}/v1/oauth/token`, {
    method: 'POST',
    body: new URLSearchParams({
      grant_type: 'client_credentials',
      client_id: credentials.client_id,
      client_secret: credentials.client_secret,
    }),
  })
  const { access_token: token } = (await answer.json()) as { access_token?: string }
  if (token === undefined) throw new Error(`no token: ${answer.status}`)
  return `Authorization: Bearer ${token}`
}

/**
 * Starts one more gateway on a port that others may hold already, with a data folder of its own. @returns its process
 * id
 */
export async function startGatewayBeside(
  ground: Ground,
  storeUrl: string,
  port: number,
  name: string,
): Promise<number> {
  const dataDir = join(ground.files.dataDir, name)
  mkdirSync(dataDir, { recursive: true })
  return ground.processes.start({
    name,
    command: process.execPath,
    args: [
      ...nodeFlagsOf('gateway'),
      roleMain('gateway'),
      '--port',
      String(port),
      '--intake-port',
      '0',
      '--data-dir',
      dataDir,
    ],
    env: roleEnv(ground, storeUrl),
    // Over the port any of them would answer.
    ready: says(ground.processes, name, /"listening"/),
  })
}

export interface GatewayOptions {
  /** For the profiler. */
  readonly nodeFlags?: readonly string[]
  /** Default: none. */
  readonly intakePort?: number
  /** Settings beside those of every role. */
  readonly env?: Readonly<Record<string, string>>
}

/** The gateway as it is deployed, with its default settings but for the rate limit. */
export async function startGateway(
  ground: Ground,
  storeUrl: string,
  { nodeFlags = [], intakePort = 0, env = {} }: GatewayOptions = {},
): Promise<Server> {
  const port = await freePort()
  const pid = await ground.processes.start({
    name: 'gateway',
    command: process.execPath,
    args: [
      ...nodeFlagsOf('gateway'),
      ...nodeFlags,
      roleMain('gateway'),
      ...['--port', String(port), '--intake-port', String(intakePort)],
    ],
    env: { ...roleEnv(ground, storeUrl), ...env },
    // Ready, and with it the history of keys, of which there is none, is loaded.
    ready: answersAt(`http://127.0.0.1:${port}/readyz`),
  })
  return { name: 'ours', port, pid }
}

export const startBareServer = (ground: Ground): Promise<Server> => startBenchServer(ground, 'bare', {})

export const startFastifyServer = (ground: Ground): Promise<Server> =>
  startBenchServer(ground, 'fastify', {
    BENCH_NATS_URL: ground.nats.url,
    BENCH_NATS_USER: ground.nats.user,
    BENCH_NATS_PASSWORD: ground.nats.password,
    BENCH_SUBJECT: FASTIFY_SUBJECT,
  })

/** The read model with its tables. It has nothing to do while nobody attributes. */
export async function startStore(ground: Ground, storePort: number): Promise<number> {
  const storeUrl = `http://127.0.0.1:${storePort}`
  const pid = await ground.processes.start({
    name: 'store',
    command: process.execPath,
    args: [roleMain('store'), '--data-dir', ground.files.dataDir, '--store-port', String(storePort)],
    env: roleEnv(ground, storeUrl),
    ready: answersAt(`${storeUrl}/ping`),
  })
  const account = { url: storeUrl, user: 'attribution', password: ground.storePassword }
  await createDatabase(account, 'attribution')
  const store = connectStore({ ...account, database: 'attribution' })
  await migrate(store)
  await store.close()
  return pid
}

export const startAttributor = (
  ground: Ground,
  storePort: number,
  args: readonly string[] = [],
  name = 'attributor',
): Promise<number> =>
  ground.processes.start({
    name,
    command: process.execPath,
    args: [roleMain('attributor'), ...args],
    env: roleEnv(ground, `http://127.0.0.1:${storePort}`),
    ready: says(ground.processes, name, /"attributing"/),
  })

async function startBenchServer(
  { processes }: Ground,
  name: 'bare' | 'fastify',
  env: Readonly<Record<string, string>>,
): Promise<Server> {
  const listening = /^listening (\d+)$/m
  const pid = await processes.start({
    name,
    command: process.execPath,
    args: [benchMain(`${name}-server`)],
    env,
    ready: says(processes, name, listening),
  })
  return { name, port: Number(listening.exec(processes.logText(name))?.[1]), pid }
}

export const says =
  (processes: Processes, name: string, what: RegExp) =>
  async (signal: AbortSignal): Promise<void> => {
    while (!what.test(processes.logText(name))) {
      signal.throwIfAborted()
      await sleep(20)
    }
  }

/** Settings of every role. */
export const roleEnv = ({ files, nats, storePassword }: Ground, storeUrl: string): Record<string, string> => ({
  ATTRIBUTION_DATA_DIR: files.dataDir,
  ATTRIBUTION_MASTER_KEY_FILE: files.masterKey,
  // On, and set above the load.
  ATTRIBUTION_RATE_INGEST: '10000000',
  ATTRIBUTION_RATE_READ: '10000000',
  ATTRIBUTION_RATE_CONTROL: '10000000',
  ATTRIBUTION_RATE_TOKEN: '10000000',
  ATTRIBUTION_NATS_URL: nats.url,
  ATTRIBUTION_NATS_USER: nats.user,
  ATTRIBUTION_NATS_PASSWORD: nats.password,
  ATTRIBUTION_INVOCATIONS_BYTES_MAX: String(INVOCATIONS_BYTES_MAX),
  // That of the bars, and the only one of which several processes listen on one port.
  ATTRIBUTION_HTTP_PARSER: process.env['ATTRIBUTION_HTTP_PARSER'] ?? 'uws',
  ATTRIBUTION_STORE_URL: storeUrl,
  ATTRIBUTION_STORE_PASSWORD: storePassword,
})
