/** The built `cmd/store` as a real process, with a free port and its own folder. */
import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { ClickHouseClient } from '@clickhouse/client'
import { freePort } from '../../internal/local/supervisor/supervised-instance.js'
import { connectStore, type StoreConnection } from '../../internal/store/client.js'
import { migrate } from '../../internal/store/migrations/migrate.js'
import { type Launched, launch } from './processes.js'
import { atEnd } from './run/at-end.js'
import { copyTemplate } from './templates.js'

export const STORE_MAIN = fileURLToPath(new URL('../../dist/cmd/store/main.js', import.meta.url))
export const STORE_PASSWORD = randomBytes(16).toString('hex')
const STORE_MEMORY_BYTES = 1024 ** 3

export interface RunningStore {
  readonly process: Launched
  readonly port: number
  readonly dataDir: string
  readonly connection: StoreConnection
  /** A client of the database `default`. The caller closes it. */
  readonly client: ClickHouseClient
}

/** A new folder, removed at the end of the test file. */
export function privateFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'attribution-store-'))
  atEnd(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

/** Resolves once the store reports that it is ready. */
export async function launchStore(options: { dataDir?: string; port?: number } = {}): Promise<RunningStore> {
  const dataDir = options.dataDir ?? privateFolder()
  const port = options.port ?? (await freePort())
  const launched = launch(STORE_MAIN, storeLaunch(dataDir, port))
  await launched.line(/^store ready on /)
  const connection = connectionTo(port)
  return { process: launched, port, dataDir, connection, client: connectStore(connection) }
}

export const connectionTo = (port: number): StoreConnection => ({
  url: `http://127.0.0.1:${port}`,
  user: 'attribution',
  password: STORE_PASSWORD,
  database: 'default',
})

/** A store of its own whose database has our tables, for a test of its process; others share one (`database.ts`). */
export async function launchMigratedStore(): Promise<RunningStore> {
  const dataDir = privateFolder()
  await copyTemplate('store', dataDir, async (template) => {
    const store = await launchStore({ dataDir: template })
    await migrate(store.client)
    await stopStore(store)
  })
  return launchStore({ dataDir })
}

/** Arguments and environment of a store, for a test that expects it not to start. */
export function storeLaunch(dataDir: string, port: number) {
  return {
    args: ['--data-dir', dataDir, '--store-port', String(port), '--durability', 'process'],
    env: {
      ATTRIBUTION_STORE_PASSWORD: STORE_PASSWORD,
      ATTRIBUTION_TUNING: `store-memory-bytes-max=${STORE_MEMORY_BYTES}`,
    },
  }
}

/**
 * Closes the client first, since the engine waits for open connections, then stops the store as its parent process
 * does.
 */
export async function stopStore(store: RunningStore) {
  await store.client.close()
  return store.process.endStdin()
}
