/** An empty database with our tables, in a store that the files of a worker share: to start one costs seconds. */
import { randomBytes } from 'node:crypto'
import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { ClickHouseClient } from '@clickhouse/client'
import { freePort } from '../../internal/local/supervisor/supervised-instance.js'
import { connectStore, type StoreConnection } from '../../internal/store/client.js'
import { createDatabase, MIGRATIONS, migrate } from '../../internal/store/migrations/migrate.js'
import { launch } from './processes.js'
import { atEnd, atWorkerEnd, workerProcesses } from './run/at-end.js'
import { connectionTo, STORE_MAIN, storeLaunch } from './store.js'

export interface Database {
  readonly connection: StoreConnection
  /** Closed at the end of the test file. */
  readonly client: ClickHouseClient
}

let store: Promise<StoreConnection> | undefined

/** Dropped at the end of the test file. */
export async function openDatabase(): Promise<Database> {
  store ??= startStore()
  const connection = { ...(await store), database: `test_${randomBytes(4).toString('hex')}` }
  await createDatabase(connection, connection.database)
  const client = connectStore(connection)
  // The first step makes the tables in their newest form.
  await migrate(client, MIGRATIONS.slice(0, 1))
  atEnd(async () => {
    await client.command({ query: `DROP DATABASE ${connection.database} SYNC` })
    await client.close()
  })
  return { connection, client }
}

async function startStore(): Promise<StoreConnection> {
  const port = await freePort()
  // Removed with the folder of the run.
  const dataDir = mkdtempSync(join(tmpdir(), 'attribution-store-'))
  const { pid, line } = launch(STORE_MAIN, { ...storeLaunch(dataDir, port), until: atWorkerEnd })
  workerProcesses.push(pid)
  await line(/^store ready on /)
  return connectionTo(port)
}
