/**
 * ClickHouse inside this process, behind its own HTTP server on loopback.
 *
 * libchdb contains ClickHouse's HTTP server. Two statements run it: the first opens the port, the second never ends
 * and so keeps the engine alive; to stop the engine is to kill that second statement. Everything lies under one
 * folder: `data/` is the engine's, `config.xml` and `users.xml` are rewritten at each start, `lock` is held
 * while an engine runs, and `start.log` is the engine's output of its last start or stop.
 */
import { randomUUID } from 'node:crypto'
import { chmodSync, fstatSync, ftruncateSync, mkdirSync, openSync, readSync, writeFileSync } from 'node:fs'
import { request } from 'node:http'
import { join, resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { FAILED_WRITES } from '../failed-writes.js'
import {
  type AppendOnlyTable,
  engineConfigXml,
  INSTANCE_PATH,
  isServiceUserName,
  type ServiceUser,
  usersXml,
} from './config-files.js'
import { EngineMissingError, type Libchdb, loadLibchdb } from './libchdb.js'
import { forgetLostParts, writeTokensThrough } from './lost-parts.js'

export interface EngineOptions {
  /** Made when absent; a folder has one engine at a time. */
  readonly folder: string
  readonly port: number
  readonly user: ServiceUser
  readonly appendOnly: AppendOnlyTable
  readonly memoryBytesMax: number
  /** What acknowledged inserts survive: a power cut, or the end of the process only. */
  readonly durability: 'power' | 'process'
}

export interface Engine {
  /** Settles when the engine is over, whether stopped or not. Never rejects. */
  readonly ended: Promise<void>
  /** How many disk writes failed, which the engine ignores (`failed-writes.ts`); 0 if it does not answer. */
  failedWrites(): Promise<number>
  /**
   * Makes the tokens of inserts into the tables that there are survive a power cut (`lost-parts.ts`).
   *
   * @returns false where the file system cannot
   */
  writeTokensThrough(): boolean
  /**
   * Stops the engine: acknowledged inserts are on disk, running queries are cancelled. Waits up to 5 s for
   * clients to close their connections.
   *
   * @throws EngineStuckError
   */
  stop(): Promise<void>
}

/** The engine cannot run here; the message is one line that a person can act on. */
export class EngineStartError extends Error {}

/** The engine has set parts aside that it cannot read; the next start forgets their tokens. */
export class UnreadablePartsError extends EngineStartError {}

/** The engine neither answers nor ends: only a kill of the process is left, which its data survives. */
export class EngineStuckError extends Error {}

export const LISTEN_HOST = '127.0.0.1'

const START_MS_MAX = 60_000
const READY_POLL_MS = 25
const STOP_ATTEMPTS_MAX = 4
const STOP_RETRY_MS = 8_000
const REQUEST_MS_MAX = 5_000
const ERRORS_BYTES_MAX = 64 * 1024

/** `interactive_delay`, in microseconds: otherwise the engine looks ten times per second for rows to show. */
const KEEP_ALIVE =
  'SELECT sleepEachRow(1) FROM system.numbers SETTINGS max_block_size = 1, interactive_delay = 60000000 FORMAT Null'

/** Fails, so that the engine ends before anyone reaches it, if it has just set parts aside (`lost-parts.ts`). */
const EXPECT_NO_UNREADABLE_PART =
  "SELECT throwIf(count() > 0) FROM system.detached_parts WHERE reason = 'broken-on-start' FORMAT Null"

/** ClickHouse's error codes that say why an engine did not start. */
const FOLDER_LOCKED = 76
const PORT_TAKEN = 210
const THROWN_IF = 395

/**
 * Starts the engine and waits until it answers.
 *
 * A process runs one engine in its life.
 *
 * @throws EngineStartError when it cannot run: port taken, folder locked or unwritable, no engine for this platform
 * @throws UnreadablePartsError when another process should start it, at once
 * @throws EngineStuckError when it is silent for a minute
 */
export async function startEngine(options: EngineOptions): Promise<Engine> {
  if (!isServiceUserName(options.user.name)) {
    throw new EngineStartError('the store user must be letters, digits and underscores, and not "default"')
  }
  const libchdb = loadEngineLibrary()
  const folder = resolve(options.folder)
  const instance = randomUUID()
  const argv = writeFiles(libchdb, folder, instance, options)

  for (const part of forgetLostParts(join(folder, 'data'))) {
    process.stderr.write(`store: ${part} cannot be read; inserts that made it are stored again if they are repeated\n`)
  }

  const errors = errorsInto(join(folder, 'start.log'), libchdb)
  errors.take()
  let hasEnded = false
  const over = (): void => {
    hasEnded = true
  }
  const ended = libchdb.runLocal(argv).then(over, over)

  const isReady = await answers(options.port, instance, () => hasEnded)
  const said = errors.giveBack()
  if (hasEnded) throw startFailure(said, folder, options.port)
  if (!isReady) throw new EngineStuckError(`the engine did not answer within ${START_MS_MAX / 1000} s`)
  if (said !== '') process.stderr.write(said)

  const writtenThrough = new Set<string>()
  return {
    ended,
    async failedWrites() {
      const path = `/?query=${encodeURIComponent(`${FAILED_WRITES} FORMAT TSV`)}`
      return Number(await send({ port: options.port, path, user: options.user })) || 0
    },
    writeTokensThrough: () => writeTokensThrough(join(folder, 'data'), libchdb.writeThrough, writtenThrough),
    async stop() {
      // The statement that keeps the engine alive ends with an error: expected on stop.
      errors.take()
      await killKeepAlive(options, ended)
      errors.giveBack()
    },
  }
}

function loadEngineLibrary(): Libchdb {
  try {
    return loadLibchdb()
  } catch (cause) {
    if (!(cause instanceof EngineMissingError)) throw cause
    throw new EngineStartError(
      `${cause.message}: the optional package chdb is not installed; point --store-url at a ClickHouse server instead`,
      { cause },
    )
  }
}

/** @returns the arguments of `clickhouse local` */
function writeFiles(libchdb: Libchdb, folder: string, instance: string, options: EngineOptions): string[] {
  const usersFile = join(folder, 'users.xml')
  const configFile = join(folder, 'config.xml')
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 })
    // The engine locks its data, but only after it has read its files: written before, they would already have
    // changed the password of the engine that runs here.
    if (!libchdb.lock(openSync(join(folder, 'lock'), 'w', 0o600))) throw folderInUse(folder)
    writePrivately(usersFile, usersXml(options.user, options.appendOnly))
    const { memoryBytesMax, durability } = options
    const config = { instance, usersFile, userName: options.user.name, memoryBytesMax, durability }
    writePrivately(configFile, engineConfigXml(config))
  } catch (cause) {
    if (cause instanceof EngineStartError) throw cause
    const { code } = cause as NodeJS.ErrnoException
    throw new EngineStartError(`the folder ${folder} cannot be written (${code}); choose another with --data-dir`, {
      cause,
    })
  }
  return [
    'clickhouse',
    `--path=${join(folder, 'data')}`,
    `--http_port=${options.port}`,
    `--listen_host=${LISTEN_HOST}`,
    `--config-file=${configFile}`,
    '--query',
    `${EXPECT_NO_UNREADABLE_PART}; SYSTEM START LISTEN HTTP; ${KEEP_ALIVE}`,
  ]
}

