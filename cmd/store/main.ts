/**
 * The embedded ClickHouse engine for one machine, behind ClickHouse's own HTTP interface on loopback.
 *
 * `node dist/cmd/store/main.js --data-dir DIR --store-port N`, password in ATTRIBUTION_STORE_PASSWORD. Its files are in
 * `DIR/store`. Prints one line on stdout when it answers. Stops on SIGTERM, on SIGINT, and when its stdin is a pipe
 * that closes, as it does when the parent is killed. Exits with code 1 and one line on stderr when it cannot run, and
 * with code 75 when it should be started again.
 */
import { statfsSync } from 'node:fs'
import { join } from 'node:path'
import { unknownVariables } from '../../internal/config/unknown-variables.js'
import { connectStore } from '../../internal/store/client.js'
import { LISTEN_HOST, startEngine } from '../../internal/store/engine/engine.js'
import { FailedWriteError } from '../../internal/store/failed-writes.js'
import { createDatabase, migrate } from '../../internal/store/migrations/migrate.js'
import { AUDIT_LOG } from '../../internal/store/tables/audit-log.js'
import { fail, stopRequested, untilWriteFails } from './ending.js'
import { readStoreConfig } from './store-config.js'

/** The type of a file system in memory (statfs(2)). */
const TMPFS = 0x01021994

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
    durability: config.durability,
  })
  const { storeUser, storePassword, storeDatabase } = config
  const account = {
    url: `http://${LISTEN_HOST}:${config.storePort}`,
    user: storeUser,
    password: storePassword,
    cluster: '',
  }
  const store = connectStore({ ...account, database: storeDatabase })
  await createDatabase(account, storeDatabase)
  await migrate(store)
  await store.close()
  // What is in memory survives no power cut anyway.
  const isInMemory = statfsSync(config.dataDir).type === TMPFS
  if (config.durability === 'power' && !isInMemory && !engine.writeTokensThrough()) {
    process.stderr.write('store: this file system cannot write through: a power cut may store a batch twice\n')
  }
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
