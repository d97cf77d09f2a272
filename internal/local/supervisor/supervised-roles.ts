import { rmSync } from 'node:fs'
import { BACKGROUND_ROLES, type BackgroundRole, type Config, ConfigError } from '../../config/settings.js'
import { storeReadyFile } from '../../store/engine/ready-file.js'
import { type MetricsServer, serveJoinedMetrics } from '../../telemetry/metrics-server.js'
import type { Role } from './children.js'
import { natsServerRole } from './nats-server.js'
import { flagsOfFolder, nodeFlagsOf } from './processes.js'
import { answersAt, isThere } from './readiness.js'
import type { Addresses } from './role-addresses.js'
import type { InstanceFiles } from './supervised-instance.js'
import { freePort } from './supervised-instance.js'

const BACKGROUND_OPTIONS: Readonly<Record<BackgroundRole, Partial<Role>>> = {
  courier: { args: ['--member-name', 'courier-1'] },
  exporter: {},
  sentinel: { args: ['--member-name', 'sentinel-1'] },
  trainer: { args: ['--member-name', 'trainer-1'] },
}

export interface LocalRolesDeps {
  readonly config: Config<
    'host' | 'port' | 'intakePort' | 'natsServerBin' | 'durability' | 'storeMemoryBytesMax' | 'withoutRoles'
  >
  readonly files: InstanceFiles
  readonly addresses: Addresses
  /** The script of a role. */
  readonly mainOf: (role: string) => string
  /** The environment of a role. */
  readonly envOf: (role: string) => Readonly<Record<string, string>>
  /** Where a role serves its metrics on loopback; undefined: nowhere. */
  readonly metricsPortOf: (role: string) => number | undefined
}

/** The processes of an instance, in the order in which they start. */
export interface LocalRoles {
  /** The broker and the store, where they are private. */
  readonly dependencies: readonly Role[]
  /** An instance is ready when these are. */
  readonly serving: readonly Role[]
  /** Nobody waits until these are ready: their work waits in the streams. */
  readonly background: readonly Role[]
}

/** @throws ConfigError when a private nats-server is needed and no binary is named */
export function localRoles({ config, files, addresses, mainOf, envOf, metricsPortOf }: LocalRolesDeps): LocalRoles {
  const { nats, store, listening, baseUrl } = addresses
  const role = (name: string, options: Partial<Role>): Role => ({
    name,
    command: process.execPath,
    env: envOf(name),
    ready: async () => undefined,
    ...options,
    args: [
      ...flagsOfFolder(files.logsDir),
      ...nodeFlagsOf(name),
      mainOf(name),
      ...(options.args ?? []),
      ...metricsArgs(metricsPortOf(name)),
    ],
  })
  const dependencies: Role[] = []
  if (nats.ownPort !== undefined) {
    if (config.natsServerBin === '') {
      throw new ConfigError('no nats-server is named: start with "npm start", or set --nats-server-bin')
    }
    const { ownPort: port, user, password } = nats
    const { natsServerBin, durability } = config
    dependencies.push(natsServerRole(natsServerBin, files, { port, user, password, durability }))
  }
  if (store.ownPort !== undefined) {
    const memory = ['--tuning', `store-memory-bytes-max=${config.storeMemoryBytesMax}`]
    const durability = ['--durability', config.durability]
    const args = ['--data-dir', files.dataDir, '--store-port', String(store.ownPort), ...durability, ...memory]
    const mark = storeReadyFile(files.dataDir)
    const prepare = async (): Promise<void> => rmSync(mark, { force: true })
    dependencies.push(role('store', { args, prepare, ready: isThere(mark) }))
  }
  const ports = ['--port', String(config.port), '--intake-port', String(config.intakePort)]
  const gatewayArgs = ['--host', config.host, ...ports, '--base-url', baseUrl]
  const ready = answersAt(`${listening}/readyz`)
  return {
    dependencies,
    serving: [
      role('gateway', { args: gatewayArgs, ready: answersAt(`${listening}/healthz`) }),
      role('attributor', { args: ['--member-name', 'attributor-1'], ready }),
    ],
    background: BACKGROUND_ROLES.filter((name) => !config.withoutRoles.includes(name)).map((name) =>
      role(name, BACKGROUND_OPTIONS[name]),
    ),
  }
}

const metricsArgs = (port: number | undefined): readonly string[] =>
  port === undefined ? [] : ['--metrics-port', String(port)]

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