/** The mode counts only for a file that is new, so it is set again. */
function writePrivately(file: string, text: string): void {
  writeFileSync(file, text, { mode: 0o600 })
  chmodSync(file, 0o600)
}

interface Errors {
  /** Redirects the engine's output from stderr into the file. */
  take(): void
  /** Restores stderr. @returns the output since `take` */
  giveBack(): string
}

/** The file stays open: the engine must be able to stop even when its folder has been removed. */
function errorsInto(file: string, libchdb: Libchdb): Errors {
  const descriptor = openSync(file, 'w+', 0o600)
  let restore = (): void => undefined
  return {
    take() {
      ftruncateSync(descriptor)
      restore = libchdb.divertStderr(descriptor)
    },
    giveBack() {
      restore()
      const { size } = fstatSync(descriptor)
      const bytes = Buffer.alloc(Math.min(size, ERRORS_BYTES_MAX))
      // Its last words: why it ended comes after what it could not read, each with a stack of two kilobytes.
      readSync(descriptor, bytes, 0, bytes.length, size - bytes.length)
      return bytes.toString()
    },
  }
}

/**
 * Waits for this very engine to answer, without credentials: another process that holds the port must not be mistaken
 * for it, nor receive the password.
 */
async function answers(port: number, instance: string, hasEnded: () => boolean): Promise<boolean> {
  const deadlineAt = Date.now() + START_MS_MAX
  while (!hasEnded() && Date.now() < deadlineAt) {
    if ((await send({ port, path: INSTANCE_PATH })) === instance) return true
    await sleep(READY_POLL_MS)
  }
  return false
}

