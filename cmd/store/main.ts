/**
 * The embedded ClickHouse engine for one machine, behind ClickHouse's own HTTP interface on loopback.
 *
 * `node dist/cmd/store/main.js --data-dir DIR --store-port N`, password in ATTRIBUTION_STORE_PASSWORD. Its files are in
 * `DIR/store`. Makes its tables, and prints one line on stdout when they are there. Stops on SIGTERM, on SIGINT, and when its stdin is a pipe
 * that closes, as it does when the parent is killed. Exits with code 1 and one line on stderr when it cannot run, and
 * with code 75 when it should be started again.
 */
import { join } from 'node:path'
import { ConfigError } from '../../internal/config/settings.js'
import { unknownVariables } from '../../internal/config/unknown-variables.js'
import { writeDurably } from '../../internal/process/durable-files.js'
import { keepFilesPrivate } from '../../internal/process/main.js'
import { LISTEN_HOST, startEngine } from '../../internal/store/engine/engine.js'
import { storeReadyFile } from '../../internal/store/engine/ready-file.js'
import { FailedWriteError } from '../../internal/store/failed-writes.js'
import { AUDIT_LOG } from '../../internal/store/tables/audit-log.js'
import { fail, stopRequested, untilWriteFails } from './ending.js'
import { readStoreConfig } from './store-config.js'
import { keepsFiles, makeTables } from './tables.js'

// Node would exit on an uncaught exception, which waits for the engine's threads.
process.on('uncaughtException', fail)
keepFilesPrivate()

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
    durability: config.durability,
  })
  const syncsTokens = config.durability === 'power' && keepsFiles(config.dataDir)
  const serve = async (): Promise<'failed' | ConfigError> => {
    const refusal = await makeTables(config).then(() => undefined, expected)
    if (refusal !== undefined) return refusal
    if (syncsTokens && !engine.writeTokensThrough()) {
      process.stderr.write('store: this file system cannot write through: a power cut may store a batch twice\n')
    }
    writeDurably(storeReadyFile(config.dataDir), '')
    console.log(`store ready on ${LISTEN_HOST}:${config.storePort}`)
    await untilWriteFails(engine, syncsTokens)
    return 'failed'
  }
  const end = await Promise.race([
    requested.then(() => 'requested' as const),
    engine.ended.then(() => 'ended' as const),
    serve(),
  ])
  if (end === 'ended') throw new Error('the engine stopped unexpectedly')
  if (end === 'failed')
    throw new FailedWriteError('a write to the disk has failed: starting again from the complete parts')
  await engine.stop()
  if (end instanceof ConfigError) throw end
  process.exit(0)
} catch (error) {
  fail(error)
}

/** Only the operator can help; the engine has to be stopped before the process can end. */
function expected(cause: unknown): ConfigError {
  if (cause instanceof ConfigError) return cause
  throw cause
}
