/** The whole product as a person starts it: the built `cmd/up` on a free port, with a data folder of its own. */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { BACKGROUND_ROLES, type BackgroundRole, LAYOUT_SETTINGS, SETTINGS } from '../../internal/config/settings.js'
import type { Credentials } from '../../internal/local/supervisor/bootstrap.js'
import { freePort, type RunFile } from '../../internal/local/supervisor/supervised-instance.js'
import { isAlive } from './alive.js'
import { type Launched, launch, launchCommand } from './processes.js'
import { atEnd, lastLines, onFailure } from './run/at-end.js'
import { copyTemplate } from './templates.js'

export const UP_MAIN = fileURLToPath(new URL('../../dist/cmd/up/main.js', import.meta.url))

/** A running instance as its users see it. */
export interface Instance {
  readonly baseUrl: string
  readonly port: number
  readonly dataDir: string
  readonly credentials: Credentials
  /** Process ids as they are now: `nats` is the server itself, not the shell that watches it. */
  pid(role: string): number
}

export interface RunningService extends Instance {
  readonly process: Launched
  stop(): Promise<void>
}

/** A new folder, removed at the end of the test file. */
export function privateDataDir(): string {
  const folder = mkdtempSync(join(tmpdir(), 'attribution-up-'))
  // A process whose supervisor was killed may still write.
  atEnd(() => rm(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 }))
  return folder
}

/** The nats-server binary that the set-up or the run has found. */
export function natsServerBin(): string {
  const binary = process.env['ATTRIBUTION_NATS_SERVER_BIN']
  if (binary === undefined) throw new Error('there is no nats-server: "npm test" fetches one, or says what to install')
  return binary
}

export interface ServiceOptions {
  /** A new one, in which an instance has been started before, unless it is given. */
  readonly dataDir?: string
  readonly port?: number
  readonly args?: readonly string[]
  /** The background roles that the test needs; all of them unless they are given. Each costs a process. */
  readonly roles?: readonly BackgroundRole[]
  /** The program that runs it; that of the tests unless it is given. */
  readonly node?: string
}

/** Resolves once the service reports that it is ready. */
export async function launchService(options: ServiceOptions = {}): Promise<RunningService> {
  const { args = [] } = options
  const dataDir = options.dataDir ?? (await startedDataDir(privateDataDir(), args))
  const port = options.port ?? (await freePort())
  const up = launchCommand(options.node ?? process.execPath, {
    args: [UP_MAIN, ...upArgs(dataDir, port, options.roles), ...args],
  })
  onFailure(() => lastLines(`the instance in ${dataDir}`, up.lines))
  await up.line(/is ready/)
  return {
    process: up,
    port,
    dataDir,
    baseUrl: `http://127.0.0.1:${port}`,
    credentials: JSON.parse(readFileSync(join(dataDir, 'credentials.json'), 'utf8')) as Credentials,
    pid: (role) => pidOf(dataDir, role),
    stop: async () => {
      await up.kill('SIGTERM')
    },
  }
}

const FOR_A_FIRST_START: ReadonlySet<string> = new Set([
  '--mode',
  ...LAYOUT_SETTINGS.map((name) => SETTINGS[name].flag),
])

/** Arguments of `up` for an instance in a folder. */
export function upArgs(
  dataDir: string,
  port: number,
  roles: readonly BackgroundRole[] = BACKGROUND_ROLES,
  durability: 'power' | 'process' = 'process',
): string[] {
  const without = BACKGROUND_ROLES.filter((role) => !roles.includes(role))
  return [
    ...['--port', String(port), '--intake-port', '0', '--data-dir', dataDir, '--nats-server-bin', natsServerBin()],
    ...(without.length === 0 ? [] : ['--without-roles', without.join()]),
    // No test but `faults/power-cut` cuts the power, and syncs would make the others wait for the disk.
    ...['--durability', durability],
  ]
}

/**
 * The data folder of an instance that has been started and stopped: creating its streams and tables takes as long as
 * all else of a start. Instances from it share keys and the first tenant's credentials, and nothing else.
 */
export async function startedDataDir(folder: string, args: readonly string[]): Promise<string> {
  // The first tenant's credentials are those of a mode, and the broker's layout has the numbers of its first start.
  if (args.some((arg) => FOR_A_FIRST_START.has(arg))) return folder
  await copyTemplate('instance', folder, async (template) => {
    const up = launch(UP_MAIN, { args: upArgs(template, await freePort(), []) })
    await up.line(/is ready/)
    await up.kill('SIGTERM')
    // Process ids: those of another instance, by the time that a copy is started.
    for (const file of ['run.json', join('nats', 'nats-server.pid'), 'logs']) {
      rmSync(join(template, file), { recursive: true, force: true })
    }
  })
  return folder
}

/**
 * The environment in which `up` has started the service's gateway: another gateway with it joins the same instance.
 * (Read from /proc: these tests run on Linux.)
 */
export function gatewayEnvironment(service: Pick<Instance, 'pid'>): Record<string, string> {
  const variables = readFileSync(`/proc/${service.pid('gateway')}/environ`, 'utf8').split('\0')
  return Object.fromEntries(
    variables.filter((line) => line.startsWith('ATTRIBUTION_')).map((line) => line.split(/=(.*)/s).slice(0, 2)),
  ) as Record<string, string>
}

export function pidOf(dataDir: string, role: string): number {
  if (role === 'nats') return Number(readFileSync(join(dataDir, 'nats', 'nats-server.pid'), 'utf8'))
  const { up, roles } = JSON.parse(readFileSync(join(dataDir, 'run.json'), 'utf8')) as RunFile
  const pid = role === 'up' ? up : roles[role]
  if (pid === undefined) throw new Error(`${role} is not running`)
  return pid
}

/** Kills a role's process with SIGKILL and resolves once another one has taken its place. */
export async function killRole(service: Pick<Instance, 'pid'>, role: string): Promise<void> {
  const before = service.pid(role)
  process.kill(before, 'SIGKILL')
  while (isAlive(before) || service.pid(role) === before) await sleep(20)
}