async function killKeepAlive(options: EngineOptions, ended: Promise<void>): Promise<void> {
  const path = `/?query=${encodeURIComponent(`KILL QUERY WHERE query = '${KEEP_ALIVE}' ASYNC`)}`
  let hasEnded = false
  const over = ended.then(() => {
    hasEnded = true
  })
  // Once is enough as a rule; it is repeated in case the engine was too busy to take the query.
  for (let attempt = 0; attempt < STOP_ATTEMPTS_MAX && !hasEnded; attempt++) {
    await send({ port: options.port, path, method: 'POST', user: options.user })
    await Promise.race([over, sleep(STOP_RETRY_MS)])
  }
  if (!hasEnded) throw new EngineStuckError('the engine did not stop')
}

interface Query {
  readonly port: number
  readonly path: string
  readonly method?: 'GET' | 'POST'
  readonly user?: ServiceUser
}

/** Over a connection of its own that closes at once, since an open one would hold up the engine's end. */
function send(query: Query): Promise<string | undefined> {
  const headers = query.user && { 'x-clickhouse-user': query.user.name, 'x-clickhouse-key': query.user.password }
  return new Promise((settle) => {
    const sent = request(
      { host: LISTEN_HOST, port: query.port, path: query.path, method: query.method ?? 'GET', headers, agent: false },
      (response) => {
        let body = ''
        response.setEncoding('utf8')
        response.on('data', (part: string) => {
          body += part
        })
        response.on('end', () => settle(response.statusCode === 200 ? body : undefined))
        response.on('error', () => settle(undefined))
      },
    )
    sent.setTimeout(REQUEST_MS_MAX, () => sent.destroy())
    sent.on('error', () => settle(undefined))
    sent.end()
  })
}

function startFailure(errors: string, folder: string, port: number): EngineStartError {
  // Of a part that it cannot read the engine says so first, and then why it ends.
  const codes = [...errors.matchAll(/^Code: (\d+)\./gm)].map(([, code]) => Number(code))
  if (codes.includes(PORT_TAKEN)) {
    return new EngineStartError(
      `cannot listen on ${LISTEN_HOST}:${port}: taken (ClickHouse code 210); choose another with --store-port`,
    )
  }
  if (codes.includes(FOLDER_LOCKED)) return folderInUse(folder)
  if (codes.includes(THROWN_IF)) {
    return new UnreadablePartsError(
      'parts of tables cannot be read, since a write to the disk has failed: set aside, starting again',
    )
  }
  const lines = errors.trim().split('\n')
  const reason = lines.find((line) => line.startsWith('Code: ')) ?? lines[0] ?? ''
  return new EngineStartError(`the engine did not start: ${reason || 'it gave no reason'}`)
}

const folderInUse = (folder: string): EngineStartError =>
  new EngineStartError(`the folder ${folder} is in use by another engine; stop it or choose another with --data-dir`)
