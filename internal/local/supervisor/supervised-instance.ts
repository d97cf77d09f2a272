import { randomBytes, randomInt } from 'node:crypto'
import { createSocket, type Socket } from 'node:dgram'
import { existsSync, mkdtempSync, readdirSync, readFileSync, realpathSync, rmdirSync } from 'node:fs'
import { createServer } from 'node:net'
import { join, resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { ConfigError } from '../../config/settings.js'
import { makeFolder, readWhole, writeDurably } from '../../process/durable-files.js'
import { newMasterKey, parseMasterKeys, writeMasterKeys } from '../../secrets/master-keys.js'
import { isChildOf, isOurProcess } from './processes.js'

/** The files of one instance in its data folder, readable by their owner only. */
export interface InstanceFiles {
  readonly dataDir: string
  readonly logsDir: string
  readonly masterKey: string
  readonly credentials: string
  readonly run: string
  /** The settings of the running roles, for the command line. */
  readonly environment: string
}

/** Passwords between the processes of this instance. */
export interface InstanceSecrets {
  readonly natsPassword: string
  readonly storePassword: string
}

/** Process ids of an instance: its supervisor and each role. */
export interface RunFile {
  /** The data folder that it was written for: a copy of the folder contains a copy of this file. */
  readonly folder: string
  readonly up: number
  readonly roles: Readonly<Record<string, number>>
}

const ENVIRONMENT_FILE = 'environment.json'

/** In a data folder while a backup is restored into it, and afterwards if that was ended in the middle. */
export const UNFINISHED_RESTORE = 'restore-unfinished'

/**
 * The settings (`ATTRIBUTION_*`) of the roles at the last start of the instance in a data folder, with which a command
 * connects to it.
 *
 * @throws ConfigError when no instance was started there
 */
export function environmentIn(dataDir: string): Readonly<Record<string, string>> {
  const file = join(resolve(dataDir), ENVIRONMENT_FILE)
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as Record<string, string>
  } catch (cause) {
    throw new ConfigError(`${file} cannot be read: is ${dataDir} the data folder of a running instance?`, { cause })
  }
}

/**
 * Creates the data folder and its keys if they are missing.
 *
 * @param ownsMasterKey whether the master key is a file in it
 * @throws ConfigError when it cannot be written
 */
export function openInstance(
  dataDir: string,
  ownsMasterKey: boolean,
): { files: InstanceFiles; secrets: InstanceSecrets } {
  const folder = resolve(dataDir)
  const files: InstanceFiles = {
    dataDir: folder,
    logsDir: join(folder, 'logs'),
    masterKey: join(folder, 'master.key'),
    credentials: join(folder, 'credentials.json'),
    run: join(folder, 'run.json'),
    environment: join(folder, ENVIRONMENT_FILE),
  }
  const secretsFile = join(folder, 'secrets.json')
  try {
    makeFolder(files.logsDir)
    if (ownsMasterKey) openMasterKey(files)
    if (!existsSync(secretsFile)) {
      const made: InstanceSecrets = { natsPassword: randomText(), storePassword: randomText() }
      writeDurably(secretsFile, `${JSON.stringify(made, null, 2)}\n`)
    }
    // Later starts write these files: check now that the folder is writable.
    rmdirSync(mkdtempSync(join(folder, '.writable-')))
  } catch (cause) {
    if (cause instanceof ConfigError) throw cause
    throw new ConfigError(`the data folder ${folder} cannot be written: ${(cause as Error).message}`, { cause })
  }
  const remedy = 'remove it; the next start makes new passwords, which only its own processes use'
  return { files, secrets: readWhole(secretsFile, JSON.parse, remedy) as InstanceSecrets }
}

/**
 * Makes the master key of a new instance. Where the broker has data, a new key would open nothing of what the former one
 * has sealed.
 */
function openMasterKey({ masterKey, dataDir }: InstanceFiles): void {
  const remedy = 'put it back from your copy of it: without it, what it sealed (signing keys, secrets) cannot be opened'
  if (existsSync(masterKey)) {
    readWhole(masterKey, (text) => parseMasterKeys(text, masterKey), remedy)
    return
  }
  const streams = join(dataDir, 'nats', 'data')
  if (existsSync(streams) && readdirSync(streams).length > 0) {
    throw new ConfigError(`${masterKey} is missing, although the instance has data: ${remedy}`)
  }
  writeDurably(masterKey, writeMasterKeys([newMasterKey()]))
}

/** Writes what `environmentIn` reads. The master key stays where the operator keeps it. */
export function writeEnvironment(files: InstanceFiles, settings: Readonly<Record<string, string>>): void {
  const { ATTRIBUTION_MASTER_KEY: _key, ...withoutMasterKey } = settings
  writeDurably(files.environment, `${JSON.stringify(withoutMasterKey, null, 2)}\n`)
}

