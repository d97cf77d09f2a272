/**
 * The embedded ClickHouse engine for one machine, behind ClickHouse's own HTTP interface on loopback.
 *
 * `node dist/cmd/store/main.js --data-dir DIR --store-port N`, password in ATTRIBUTION_STORE_PASSWORD. Its files are in
 * `DIR/store`. Prints one line on stdout when it answers. Stops on SIGTERM, on SIGINT, and when its stdin is a pipe that
 * closes, as it does when the parent is killed. Exits with code 1 and one line on stderr when it cannot run, and with code 75 when
 * it should be started again.
 */
import { fstatSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { ConfigError, HelpAsked } from '../../internal/config/settings.js'
import { unknownVariables } from '../../internal/config/unknown-variables.js'
import { START_AGAIN } from '../../internal/process/exit-codes.js'
import {
  type Engine,
  EngineStartError,
  LISTEN_HOST,
  startEngine,
  UnreadablePartsError,
} from '../../internal/store/engine/engine.js'
import { FailedWriteError } from '../../internal/store/failed-writes.js'
import { AUDIT_LOG } from '../../internal/store/tables/audit-log.js'
import { readStoreConfig } from './store-config.js'

/** Resolves when the process is asked to stop. */
function stopRequested(): Promise<void> {
  return new Promise((resolve) => {
    process.once('SIGTERM', () => resolve())
    process.once('SIGINT', () => resolve())
    const stdin = fstatSync(0)
    if (stdin.isFIFO() || stdin.isSocket()) {
      // An error of the pipe also means that the parent has exited.
      process.stdin.on('error', () => resolve())
      process.stdin.resume().once('close', () => resolve())
    }
  })
}

/**
 * Ends the process with one line. If the engine may be running, by SIGKILL, which its data survives: an exit would wait
 * forever for the engine's threads.
 */
function fail(error: unknown): void {
  if (error instanceof HelpAsked) {
    writeSync(process.stdout.fd, `${error.message}\n`)
    process.exit(0)
  }
  const isExpected = error instanceof ConfigError || error instanceof EngineStartError
  const isKnown = isExpected || error instanceof FailedWriteError
  const reason = error instanceof Error && !isKnown ? error.stack : (error as Error).message
  try {
    // Synchronously: the process ends before a stream is flushed. The reader of stderr may have exited.
    writeSync(process.stderr.fd, `store: ${reason}\n`)
  } finally {
    if (!isExpected) process.kill(process.pid, 'SIGKILL')
    process.exit(error instanceof UnreadablePartsError ? START_AGAIN : 1)
  }
}

const LOOK_EVERY_MS = 1_000

/**
 * Resolves when a write of the engine has failed. A merge of which one did counts as done, and its sources are removed some
 * minutes later: an engine that starts before that reads them again.
 */
async function untilWriteFails(engine: Engine): Promise<void> {
  while ((await engine.failedWrites()) === 0) await sleep(LOOK_EVERY_MS, undefined, { ref: false })
}

// Node would exit on an uncaught exception, which waits for the engine's threads.
process.on('uncaughtException', fail)

try {
  const requested = stopRequested()
  for (const line of unknownVariables(process.env)) process.stderr.write(`store: ${line}\n`)
  const config = readStoreConfig(process.argv.slice(2), process.env)
  // The engine reads its time zone from TZ; columns and texts without a time zone are in UTC.
  Object.assign(process.env, { TZ: 'UTC' })
  const engine = await startEngine({
    folder: join(config.dataDir, 'store'),
    port: config.storePort,
    user: { name: config.storeUser, password: config.storePassword },
    appendOnly: { database: config.storeDatabase, table: AUDIT_LOG.name },
    memoryBytesMax: config.storeMemoryBytesMax,
  })
  console.log(`store ready on ${LISTEN_HOST}:${config.storePort}`)

  const end = await Promise.race([
    requested.then(() => 'requested' as const),
    engine.ended.then(() => 'ended' as const),
    untilWriteFails(engine).then(() => 'failed' as const),
  ])
  if (end === 'ended') throw new Error('the engine stopped unexpectedly')
  if (end === 'failed')
    throw new FailedWriteError('a write to the disk has failed: starting again from the complete parts')
  await engine.stop()
  process.exit(0)
} catch (error) {
  fail(error)
}
