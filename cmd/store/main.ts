/**
 * The embedded ClickHouse engine for one machine, behind ClickHouse's own HTTP interface on loopback.
 *
 * `node dist/cmd/store/main.js --data-dir DIR --store-port N`, password in ATTRIBUTION_STORE_PASSWORD. Its files are in
 * `DIR/store`. Prints one line on stdout when it answers. Stops on SIGTERM, on SIGINT, and when its stdin is a pipe that
 * closes, as it does when the parent is killed. Exits with code 1 and one line on stderr when it cannot run.
 */
import { fstatSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { ConfigError, HelpAsked } from '../../internal/config/settings.js'
import { unknownVariables } from '../../internal/config/unknown-variables.js'
import { EngineStartError, LISTEN_HOST, startEngine } from '../../internal/store/engine/engine.js'
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
  const reason = error instanceof Error && !isExpected ? error.stack : (error as Error).message
  try {
    // Synchronously: the process ends before a stream is flushed. The reader of stderr may have exited.
    writeSync(process.stderr.fd, `store: ${reason}\n`)
  } finally {
    if (!isExpected) process.kill(process.pid, 'SIGKILL')
    process.exit(1)
  }
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

  const stopped = await Promise.race([requested.then(() => true), engine.ended.then(() => false)])
  if (!stopped) throw new Error('the engine stopped unexpectedly')
  await engine.stop()
  process.exit(0)
} catch (error) {
  fail(error)
}