const randomText = (): string => randomBytes(24).toString('base64url')

const ORPHANS_MS_MAX = 15_000

/**
 * Takes over the data folder. The roles of a killed supervisor stop by themselves: waits for them, and kills those that
 * have not stopped in time. Processes of another folder, of which this one is a copy, are left alone.
 *
 * @throws ConfigError when another supervisor is running on the folder, or on the one of which it is a copy; or when a
 *   backup was not restored into it to the end
 */
export async function takeOver(files: InstanceFiles): Promise<void> {
  if (existsSync(join(files.dataDir, UNFINISHED_RESTORE))) {
    throw new ConfigError(
      `a restore into ${files.dataDir} has not ended: remove the folder, and restore the backup into a new one`,
    )
  }
  if (!existsSync(files.run)) return
  const { folder, up, roles } = readRunFile(files.run)
  const isRunning = up !== process.pid && isOurProcess(up, 'up')
  if (folder !== realpathSync(files.dataDir)) {
    if (isRunning) throw new ConfigError(copiedWhileRunning(files, folder))
    return
  }
  if (isRunning) {
    throw new ConfigError(
      `the data folder ${files.dataDir} is in use by process ${up}; stop it, or choose another with --data-dir`,
    )
  }
  const deadline = performance.now() + ORPHANS_MS_MAX
  for (const [role, pid] of Object.entries(roles)) {
    while (isChildOf(files.dataDir, pid, role)) {
      if (performance.now() > deadline) process.kill(pid, 'SIGKILL')
      await sleep(50)
    }
  }
}

const copiedWhileRunning = (files: InstanceFiles, original: string): string =>
  `the data folder ${files.dataDir} is a copy of ${original}, where an instance was running, so that its log ` +
  'and its store may be of different moments. To back up, stop that instance, copy the folder and start the ' +
  `instance again. To start this copy as it is, remove ${files.run}; the instance on ${original} is left ` +
  'alone'

export const readRunFile = (file: string): RunFile =>
  readWhole(file, JSON.parse, 'make sure that no process of the instance runs any more, and remove it') as RunFile

export const writeRunFile = (files: InstanceFiles, roles: ReadonlyMap<string, number>): void =>
  writeDurably(
    files.run,
    `${JSON.stringify({
      folder: realpathSync(files.dataDir),
      up: process.pid,
      roles: Object.fromEntries(roles),
    } satisfies RunFile)}\n`,
  )

/** Below the ephemeral ports (32768 and higher on Linux), which an outgoing connection might take first. */
const PORTS = { from: 10_000, below: 32_000, triesMax: 100 } as const

/**
 * Reserves a free port on loopback while this process lives: no other call on this machine gets the same port before it
 * is used, or while the process that listens on it restarts.
 */
export async function freePort(): Promise<number> {
  for (let tries = 1; ; tries++) {
    const port = randomInt(PORTS.from, PORTS.below)
    const claim = createSocket('udp4')
    try {
      await claimPort(claim, port)
      await requireNoListener(port)
      return port
    } catch (cause) {
      claim.close()
      if (tries === PORTS.triesMax) throw cause
    }
  }
}

/** Binding the UDP port reserves the TCP port of the same number; it is released when the process exits. */
function claimPort(claim: Socket, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    claim.once('error', reject)
    claim.bind({ port, address: '127.0.0.1', exclusive: true }, () => {
      claim.unref()
      resolve()
    })
  })
}

async function requireNoListener(port: number): Promise<void> {
  const server = createServer()
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, '127.0.0.1', resolve)
  })
  await new Promise((resolve) => server.close(resolve))
}

/**
 * Checks that no process listens on the port. uWebSockets.js would silently share the port with another process, and
 * each would get some of the requests.
 *
 * @throws ConfigError with one line that says how to correct it
 */
export function requireFreePort(host: string, port: number, flag = '--port'): Promise<void> {
  return new Promise((resolvePort, reject) => {
    const server = createServer()
    server.once('error', (cause: NodeJS.ErrnoException) => {
      const what = cause.code === 'EADDRINUSE' ? 'is taken by another process' : `cannot be used (${cause.code})`
      reject(new ConfigError(`port ${port} on ${host} ${what}; choose another with ${flag}`, { cause }))
    })
    server.listen({ host, port, exclusive: true }, () => server.close(() => resolvePort()))
  })
}

/**
 * The port for what others send. Another collector on the machine may have it: the service then starts without it.
 *
 * @returns 0 when it cannot be used, which is printed
 */
export async function usableIntakePort(host: string, port: number, print: (line: string) => void): Promise<number> {
  if (port === 0) return 0
  try {
    await requireFreePort(host, port, '--intake-port')
    return port
  } catch (cause) {
    if (!(cause instanceof ConfigError)) throw cause
    print(`intake is off: ${cause.message}`)
    return 0
  }
}
