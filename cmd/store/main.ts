/**
 * The embedded ClickHouse engine for one machine, behind ClickHouse's own HTTP interface on loopback.
 *
 * `node dist/cmd/store/main.js --data-dir DIR --store-port N`, password in ATTRIBUTION_STORE_PASSWORD. Its files lie
 * in `DIR/store`. Prints one line on stdout when it answers; stops on SIGTERM, SIGINT, and when its stdin is a pipe
 * that ends, which is how it follows a parent that was killed. Exit code 1 and one line on stderr when it cannot run.
 */
import { fstatSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { ConfigError, readConfig } from '../../internal/config/settings.js'
import { EngineStartError, LISTEN_HOST, startEngine } from '../../internal/store/engine/engine.js'
import { AUDIT_LOG } from '../../internal/store/tables/audit-log.js'

function readStoreConfig() {
  // ATTRIBUTION_HOST is where the gateway listens. The store would take it for its own, and listens on loopback only.
  const { ATTRIBUTION_HOST: _, ...env } = process.env
  const wanted = [
    'host',
    'dataDir',
    'storePort',
    'storeUser',
    'storePassword',
    'storeDatabase',
    'storeMemoryBytesMax',
  ] as const
  const config = readConfig(wanted, process.argv.slice(2), env)
  if (config.host !== LISTEN_HOST) throw new ConfigError(`--host must be ${LISTEN_HOST}: the store serves one machine`)
  if (config.storePassword === '') throw new ConfigError('ATTRIBUTION_STORE_PASSWORD must be set')
  return config
}

/** Resolves when it is time to stop. */
function stopAsked(): Promise<void> {
  return new Promise((resolve) => {
    process.once('SIGTERM', () => resolve())
    process.once('SIGINT', () => resolve())
    const stdin = fstatSync(0)
    if (stdin.isFIFO() || stdin.isSocket()) {
      // An error of the pipe, too, means that nobody is at its other end.
      process.stdin.on('error', () => resolve())
      process.stdin.resume().once('close', () => resolve())
    }
  })
}

/**
 * Ends the process with one line. Where the engine may be running that is by a kill, which its data survives: an exit
 * would wait for the engine's threads, for ever.
 */
function fail(error: unknown): void {
  const isExpected = error instanceof ConfigError || error instanceof EngineStartError
  const reason = error instanceof Error && !isExpected ? error.stack : (error as Error).message
  try {
    // At once, for there is no time for a stream. Whoever read our errors may be gone.
    writeSync(process.stderr.fd, `store: ${reason}\n`)
  } finally {
    if (!isExpected) process.kill(process.pid, 'SIGKILL')
    process.exit(1)
  }
}

// Node's own answer to what nobody caught is an exit.
process.on('uncaughtException', fail)

try {
  const asked = stopAsked()
  const config = readStoreConfig()
  // The engine takes its time zone from here; columns and texts without one are meant in UTC.
  Object.assign(process.env, { TZ: 'UTC' })
  const engine = await startEngine({
    folder: join(config.dataDir, 'store'),
    port: config.storePort,
    user: { name: config.storeUser, password: config.storePassword },
    appendOnly: { database: config.storeDatabase, table: AUDIT_LOG.name },
    memoryBytesMax: config.storeMemoryBytesMax,
  })
  console.log(`store ready on ${LISTEN_HOST}:${config.storePort}`)

  const stopped = await Promise.race([asked.then(() => true), engine.ended.then(() => false)])
  if (!stopped) throw new Error('the engine ended unasked')
  await engine.stop()
  process.exit(0)
} catch (error) {
  fail(error)
}
